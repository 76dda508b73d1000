// cmake/instruction_sets.cmake sets this file's instruction set. One instruction adds four products of an unsigned and a signed byte to each of 16 sums.
#include "kernels/products/byte_product.hpp"
#include "kernels/unroll.hpp"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

namespace sinter::kernels {
namespace {

constexpr int kTile = 4;  // rows and columns whose sums stay in registers
constexpr std::int64_t kBytes = 64;
/// The number of columns that all rows of a block multiply while these columns are in the first-level cache.
constexpr std::int64_t kColumns = 32;

/// Returns a vector whose lane t is the sum of the lanes of sums[t].
inline __attribute__((always_inline)) __m512i totals(const __m512i (&sums)[16]) {
  __m512i pairs[8], fours[4];
  SINTER_UNROLL for (int t = 0; t < 8; ++t) pairs[t] =
      _mm512_add_epi32(_mm512_unpacklo_epi32(sums[2 * t], sums[2 * t + 1]), _mm512_unpackhi_epi32(sums[2 * t], sums[2 * t + 1]));
  SINTER_UNROLL for (int t = 0; t < 4; ++t) fours[t] =
      _mm512_add_epi32(_mm512_unpacklo_epi64(pairs[2 * t], pairs[2 * t + 1]), _mm512_unpackhi_epi64(pairs[2 * t], pairs[2 * t + 1]));
  const __m512i low = _mm512_add_epi32(_mm512_shuffle_i32x4(fours[0], fours[1], 0x44), _mm512_shuffle_i32x4(fours[0], fours[1], 0xEE));
  const __m512i high = _mm512_add_epi32(_mm512_shuffle_i32x4(fours[2], fours[3], 0x44), _mm512_shuffle_i32x4(fours[2], fours[3], 0xEE));
  return _mm512_add_epi32(_mm512_shuffle_i32x4(low, high, 0x88), _mm512_shuffle_i32x4(low, high, 0xDD));
}

/// Computes a tile. If both operands have the same signedness, the highest bit of one is flipped, which changes its numbers by 128 and its signedness. The
/// resulting error in the sums is removed at the end.
template <bool left_signed, bool right_signed, int rows, int columns> void tile(const ByteBlock& p, std::int64_t row, std::int64_t column) {
  const char* const left = static_cast<const char*>(p.left) + row * p.left_step;
  const char* const right = static_cast<const char*>(p.right) + column * p.right_step;
  const __m512i turned = _mm512_set1_epi8(static_cast<char>(0x80)), ones = _mm512_set1_epi8(1);
  __m512i sums[rows][columns], more[kTile];
  SINTER_UNROLL for (int i = 0; i < rows; ++i) SINTER_UNROLL for (int j = 0; j < columns; ++j) sums[i][j] = _mm512_setzero_si512();
  SINTER_UNROLL for (int t = 0; t < kTile; ++t) more[t] = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < p.depth; k += kBytes) {
    const __mmask64 there = p.depth - k >= kBytes ? ~__mmask64{0} : (__mmask64{1} << (p.depth - k)) - 1;
    __m512i across[columns];
    SINTER_UNROLL for (int j = 0; j < columns; ++j) {
      across[j] = _mm512_maskz_loadu_epi8(there, right + j * p.right_step + k);
      if constexpr (!left_signed && !right_signed) across[j] = _mm512_xor_si512(across[j], turned);
      if constexpr (left_signed && right_signed) more[j] = _mm512_dpbusd_epi32(more[j], ones, across[j]);
    }
    SINTER_UNROLL for (int i = 0; i < rows; ++i) {
      __m512i down = _mm512_maskz_loadu_epi8(there, left + i * p.left_step + k);
      if constexpr (!left_signed && !right_signed) more[i] = _mm512_dpbusd_epi32(more[i], down, ones);
      if constexpr (left_signed && right_signed) down = _mm512_xor_si512(down, turned);
      SINTER_UNROLL for (int j = 0; j < columns; ++j) {
        if constexpr (left_signed && !right_signed) sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], across[j], down);
        else sums[i][j] = _mm512_dpbusd_epi32(sums[i][j], down, across[j]);
      }
    }
  }
  __m512i each[16];
  SINTER_UNROLL for (int t = 0; t < 16; ++t) each[t] =
      t / kTile < rows && t % kTile < columns ? sums[t / kTile < rows ? t / kTile : 0][t % kTile < columns ? t % kTile : 0] : _mm512_setzero_si512();
  alignas(64) std::uint32_t all[16], off[16];
  _mm512_store_si512(all, totals(each));
  if constexpr (left_signed == right_signed) {
    SINTER_UNROLL for (int t = 0; t < 16; ++t) each[t] = t < kTile ? more[t < kTile ? t : 0] : _mm512_setzero_si512();
    _mm512_store_si512(off, _mm512_slli_epi32(totals(each), 7));
  }
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      std::uint32_t sum = all[i * kTile + j];
      if constexpr (!left_signed && !right_signed) sum += off[i];
      if constexpr (left_signed && right_signed) sum -= off[j];
      p.c[(row + i) * p.c_step + column + j] = static_cast<std::int32_t>(sum);
    }
}

template <bool left_signed, bool right_signed> void byte_block(const ByteBlock& p) {
  using Tile = void (*)(const ByteBlock&, std::int64_t, std::int64_t);
#define SINTER_ROW(rows)                                                                                                          \
  {                                                                                                                               \
    tile<left_signed, right_signed, rows, 1>, tile<left_signed, right_signed, rows, 2>, tile<left_signed, right_signed, rows, 3>, \
        tile<left_signed, right_signed, rows, 4>                                                                                  \
  }
  static constexpr Tile tiles[kTile][kTile] = {SINTER_ROW(1), SINTER_ROW(2), SINTER_ROW(3), SINTER_ROW(4)};
#undef SINTER_ROW
  const auto smaller = [](std::int64_t a, std::int64_t b) { return a < b ? a : b; };
  for (std::int64_t first = 0; first < p.columns; first += kColumns)
    for (std::int64_t row = 0; row < p.rows; row += kTile)
      for (std::int64_t column = first; column < smaller(p.columns, first + kColumns); column += kTile)
        tiles[smaller(kTile, p.rows - row) - 1][smaller(kTile, p.columns - column) - 1](p, row, column);
}

}  // namespace

void byte_block_vnni(const ByteBlock& p) {
  if (p.left_signed) p.right_signed ? byte_block<true, true>(p) : byte_block<true, false>(p);
  else p.right_signed ? byte_block<false, true>(p) : byte_block<false, false>(p);
}

}  // namespace sinter::kernels
#endif
