#include "kernels/library.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>
#include <tuple>

#include "kernels/convolutions/blocked_problem.hpp"
#include "kernels/convolutions/conv.hpp"
#include "kernels/convolutions/conv_blocked.hpp"
#include "kernels/convolutions/conv_bytes.hpp"
#include "kernels/decompositions.hpp"
#include "kernels/fourier/fft.hpp"
#include "kernels/products/byte_product.hpp"
#include "kernels/products/matmul.hpp"
#include "kernels/products/onednn.hpp"
#include "kernels/recurrence.hpp"
#include "kernels/scatter.hpp"
#include "kernels/sorting/sort.hpp"
#include "ranks/exchange.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }
/// Returns whether a call multiplies bytes into int32 without converting them (fuse::multiplies_into).
bool of_bytes(const fuse::LibraryCall& call) { return call.dtype == DType::int32 && is_byte(call.operands[0].dtype) && is_byte(call.operands[1].dtype); }

/// Describes the matrix of the last two axes. The layout rule of the call's record guarantees that one of them is contiguous.
MatmulOperand matrix(const fuse::LibraryOperand& operand, DType dtype, const void* buffer) {
  if (operand.dtype != dtype && !is_byte(operand.dtype))
    throw DeviceError(
        fmt::format("cpu: a product of {} into {} was planned for a GPU's library, and the CPU has none for it", name(operand.dtype), name(dtype)));
  const std::size_t rank = operand.shape.size();
  const std::int64_t row = operand.strides[rank - 2], column = operand.strides[rank - 1];
  MatmulOperand result;
  result.data = static_cast<const char*>(buffer) + operand.offset * static_cast<std::int64_t>(itemsize(operand.dtype));
  result.transposed = column != 1;
  result.leading = result.transposed ? column : row;
  result.batch_strides.assign(operand.strides.begin(), operand.strides.end() - 2);
  return result;
}

struct Product {
  MatmulOperand a, b;
  std::vector<std::int64_t> batch;
  std::int64_t m, n, k;

  Product(const fuse::LibraryCall& call, const void* left, const void* right)
      : a(matrix(call.operands[0], call.dtype, left)),
        b(matrix(call.operands[1], call.dtype, right)),
        batch(call.shape.begin(), call.shape.end() - 2),
        m(call.shape[call.shape.size() - 2]),
        n(call.shape.back()),
        k(call.operands[0].shape.back()) {
    join_rows(a, b, batch, m, k);
    if (!of_bytes(call)) turn_column(a, b, m, n, k);  // bytes have a type for each side
  }
};

// The `host` and `by` columns of ops that have no separate file.

void multiply(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  const Product product(call, pointers[0], pointers[1]);
  if (of_bytes(call))
    return multiply_bytes({product.a, call.operands[0].dtype == DType::int8}, {product.b, call.operands[1].dtype == DType::int8},
                          static_cast<std::int32_t*>(pointers[2]), product.batch, product.m, product.n, product.k, threads, epilogue);
  matmul(call.dtype, product.a, product.b, pointers[2], product.batch, product.m, product.n, product.k, threads, epilogue);
}
std::string who_multiplies(const fuse::LibraryCall& call) {
  if (is_bool(call.dtype)) return "loops over rows";
  if (of_bytes(call)) return who_multiplies_bytes();
  const Product product(call, nullptr, nullptr);
  std::int64_t products = 1;
  for (const std::int64_t size : product.batch) products *= size;
  return product_of(call.dtype, product.a.transposed, product.b.transposed, products, product.m, product.n, product.k).name();
}

void multiply_panels(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  const auto& [a, panels] = std::tie(call.operands[0], call.operands[1]);
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis + 1 < a.shape.size(); ++axis) rows *= a.shape[axis];
  multiply_laid_bytes(static_cast<const std::uint8_t*>(pointers[0]) + a.offset, static_cast<const std::int8_t*>(pointers[1]) + panels.offset,
                      static_cast<std::int32_t*>(pointers[2]), rows, call.shape.back(), a.shape.back(), threads, epilogue);
}
std::string who_multiplies_panels(const fuse::LibraryCall&) { return fmt::format("bytes, right matrix in panels ({})", byte_panels().name); }

std::string who_convolves_blocks(const fuse::LibraryCall& call) {
  return fmt::format("channels in blocks{} ({})", BlockedProblem(call).winograd ? ", tiles of 2x2 places" : "", host_blocks().instruction_set);
}
std::string who_convolves_bytes(const fuse::LibraryCall&) { return fmt::format("bytes, channels in blocks ({})", byte_tiles().name); }
std::string who_recurs(const fuse::LibraryCall&) { return fmt::format("step after step ({})", host_blocks().instruction_set); }
std::string who_sorts(const fuse::LibraryCall&) { return "vectorised sort (Highway)"; }
std::string who_scatters(const fuse::LibraryCall&) { return "loops over the indices"; }
std::string who_decomposes(const fuse::LibraryCall&) { return "Eigen"; }

void send_part(const fuse::LibraryCall& call, std::span<void* const> pointers, int) {
  const auto& part = call.operands[0];
  ranks::Exchanges::running().send(call.ints, static_cast<const std::byte*>(pointers[0]) + part.offset * static_cast<std::int64_t>(itemsize(part.dtype)));
  std::memset(pointers[2], 0, itemsize(call.dtype));
}
void receive_part(const fuse::LibraryCall& call, std::span<void* const> pointers, int) {
  ranks::Exchanges::running().receive(call.ints, static_cast<std::byte*>(pointers[2]));
}
std::string who_exchanges(const fuse::LibraryCall& call) { return ranks::description(call.ints); }

/// Adapts a computation whose result does not come in pieces.
template <auto compute> void whole_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue&) {
  compute(call, pointers, threads);
}

/// The columns of a record (trace/library_calls.def) that this file uses.
struct HostColumns {
  void (*run)(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue);
  std::string (*by)(const fuse::LibraryCall& call);
};

HostColumns columns_of(const fuse::LibraryCall& call) {
  using trace::Op;
  switch (call.op) {
#define SINTER_LIBRARY(id, arity, sharding, takes, shape, result, layout, pieces, gpu, expansion, host, by) \
  case Op::id: return {host, by};
#include "trace/primitives.def"
    default: throw InternalError(fmt::format("cpu: no library computes {}", fuse::to_string(call)));
  }
}

}  // namespace

void run_library_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  try {
    columns_of(call).run(call, pointers, threads, epilogue);
  } catch (const std::bad_alloc&) {
    throw MemoryError(fmt::format("cpu: not enough memory for the intermediate values of {}", fuse::to_string(call)));
  }
}

void prepare_library_call(const fuse::LibraryCall& call) {
  // The call may come from a file and need not be sound yet, so nothing is derived from it but a number.
  if (call.dtype != DType::float32 || call.operands.size() < 2 || call.operands[0].shape.empty()) return;
  const auto elements = [](const Shape& shape, std::size_t from) {
    double count = 1;
    for (std::size_t axis = from; axis < shape.size(); ++axis) count *= static_cast<double>(shape[axis]);
    return count;
  };
  double depth = 0;
  if (call.op == trace::Op::matmul) depth = static_cast<double>(call.operands[0].shape.back());
  if (call.op == trace::Op::conv) depth = elements(call.operands[1].shape, 1);
  if (block_product(call.dtype, elements(call.shape, 0) * depth).is_library) onednn()->prepare();
}

std::string library_of(const fuse::LibraryCall& call) { return columns_of(call).by(call); }

}  // namespace sinter::kernels
