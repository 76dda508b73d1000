// One matrix decomposed by Eigen: what decompositions.cpp asks of a build of it for one instruction set.
#pragma once
#include <cstdint>

#include "trace/primitives.hpp"

namespace sinter::kernels {

/// Elements in memory, at data + i * row_stride + j * column_stride elements.
struct MatrixIn {
  const void* data = nullptr;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;
};

/// Why there is no result.
enum class Refusal : std::uint8_t { none, singular, indefinite, infinite, diverges };

/// `result` is row-major, of the shape that the op's row says (trace/library.cpp). `b`: the right side, of solve. float32 is decomposed in
/// float64 too: Eigen's templates take minutes to compile, and an elimination loses digits that the result has room for.
using DecomposeFn = Refusal (*)(trace::Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);

Refusal decompose_baseline(trace::Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
Refusal decompose_avx2(trace::Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
/// A complex matrix has its real parts in the first half of its columns and its imaginary parts in the second half; the result likewise.
Refusal decompose_complex(trace::Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result);
bool is_of_complex_matrices(trace::Op op);

}  // namespace sinter::kernels
