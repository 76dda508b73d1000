// Rows of floats times a matrix of 8-bit numbers. Nothing here may be a template or inline function of a shared namespace (matmul_block.hpp).
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// sums (count, columns) = rows (count, depth) @ weights (depth, columns). The weights are int8 or uint8. `leading` and `sums_leading`: numbers
/// from row to row of the weights and the sums. The order of a sum is that of the depth.
struct RowsTimesBytes {
  const float* rows;
  const void* weights;
  float* sums;
  std::int64_t count, depth, columns, leading, sums_leading;
  bool is_signed;
};
using RowsTimesBytesFn = void (*)(const RowsTimesBytes&);
void multiply_byte_weights_baseline(const RowsTimesBytes&);
void multiply_byte_weights_avx2(const RowsTimesBytes&);
void multiply_byte_weights_avx512(const RowsTimesBytes&);

}  // namespace sinter::kernels
