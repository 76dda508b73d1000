// Products whose right matrix has few columns and little depth: a row of c is a few vectors, or a few sums, and nothing is packed but the right matrix. The
// body of narrow_product_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_NARROW_PRODUCT.
#include <cstring>

#include "kernels/products/matmul_block.hpp"

namespace sinter::kernels {
namespace {
namespace narrow {

/// A row of c: `words` vectors of `bytes`, of which only the last may be partly outside c.
template <class T, int bytes, int words> struct Row {
  typedef T Word __attribute__((vector_size(bytes)));
  typedef T Unaligned __attribute__((vector_size(bytes), aligned(1), may_alias));
  static constexpr std::int64_t kCount = bytes / static_cast<std::int64_t>(sizeof(T)), kColumns = words * kCount;
};

/// Multiplies `rows` rows from `row` on by `right`, whose rows have kColumns elements. If `beyond`, a row's last vector may be stored whole: what it writes
/// behind the row belongs to rows that are written later.
template <class T, int bytes, int words, int rows> void multiply_rows(const MatmulBlock& p, const T* right, std::int64_t row, bool beyond) {
  using R = Row<T, bytes, words>;
  using Word = typename R::Word;
  const std::int64_t row_step = p.a_transposed ? 1 : p.a_leading, depth_step = p.a_transposed ? p.a_leading : 1;
  const T* a = static_cast<const T*>(p.a) + row * row_step;
  Word sums[rows][words] = {};
  for (std::int64_t k = 0; k < p.depth; ++k, a += depth_step, right += R::kColumns)
    for (int w = 0; w < words; ++w) {
      const Word word = *reinterpret_cast<const typename R::Unaligned*>(right + w * R::kCount);
      for (int r = 0; r < rows; ++r) sums[r][w] += a[r * row_step] * word;
    }
  for (int r = 0; r < rows; ++r) {
    T* const c = static_cast<T*>(p.c) + (row + r) * p.c_leading;
    for (int w = 0; w + 1 < words; ++w) *reinterpret_cast<typename R::Unaligned*>(c + w * R::kCount) = sums[r][w];
    constexpr std::int64_t last = (words - 1) * R::kCount;
    if (beyond) *reinterpret_cast<typename R::Unaligned*>(c + last) = sums[r][words - 1];
    else std::memcpy(c + last, &sums[r][words - 1], static_cast<std::size_t>(p.columns - last) * sizeof(T));
  }
}

template <class T, int bytes, int words> void multiply_all(const MatmulBlock& p) {
  using R = Row<T, bytes, words>;
  alignas(64) T copied[kNarrowElements];
  const T *const b = static_cast<const T*>(p.b), *right = copied;
  if (p.columns == R::kColumns && !p.b_transposed && p.b_leading == R::kColumns) {
    right = b;
  } else {
    const std::int64_t row_step = p.b_transposed ? 1 : p.b_leading, column_step = p.b_transposed ? p.b_leading : 1;
    for (std::int64_t k = 0; k < p.depth; ++k)
      for (std::int64_t j = 0; j < R::kColumns; ++j) copied[k * R::kColumns + j] = j < p.columns ? b[k * row_step + j * column_step] : T{};
  }
#if defined(__AVX512F__)
  constexpr int rows = words == 1 ? 8 : 4;  // as many sums as fill a quarter of the registers and more
#else
  constexpr int rows = bytes <= 32 ? 8 : words == 1 ? 4 : words == 2 ? 2 : 1;
#endif
  const auto beyond = [&p](std::int64_t end) {
    return p.columns == R::kColumns || (p.c_leading == p.columns && (p.rows - end) * p.columns >= R::kColumns - p.columns);
  };
  std::int64_t row = 0;
  for (; row + rows <= p.rows; row += rows) multiply_rows<T, bytes, words, rows>(p, right, row, beyond(row + rows));
  for (; row < p.rows; ++row) multiply_rows<T, bytes, words, 1>(p, right, row, beyond(row + 1));
}

/// Multiplies by very few columns: the product of their rows and the transposed matrix, transposed.
template <class T> bool by_dots(const MatmulBlock& p) {
  T copied[kNarrowElements];
  MatmulBlock turned{p.b, p.a, p.c, p.columns, p.rows, p.depth, p.b_leading, p.a_leading, p.c_leading, false, true};
  turned.c_transposed = true;
  if (!p.b_transposed) {
    for (std::int64_t k = 0; k < p.depth; ++k)
      for (std::int64_t j = 0; j < p.columns; ++j) copied[j * p.depth + k] = static_cast<const T*>(p.b)[k * p.b_leading + j];
    turned.a = copied;
    turned.a_leading = p.depth;
  }
  return thin::by_columns_of_b<T>(turned);
}

template <class T> bool product(const MatmulBlock& p) {
  constexpr std::int64_t kDeep = 16;
  if (p.columns <= kFewColumns && !p.a_transposed && p.depth >= kDeep) return by_dots<T>(p);
  const std::int64_t size = p.columns * static_cast<std::int64_t>(sizeof(T));
  if (size <= 16) multiply_all<T, 16, 1>(p);
  else if (size <= 32) multiply_all<T, 32, 1>(p);
  else if (size <= 64) multiply_all<T, 64, 1>(p);
  else if (size <= 128) multiply_all<T, 64, 2>(p);
  else if (size <= 192) multiply_all<T, 64, 3>(p);
  else multiply_all<T, 64, 4>(p);
  return true;
}

}  // namespace narrow
}  // namespace

bool SINTER_NARROW_PRODUCT(DType dtype, const MatmulBlock& block) {
  switch (dtype) {
    case DType::float32: return narrow::product<float>(block);
    case DType::float64: return narrow::product<double>(block);
    default: return false;
  }
}

}  // namespace sinter::kernels
