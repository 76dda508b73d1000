// Rows of floats times a matrix of 8-bit numbers, which become floats as they are read: a quarter of the memory of a matrix of floats. The body of
// multiply_byte_weights_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_BYTE_WEIGHTS.
#include <cstring>
#include <type_traits>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/lanes.inl"
#include "kernels/products/byte_weights.hpp"

namespace sinter::kernels {
namespace {
namespace byte_weights {

using Word = Lanes<float>::Word;
using Unaligned = Lanes<float>::Unaligned;

/// Reads 16 bytes as floats. Compilers convert the elements of such vectors one by one.
template <class Byte> void read(const Byte* bytes, Word& word) {
#if defined(__AVX512F__)
  const __m128i read = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  word = Word(_mm512_cvtepi32_ps(std::is_signed_v<Byte> ? _mm512_cvtepi8_epi32(read) : _mm512_cvtepu8_epi32(read)));
#elif defined(__AVX2__)
  __m256 halves[2];
  for (int half = 0; half < 2; ++half) {
    const __m128i read = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes + 8 * half));
    halves[half] = _mm256_cvtepi32_ps(std::is_signed_v<Byte> ? _mm256_cvtepi8_epi32(read) : _mm256_cvtepu8_epi32(read));
  }
  std::memcpy(&word, halves, sizeof word);
#else
  for (int lane = 0; lane < 16; ++lane) word[lane] = static_cast<float>(bytes[lane]);
#endif
}

/// Multiplies `rows` rows by `words` vectors of columns, from column j on.
template <class Byte, int rows, int words> void multiply_columns(const RowsTimesBytes& p, std::int64_t row, std::int64_t j) {
  const float* const a = p.rows + row * p.depth;
  const Byte* b = static_cast<const Byte*>(p.weights) + j;
  Word sums[rows * words];
#pragma GCC unroll 16
  for (int i = 0; i < rows * words; ++i) sums[i] = Word{};
  for (std::int64_t k = 0; k < p.depth; ++k, b += p.leading) {
#pragma GCC unroll 8
    for (int w = 0; w < words; ++w) {
      Word word;
      read(b + 16 * w, word);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) sums[r * words + w] += a[r * p.depth + k] * word;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < rows * words; ++i) *reinterpret_cast<Unaligned*>(p.sums + (row + i / words) * p.sums_leading + j + i % words * 16) = sums[i];
}

/// Multiplies all rows by these columns; the first-level cache keeps them meanwhile if the depth is small.
template <class Byte, int words> void multiply_rows(const RowsTimesBytes& p, std::int64_t j) {
  four_together(0, p.count, [&]<int rows>(std::integral_constant<int, rows>, std::int64_t row) { multiply_columns<Byte, rows, words>(p, row, j); });
}

template <class Byte> void multiply(const RowsTimesBytes& p) {
  std::int64_t j = 0;
  if (p.count == 1)
    for (; j + 128 <= p.columns; j += 128) multiply_columns<Byte, 1, 8>(p, 0, j);
  for (; j + 64 <= p.columns; j += 64) multiply_rows<Byte, 4>(p, j);
  for (; j + 16 <= p.columns; j += 16) multiply_rows<Byte, 1>(p, j);
  for (; j < p.columns; ++j)
    for (std::int64_t row = 0; row < p.count; ++row) {
      float sum = 0;
      for (std::int64_t k = 0; k < p.depth; ++k) sum += p.rows[row * p.depth + k] * static_cast<float>(static_cast<const Byte*>(p.weights)[k * p.leading + j]);
      p.sums[row * p.sums_leading + j] = sum;
    }
}

}  // namespace byte_weights
}  // namespace

void SINTER_BYTE_WEIGHTS(const RowsTimesBytes& p) {
  if (p.is_signed) byte_weights::multiply<std::int8_t>(p);
  else byte_weights::multiply<std::uint8_t>(p);
}

}  // namespace sinter::kernels
