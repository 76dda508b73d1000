#include "kernels/library.hpp"

#include <fmt/format.h>

#include <new>
#include <tuple>

#include "kernels/convolutions/blocked_problem.hpp"
#include "kernels/convolutions/conv.hpp"
#include "kernels/convolutions/conv_blocked.hpp"
#include "kernels/convolutions/conv_bytes.hpp"
#include "kernels/decompositions/decompositions.hpp"
#include "kernels/fft.hpp"
#include "kernels/products/byte_product.hpp"
#include "kernels/products/matmul.hpp"
#include "kernels/recurrence.hpp"
#include "kernels/scatter.hpp"
#include "kernels/sorting/sort.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }
/// A product of bytes into int32 as they are stored (fuse::multiplies_into).
bool of_bytes(const fuse::LibraryCall& call) { return call.dtype == DType::int32 && is_byte(call.operands[0].dtype) && is_byte(call.operands[1].dtype); }

/// The last two axes are the matrix, of which the row's layout rule promised that one is contiguous.
MatmulOperand matrix(const fuse::LibraryOperand& operand, DType dtype, const void* buffer) {
  if (operand.dtype != dtype && !is_byte(operand.dtype))
    throw DeviceError(fmt::format("cpu: a product of {} into {} was planned for a GPU's library, which is not here", name(operand.dtype), name(dtype)));
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
  }
};

void run_in_memory(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished) {
  switch (call.op) {
    case trace::Op::matmul: {
      const Product product(call, pointers[0], pointers[1]);
      if (of_bytes(call))
        return multiply_bytes({product.a, call.operands[0].dtype == DType::int8}, {product.b, call.operands[1].dtype == DType::int8},
                              static_cast<std::int32_t*>(pointers[2]), product.batch, product.m, product.n, product.k, threads, finished);
      return matmul(call.dtype, product.a, product.b, pointers[2], product.batch, product.m, product.n, product.k, threads, finished);
    }
    case trace::Op::conv: return convolve(call, pointers, threads, finished);
    case trace::Op::conv_blocked: return convolve_blocked(call, pointers, threads, finished);
    case trace::Op::conv_bytes:
    case trace::Op::conv_bytes_scaled: return convolve_bytes(call, pointers, threads, finished);
    case trace::Op::matmul_panels: {
      const auto& [a, panels] = std::tie(call.operands[0], call.operands[1]);
      std::int64_t rows = 1;
      for (std::size_t axis = 0; axis + 1 < a.shape.size(); ++axis) rows *= a.shape[axis];
      return multiply_laid_bytes(static_cast<const std::uint8_t*>(pointers[0]) + a.offset, static_cast<const std::int8_t*>(pointers[1]) + panels.offset,
                                 static_cast<std::int32_t*>(pointers[2]), rows, call.shape.back(), a.shape.back(), threads, finished);
    }
    case trace::Op::recurrence: return recur(call, pointers, threads);
    case trace::Op::solve:
    case trace::Op::inverse:
    case trace::Op::inverse_or_nan:
    case trace::Op::determinant:
    case trace::Op::cholesky:
    case trace::Op::qr:
    case trace::Op::qr_complete:
    case trace::Op::svd:
    case trace::Op::svd_full:
    case trace::Op::svdvals:
    case trace::Op::eigh:
    case trace::Op::eigvalsh:
    case trace::Op::eig:
    case trace::Op::eigvals: return decompose(call, pointers, threads);
    case trace::Op::sort: return sort_rows(call.operands[0], pointers[0], pointers[1], threads);
    case trace::Op::argsort:
      return call.ints.empty() ? argsort_rows(call.operands[0], pointers[0], pointers[1], threads) : argtopk_rows(call, pointers[0], pointers[1], threads);
    case trace::Op::scatter:
    case trace::Op::scatter_add: return scatter_rows(call, pointers, threads);
    case trace::Op::fft:
    case trace::Op::rfft:
    case trace::Op::irfft_even:
    case trace::Op::irfft_odd: return transform_rows(call, pointers, threads);
    default: throw InternalError(fmt::format("cpu: no library computes {}", fuse::to_string(call)));
  }
}

}  // namespace

void run_library_call(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished) {
  try {
    run_in_memory(call, pointers, threads, finished);
  } catch (const std::bad_alloc&) {
    throw MemoryError(fmt::format("cpu: no memory for what {} needs on the way", fuse::to_string(call)));
  }
}

std::string library_of(const fuse::LibraryCall& call) {
  switch (call.op) {
    case trace::Op::matmul: {
      if (is_bool(call.dtype)) return "loops over rows";
      if (of_bytes(call)) return who_multiplies_bytes();
      const Product product(call, nullptr, nullptr);
      if (is_thin(call.dtype, product.a.transposed, product.b.transposed, product.m))
        return fmt::format("rows by the matrix as it lies ({})", host_blocks().instruction_set);
      double multiply_adds = static_cast<double>(product.k);
      for (const std::int64_t size : call.shape) multiply_adds *= static_cast<double>(size);
      return block_product(call.dtype, multiply_adds).name;
    }
    case trace::Op::conv: return who_convolves(call);
    case trace::Op::conv_blocked:
      return fmt::format("channels in blocks{} ({})", BlockedProblem(call).winograd ? ", tiles of 2x2 places" : "", host_blocks().instruction_set);
    case trace::Op::conv_bytes:
    case trace::Op::conv_bytes_scaled: return fmt::format("bytes, channels in blocks ({})", byte_tiles().name);
    case trace::Op::matmul_panels: return fmt::format("bytes, the right ones in panels ({})", byte_panels().name);
    case trace::Op::recurrence: return fmt::format("step after step ({})", host_blocks().instruction_set);
    default: return "the C++ library";
  }
}

}  // namespace sinter::kernels
