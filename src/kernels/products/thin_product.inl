// Products whose left matrix has few rows. Reading the right matrix takes most of the time, so it is read once, in its own layout. The body of thin_product_*,
// in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_THIN_PRODUCT.
#include <cstring>
#include <type_traits>
#include <utility>

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
  four_together(row, p.rows, [&]<int rows>(std::integral_constant<int, rows>, std::int64_t first) { add_rows<T, rows, deep>(p, first, k); });
}

template <class T> bool by_rows_of_b(const MatmulBlock& p) {
  constexpr int kDeep = 8;  // streams that a processor prefetches
  std::int64_t k = 0;
  for (; k + kDeep <= p.depth; k += kDeep) add_all_rows<T, kDeep>(p, k);
  for (; k < p.depth; ++k) add_all_rows<T, 1>(p, k);
  return true;
}

// Products whose right matrix is transposed: each element of c is the sum of the products along a row of a and a column of b, both contiguous in memory. A sum
// has one lane for each element of a vector. The last elements of the depth, fewer than a vector, are a vector with zeros behind them. Then the upper half of
// the lanes is added to the lower half, and so on.

/// The elements behind the last whole vector of each row of a, with zeros behind them.
template <class T> struct RowEnds {
  explicit RowEnds(const MatmulBlock& p) : first(p.depth / Lanes<T>::kCount * Lanes<T>::kCount), count(p.depth - first) {
    for (std::int64_t row = 0; row < p.rows && count > 0; ++row) {
      std::memset(elements[row], 0, sizeof elements[row]);
      std::memcpy(elements[row], static_cast<const T*>(p.a) + row * p.a_leading + first, static_cast<std::size_t>(count) * sizeof(T));
    }
  }
  std::int64_t first, count;
  alignas(64) T elements[kManyThinRows][Lanes<T>::kCount];
};

/// The elements behind the last whole vector of each column of b. If a whole vector lies within b, it is read, and the lanes behind the column are set to 0.
/// For the last columns it would reach beyond b, so their elements are copied.
template <class T> class ColumnEnds {
 public:
  ColumnEnds(const MatmulBlock& p, std::int64_t first, std::int64_t count) : b_(static_cast<const T*>(p.b) + first), leading_(p.b_leading) {
    if (count == 0) return;
    for (std::int64_t lane = 0; lane < Lanes<T>::kCount; ++lane) mask_[lane] = lane < count ? -1 : 0;
    const std::int64_t behind = Lanes<T>::kCount - count, outside = p.columns == 1 ? 1 : (behind + p.b_leading - 1) / p.b_leading;
    copied_ = p.columns - (outside < p.columns ? outside : p.columns);
    for (std::int64_t j = copied_; j < p.columns; ++j)
      for (std::int64_t lane = 0; lane < Lanes<T>::kCount; ++lane) copies_[j - copied_][lane] = lane < count ? b_[j * leading_ + lane] : T{};
  }
  void read(std::int64_t j, typename Lanes<T>::Word& word) const {
    word = *reinterpret_cast<const typename Lanes<T>::Unaligned*>(j < copied_ ? b_ + j * leading_ : copies_[j - copied_]);
    word = reinterpret_cast<typename Lanes<T>::Word>(reinterpret_cast<Mask>(word) & mask_);
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Bits Mask __attribute__((vector_size(64)));
  const T* b_;
  std::int64_t leading_, copied_ = 0;
  Mask mask_ = {};
  alignas(64) T copies_[Lanes<T>::kCount][Lanes<T>::kCount];
};

template <class T, int count> struct Vector {
  typedef T Word __attribute__((vector_size(count * sizeof(T))));
};
// A call would put all sums into memory.
#define SINTER_INLINE __attribute__((always_inline)) inline
/// Adds halves of the lanes until `count` lanes are left.
template <class T, int lanes, int count> SINTER_INLINE typename Vector<T, count>::Word halved(const typename Vector<T, lanes>::Word& word) {
  if constexpr (lanes == count) {
    return word;
  } else {
    return [&]<int... lane>(std::integer_sequence<int, lane...>) {
      return halved<T, lanes / 2, count>(__builtin_shufflevector(word, word, lane...) + __builtin_shufflevector(word, word, (lane + lanes / 2)...));
    }(std::make_integer_sequence<int, lanes / 2>());
  }
}
/// Returns a vector whose lanes are the sums of the lanes of each of `count` vectors. In each step a vector takes the place of two: a lane whose number has the
/// bit `half` is of the second one.
template <class T, int count, int half = count / 2> SINTER_INLINE typename Vector<T, count>::Word sums_of_lanes(typename Vector<T, count>::Word* words) {
#pragma GCC unroll 8
  for (int i = 0; i < half; ++i)
    words[i] = [&]<int... lane>(std::integer_sequence<int, lane...>) {
      return __builtin_shufflevector(words[i], words[i + half], (lane & half ? count + lane : lane)...) +
             __builtin_shufflevector(words[i], words[i + half], (lane & half ? count + (lane ^ half) : lane ^ half)...);
    }(std::make_integer_sequence<int, count>());
  if constexpr (half > 1) return sums_of_lanes<T, count, half / 2>(words);
  else return words[0];
}

#if defined(__AVX512F__)
constexpr int kRegister = 64;
#else
constexpr int kRegister = 16;
#endif
/// The number of columns by which one row or two are multiplied at once: with 32 registers the sums are as many as a vector has lanes.
template <class T, int rows> constexpr int kColumnsAtOnce = kRegister == 64 ? static_cast<int>(Lanes<T>::kCount) / rows : 4;

/// Multiplies rows of a, from `row` on, by columns of b, from `j` on.
template <class T, int rows, int columns>
void dot_columns(const MatmulBlock& p, std::int64_t row, std::int64_t j, const RowEnds<T>& row_ends, const ColumnEnds<T>& column_ends) {
  using Word = typename Lanes<T>::Word;
  using Unaligned = typename Lanes<T>::Unaligned;
  const T *const a = static_cast<const T*>(p.a) + row * p.a_leading, *const b = static_cast<const T*>(p.b) + j * p.b_leading;
  constexpr int together = kRegister / static_cast<int>(sizeof(T)), groups = (rows * columns + together - 1) / together;
  Word sums[groups * together];
#pragma GCC unroll 16
  for (int i = 0; i < groups * together; ++i) sums[i] = Word{};
  for (std::int64_t k = 0; k < row_ends.first; k += Lanes<T>::kCount) {
    const T* column = b + k;
#pragma GCC unroll 16
    for (int q = 0; q < columns; ++q, column += p.b_leading) {
      const Word word = *reinterpret_cast<const Unaligned*>(column);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sums[r * columns + q] += *reinterpret_cast<const Unaligned*>(a + r * p.a_leading + k) * word;
    }
  }
  if (row_ends.count > 0) {
#pragma GCC unroll 16
    for (int q = 0; q < columns; ++q) {
      Word word;
      column_ends.read(j + q, word);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sums[r * columns + q] += *reinterpret_cast<const Word*>(row_ends.elements[row + r]) * word;
    }
  }
  alignas(64) T totals[groups * together];
#pragma GCC unroll 16
  for (int group = 0; group < groups; ++group) {
    typename Vector<T, together>::Word words[together];
#pragma GCC unroll 16
    for (int i = 0; i < together; ++i) words[i] = halved<T, static_cast<int>(Lanes<T>::kCount), together>(sums[group * together + i]);
    *reinterpret_cast<typename Vector<T, together>::Word*>(totals + group * together) = sums_of_lanes<T, together>(words);
  }
  for (int r = 0; r < rows; ++r) {
    if (!p.c_transposed) std::memcpy(static_cast<T*>(p.c) + (row + r) * p.c_leading + j, totals + r * columns, columns * sizeof(T));
    else
      for (int q = 0; q < columns; ++q) static_cast<T*>(p.c)[(j + q) * p.c_leading + row + r] = totals[r * columns + q];
  }
}

/// Multiplies all rows of a by columns of b. The first-level cache keeps the columns until all rows are multiplied by them.
template <class T, int columns> void dot_rows(const MatmulBlock& p, std::int64_t j, const RowEnds<T>& row_ends, const ColumnEnds<T>& column_ends) {
  four_together(0, p.rows,
                [&]<int rows>(std::integral_constant<int, rows>, std::int64_t row) { dot_columns<T, rows, columns>(p, row, j, row_ends, column_ends); });
}

template <class T> bool by_columns_of_b(const MatmulBlock& p) {
  const RowEnds<T> row_ends(p);
  const ColumnEnds<T> column_ends(p, row_ends.first, row_ends.count);
  std::int64_t j = 0;
  constexpr int by_one = kColumnsAtOnce<T, 1>, by_two = kColumnsAtOnce<T, 2>;
  if (p.rows == 1)
    for (; j + by_one <= p.columns; j += by_one) dot_columns<T, 1, by_one>(p, 0, j, row_ends, column_ends);
  if (p.rows == 2)
    for (; j + by_two <= p.columns; j += by_two) dot_columns<T, 2, by_two>(p, 0, j, row_ends, column_ends);
  for (; j + 4 <= p.columns; j += 4) dot_rows<T, 4>(p, j, row_ends, column_ends);
  for (; j < p.columns; ++j) dot_rows<T, 1>(p, j, row_ends, column_ends);
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
