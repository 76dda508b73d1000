// The function that a separate library, src/decompositions, exports. It decomposes one matrix with Eigen.
#pragma once
#include <cstdint>

#include "trace/primitives.hpp"

namespace sinter::kernels {

/// A matrix in memory. Element (i, j) is at data + i * row_stride + j * column_stride, in elements.
struct MatrixIn {
  const void* data = nullptr;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

/// Reasons why there is no result.
enum class Refusal : std::uint8_t { none, singular, indefinite, infinite, diverges };

/// Decomposes one matrix. `result` is row-major, of the shape in the op's row (trace/library.cpp). `b`: the right side of solve. float32 is computed in
/// float64, too, because Eigen's templates take minutes to compile and an elimination in float32 loses digits. A complex matrix has its real parts in the first
/// half of its columns and its imaginary parts in the second, as has the result.
using DecomposeFn = Refusal (*)(trace::Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);

/// The name of this function in the library.
inline constexpr const char* kDecompose = "sinter_decompose";

}  // namespace sinter::kernels
