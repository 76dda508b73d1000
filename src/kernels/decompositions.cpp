#include "kernels/decompositions.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "base/beside_library.hpp"
#include "base/threads.hpp"
#include "kernels/decompose.hpp"
#include "kernels/refused.hpp"
#include "sinter/errors.hpp"

namespace sinter::kernels {
namespace {

/// Work with fewer operations than this is finished before another thread would wake up.
constexpr double kWorthThreads = 64 << 10;

/// Opens the library of decompositions, once.
DecomposeFn decomposer() {
  static const DecomposeFn function = [] {
    const std::string file = beside_library("libsinter_decompositions-" SINTER_VERSION ".so");
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* const found = library != nullptr ? dlsym(library, kDecompose) : nullptr;
    if (found == nullptr)
      throw IoError(fmt::format("the library of decompositions does not open: {}. Build the target sinter_decompositions, or install sinter whole", dlerror()));
    return reinterpret_cast<DecomposeFn>(found);
  }();
  return function;
}

/// Returns the operand's matrix number `element`.
MatrixIn matrix(const fuse::LibraryOperand& operand, DType dtype, const void* buffer, std::int64_t element) {
  const std::size_t rank = operand.shape.size();
  std::int64_t at = operand.offset;
  for (std::size_t axis = rank - 2; axis-- > 0; element /= operand.shape[axis]) at += element % operand.shape[axis] * operand.strides[axis];
  return {static_cast<const char*>(buffer) + at * static_cast<std::int64_t>(itemsize(dtype)), operand.shape[rank - 2], operand.shape[rank - 1],
          operand.strides[rank - 2], operand.strides[rank - 1]};
}

const char* words(Refusal refusal) {
  switch (refusal) {
    case Refusal::singular: return "is singular";
    case Refusal::indefinite: return "is not positive definite";
    case Refusal::infinite: return "has infinities or NaN among its elements";
    default: return "is not decomposed: the iteration does not converge";
  }
}

}  // namespace

void decompose(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads) {
  const fuse::LibraryOperand& a = call.operands[0];
  const std::size_t rank = a.shape.size();
  std::int64_t count = 1, results = 1;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) count *= a.shape[axis];
  for (std::size_t axis = rank - 2; axis < call.shape.size(); ++axis) results *= call.shape[axis];
  if (count == 0) return;
  const std::size_t bytes = static_cast<std::size_t>(results) * itemsize(call.dtype);
  const double m = static_cast<double>(a.shape[rank - 2]), n = static_cast<double>(a.shape[rank - 1]);
  const auto together = static_cast<std::int64_t>(std::max(1.0, kWorthThreads / std::max(m * n * std::max(m, n), 1.0)));
  // The error of the first matrix in the batch's order is reported, for any order of the threads.
  std::mutex mutex;
  Refused first{count, ""};
  const auto run = [&](std::int64_t element) {
    const MatrixIn left = matrix(a, call.dtype, pointers[0], element);
    const MatrixIn right = call.operands.size() > 1 ? matrix(call.operands[1], call.dtype, pointers[1], element) : MatrixIn{};
    void* const result = static_cast<char*>(pointers.back()) + static_cast<std::size_t>(element) * bytes;
    std::vector<double> wide(call.dtype == DType::float32 ? static_cast<std::size_t>(results) : 0);
    const Refusal refusal = decomposer()(call.op, call.dtype, left, right, wide.empty() ? static_cast<double*>(result) : wide.data());
    std::transform(wide.begin(), wide.end(), static_cast<float*>(result), [](double x) { return static_cast<float>(x); });
    if (refusal == Refusal::none) return;
    const std::lock_guard lock(mutex);
    if (element < first.element) first = {element, words(refusal)};
  };
  run_tasks(threads, (count + together - 1) / together, [&](std::int64_t task) {
    for (std::int64_t element = task * together; element < std::min(count, (task + 1) * together); ++element) run(element);
  });
  if (first.element < count) throw first;
}

}  // namespace sinter::kernels
