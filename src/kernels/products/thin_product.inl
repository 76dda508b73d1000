// Products whose left matrix has few rows. Reading the right matrix takes most of the time, so it is read once, in its own layout. The body of thin_product_*,
// in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_THIN_PRODUCT.
#include <cstring>

#include "kernels/lanes.inl"
#include "kernels/products/matmul_block.hpp"

namespace sinter::kernels {
namespace {
namespace thin {

struct Steps {
  std::int64_t row, depth;
  explicit Steps(const MatmulBlock& p) : row(p.a_transposed ? 1 : p.a_leading), depth(p.a_transposed ? p.a_leading : 1) {}
};

/// Adds `deep` rows of b to `rows` rows of c, each times its element of a. The sums run in the order of the depth.
template <class T, int rows, int deep> void add_rows(const MatmulBlock& p, std::int64_t row, std::int64_t k) {
  using Word = typename Lanes<T>::Word;
  using Unaligned = typename Lanes<T>::Unaligned;
  const Steps step(p);
  const T *const a = static_cast<const T*>(p.a) + row * step.row + k * step.depth, *const b = static_cast<const T*>(p.b) + k * p.b_leading;
  const bool first = k == 0;
  T elements[rows][deep];
  for (int r = 0; r < rows; ++r)
    for (int d = 0; d < deep; ++d) elements[r][d] = a[r * step.row + d * step.depth];
  T* const c = static_cast<T*>(p.c) + row * p.c_leading;
  std::int64_t j = 0;
  for (; j + Lanes<T>::kCount <= p.columns; j += Lanes<T>::kCount) {
    Word sums[rows];
    for (int r = 0; r < rows; ++r) sums[r] = first ? Word{} : *reinterpret_cast<const Unaligned*>(c + r * p.c_leading + j);
    for (int d = 0; d < deep; ++d) {
      const Word word = *reinterpret_cast<const Unaligned*>(b + d * p.b_leading + j);
      for (int r = 0; r < rows; ++r) sums[r] += elements[r][d] * word;
    }
    for (int r = 0; r < rows; ++r) *reinterpret_cast<Unaligned*>(c + r * p.c_leading + j) = sums[r];
  }
  for (; j < p.columns; ++j)
    for (int r = 0; r < rows; ++r) {
      T sum = first ? T{} : c[r * p.c_leading + j];
      for (int d = 0; d < deep; ++d) sum += elements[r][d] * b[d * p.b_leading + j];
      c[r * p.c_leading + j] = sum;
    }
}

/// Adds `deep` rows of b to all rows of c, at most as many at once as have sums in registers. The first-level cache keeps the rows of b meanwhile.
template <class T, int deep> void add_all_rows(const MatmulBlock& p, std::int64_t k) {
  std::int64_t row = 0;
#if defined(__AVX512F__)
  for (; row + 8 <= p.rows; row += 8) add_rows<T, 8, deep>(p, row, k);
#endif
  for (; row + 4 <= p.rows; row += 4) add_rows<T, 4, deep>(p, row, k);
  switch (p.rows - row) {
    case 1: return add_rows<T, 1, deep>(p, row, k);
    case 2: return add_rows<T, 2, deep>(p, row, k);
    case 3: return add_rows<T, 3, deep>(p, row, k);
    default: return;
  }
}

template <class T> bool by_rows_of_b(const MatmulBlock& p) {
  constexpr int kDeep = 8;  // streams that a processor prefetches
  std::int64_t k = 0;
  for (; k + kDeep <= p.depth; k += kDeep) add_all_rows<T, kDeep>(p, k);
  for (; k < p.depth; ++k) add_all_rows<T, 1>(p, k);
  return true;
}

/// Multiplies rows of a, from `row` on, by `columns` of b, each contiguous in memory. The order of a sum: lanes by themselves, the lanes together, then the
/// rest of the depth.
template <class T, int rows, int columns> void dot_columns(const MatmulBlock& p, std::int64_t row, std::int64_t j) {
  using Word = typename Lanes<T>::Word;
  using Unaligned = typename Lanes<T>::Unaligned;
  const T *const a = static_cast<const T*>(p.a) + row * p.a_leading, *const b = static_cast<const T*>(p.b) + j * p.b_leading;
  Word sums[rows][columns] = {};
  std::int64_t k = 0;
  for (; k + Lanes<T>::kCount <= p.depth; k += Lanes<T>::kCount)
    for (int q = 0; q < columns; ++q) {
      const Word word = *reinterpret_cast<const Unaligned*>(b + q * p.b_leading + k);
      for (int r = 0; r < rows; ++r) sums[r][q] += *reinterpret_cast<const Unaligned*>(a + r * p.a_leading + k) * word;
    }
  for (int r = 0; r < rows; ++r)
    for (int q = 0; q < columns; ++q) {
      T lanes[Lanes<T>::kCount];
      std::memcpy(lanes, &sums[r][q], sizeof lanes);
      for (std::int64_t half = Lanes<T>::kCount / 2; half > 0; half /= 2)
        for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
      T sum = lanes[0];
      for (std::int64_t rest = k; rest < p.depth; ++rest) sum += a[r * p.a_leading + rest] * b[q * p.b_leading + rest];
      static_cast<T*>(p.c)[(row + r) * p.c_leading + j + q] = sum;
    }
}

/// The first-level cache keeps the columns until all rows are multiplied by them.
template <class T, int columns> void dot_rows(const MatmulBlock& p, std::int64_t j) {
  std::int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) dot_columns<T, 4, columns>(p, row, j);
  switch (p.rows - row) {
    case 1: return dot_columns<T, 1, columns>(p, row, j);
    case 2: return dot_columns<T, 2, columns>(p, row, j);
    case 3: return dot_columns<T, 3, columns>(p, row, j);
    default: return;
  }
}

template <class T> bool by_columns_of_b(const MatmulBlock& p) {
  std::int64_t j = 0;
  for (; j + 4 <= p.columns; j += 4) dot_rows<T, 4>(p, j);
  for (; j < p.columns; ++j) dot_rows<T, 1>(p, j);
  return true;
}

template <class T> bool product(const MatmulBlock& p) { return p.b_transposed ? by_columns_of_b<T>(p) : by_rows_of_b<T>(p); }

}  // namespace thin
}  // namespace

bool SINTER_THIN_PRODUCT(DType dtype, const MatmulBlock& block) {
  switch (dtype) {
    case DType::float32: return thin::product<float>(block);
    case DType::float64: return thin::product<double>(block);
    default: return false;
  }
}

}  // namespace sinter::kernels
