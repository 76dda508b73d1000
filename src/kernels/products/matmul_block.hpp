// One block of a matrix product. The files matmul_{baseline,avx2,avx512}.cpp each compile matmul_block.inl with other
// instructions allowed; nothing here may be a template or inline function of a shared namespace, lest the linker
// keep the copy that old processors cannot run.
#pragma once
#include <cstdint>

#include "sinter/dtype.hpp"

namespace sinter::kernels {

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

/// The same of at most this many rows, all of the depth at once; false where it is not for these. An element's sum runs in an order that the depth and
/// the layout of b decide, whatever columns are computed beside it; the last ones, fewer than kThinColumns, by themselves.
constexpr std::int64_t kThinRows = 4, kThinColumns = 64;
bool thin_product_baseline(DType dtype, const MatmulBlock& block);
bool thin_product_avx2(DType dtype, const MatmulBlock& block);
bool thin_product_avx512(DType dtype, const MatmulBlock& block);

}  // namespace sinter::kernels
