// Matrix products on the host: Eigen's kernels, built for several instruction sets and chosen when first used.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::device {

/// One operand: matrix (i, j) of batch element s is at s * batch_stride + i * leading + j, or, when transposed, at
/// s * batch_stride + j * leading + i. A batch stride of 0 repeats the one matrix.
struct MatmulOperand {
  const void* data = nullptr;
  std::int64_t leading = 0;
  std::int64_t batch_stride = 0;
  bool transposed = false;
};

/// c (batch, m, n), contiguous row-major, = a (batch, m, k) times b (batch, k, n). Integers wrap; bool is an or of ands.
/// The result's bits do not depend on `threads`: the grid of blocks that threads take is fixed by the shape, and k is never
/// divided. Throws DTypeError for a type it does not compute.
void matmul(DType dtype, const MatmulOperand& a, const MatmulOperand& b, void* c, std::int64_t batch, std::int64_t m, std::int64_t n,
            std::int64_t k, int threads);

/// The instruction set in use: "avx512", "avx2" or "baseline".
const char* matmul_instruction_set();

}  // namespace sinter::device
