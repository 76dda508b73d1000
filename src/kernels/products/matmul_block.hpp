// One block of a matrix product. The files matmul_{baseline,avx2,avx512}.cpp each compile matmul_block.inl with other instructions allowed. Nothing here may be
// a template or inline function of a shared namespace, or the linker might keep the copy that old processors cannot run.
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
  bool accumulate = false;    // c += a * b
  bool c_transposed = false;  // c has the layout (columns, rows); only thin products by a transposed b read this
};

/// Multiplies a block. Returns false for a type that Eigen does not multiply here.
using MatmulBlockFn = bool (*)(DType dtype, const MatmulBlock& block);
bool matmul_block_baseline(DType dtype, const MatmulBlock& block);
bool matmul_block_avx2(DType dtype, const MatmulBlock& block);
bool matmul_block_avx512(DType dtype, const MatmulBlock& block);

/// Multiplies few rows over all of the depth at once: at most kThinRows, or kManyThinRows where that pays. Returns false for other types. The order of an
/// element's sum depends only on the depth and the layout of b, not on the other columns that are computed. The last columns, fewer than kThinColumns, are
/// computed separately.
constexpr std::int64_t kThinRows = 4, kManyThinRows = 32, kThinColumns = 64;
bool thin_product_baseline(DType dtype, const MatmulBlock& block);
bool thin_product_avx2(DType dtype, const MatmulBlock& block);
bool thin_product_avx512(DType dtype, const MatmulBlock& block);

/// Multiplies by a narrow matrix. Its rows have at most kNarrowBytes. With each row rounded up to a quarter, a half or the whole of kNarrowBytes, or less, the
/// matrix has at most kNarrowElements elements. If a is not transposed, b may instead have at most kFewColumns columns and kNarrowElements elements. Returns
/// false for other types. The order of an element's sum depends only on the depth, the number of columns and the layout of a.
constexpr std::int64_t kNarrowBytes = 256, kNarrowElements = 2048, kFewColumns = 2;
bool narrow_product_baseline(DType dtype, const MatmulBlock& block);
bool narrow_product_avx2(DType dtype, const MatmulBlock& block);
bool narrow_product_avx512(DType dtype, const MatmulBlock& block);

}  // namespace sinter::kernels
