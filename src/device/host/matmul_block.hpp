// One block of a matrix product. The files matmul_{baseline,avx2,avx512}.cpp each compile matmul_block.inl with other
// instructions allowed; nothing here may be a template or inline function of a shared namespace, lest the linker
// keep the copy that old processors cannot run.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::device {

struct MatmulBlock {
  const void* a;
  const void* b;
  void* c;
  std::int64_t rows, columns, depth;
  std::int64_t a_leading, b_leading, c_leading;
  bool a_transposed, b_transposed;
  bool accumulate = false;  // c += a * b
};

/// False when the type is none that Eigen multiplies here.
using MatmulBlockFn = bool (*)(DType dtype, const MatmulBlock& block);
bool matmul_block_baseline(DType dtype, const MatmulBlock& block);
bool matmul_block_avx2(DType dtype, const MatmulBlock& block);
bool matmul_block_avx512(DType dtype, const MatmulBlock& block);

}  // namespace sinter::device
