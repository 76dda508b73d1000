// cmake/instruction_sets.cmake sets this file's instruction set. One instruction adds four products of an unsigned and a signed byte for each of 16 columns.
#include "kernels/products/byte_panel.hpp"
#include "kernels/unroll.hpp"

#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include <immintrin.h>

namespace sinter::kernels {
namespace {

std::int64_t fours(std::int64_t depth) { return (depth + kPanelDepth - 1) / kPanelDepth; }

/// Transposes 16 lines of 64 bytes to 16 vectors, each with four bytes of every line.
inline void turn(__m512i (&v)[16]) {
  __m512i t[16];
  SINTER_UNROLL for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(v[i], v[i + 1]);
  }
  SINTER_UNROLL for (int i = 0; i < 16; i += 4) {
    v[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
    v[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
    v[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
    v[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
  }
  // Now quarter q of v[4 a + b] holds the four bytes 4 q + b of lines 4 a ... 4 a + 3.
  SINTER_UNROLL for (int b = 0; b < 4; ++b) {
    t[b] = _mm512_shuffle_i32x4(v[b], v[4 + b], 0x88);
    t[4 + b] = _mm512_shuffle_i32x4(v[b], v[4 + b], 0xDD);
    t[8 + b] = _mm512_shuffle_i32x4(v[8 + b], v[12 + b], 0x88);
    t[12 + b] = _mm512_shuffle_i32x4(v[8 + b], v[12 + b], 0xDD);
  }
  SINTER_UNROLL for (int b = 0; b < 4; ++b) {
    v[b] = _mm512_shuffle_i32x4(t[b], t[8 + b], 0x88);
    v[4 + b] = _mm512_shuffle_i32x4(t[4 + b], t[12 + b], 0x88);
    v[8 + b] = _mm512_shuffle_i32x4(t[b], t[8 + b], 0xDD);
    v[12 + b] = _mm512_shuffle_i32x4(t[4 + b], t[12 + b], 0xDD);
  }
}

/// Loads up to 64 bytes of each of 16 lines, with zeros for missing bytes, and flips the bits that are set in `turned`.
inline void load(const ByteLines& l, std::int64_t k, __m512i turned, __m512i (&v)[16]) {
  const __mmask64 there = l.depth - k >= 64 ? ~__mmask64{0} : (__mmask64{1} << (l.depth - k)) - 1;
  SINTER_UNROLL for (int line = 0; line < 16; ++line) {
    const __mmask64 here = line < l.lines ? there : 0;
    v[line] = _mm512_maskz_add_epi8(here, _mm512_maskz_loadu_epi8(here, l.data + (line < l.lines ? line : 0) * l.line_step + k), turned);
  }
}

void lay_left(const ByteLines& l, std::uint8_t* panel, std::int32_t* row) {
  const std::int64_t all = fours(l.depth);
  const __mmask16 there = static_cast<__mmask16>((1U << l.lines) - 1);
  if (l.depth_step == 1) {
    const __m512i turned = _mm512_set1_epi8(l.is_signed ? static_cast<char>(0x80) : 0);
    for (std::int64_t k = 0; k < all; k += 16) {
      __m512i v[16];
      load(l, k * kPanelDepth, turned, v);
      turn(v);
      SINTER_UNROLL for (int i = 0; i < 16; ++i) if (k + i < all) _mm512_mask_storeu_epi32(panel + (k + i) * l.lines * kPanelDepth, there, v[i]);
    }
  } else {
    for (std::int64_t k = 0; k < all * kPanelDepth; ++k)
      for (std::int64_t line = 0; line < l.lines; ++line) {
        const char number = k < l.depth ? l.data[k * l.depth_step + line * l.line_step] : 0;
        panel[(k / kPanelDepth * l.lines + line) * kPanelDepth + k % kPanelDepth] =
            static_cast<std::uint8_t>(static_cast<unsigned char>(number) ^ (l.is_signed && k < l.depth ? 0x80U : 0U));
      }
  }
  if (!row) return;
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sums = _mm512_set1_epi32(l.is_signed ? static_cast<int>(-128 * l.depth) : 0);
  for (std::int64_t k = 0; k < all; ++k) sums = _mm512_dpbusd_epi32(sums, _mm512_maskz_loadu_epi32(there, panel + k * l.lines * kPanelDepth), ones);
  _mm512_mask_storeu_epi32(row, there, sums);
}

void lay_right(const ByteLines& l, std::int8_t* panel, std::int32_t* sums) {
  const std::int64_t all = fours(l.depth);
  // 128 is subtracted from unsigned numbers by flipping the highest bit, but not from the padding.
  const __m512i turned = _mm512_set1_epi8(l.is_signed ? 0 : static_cast<char>(0x80));
  if (l.depth_step == 1) {
    for (std::int64_t k = 0; k < all; k += 16) {
      __m512i v[16];
      load(l, k * kPanelDepth, turned, v);
      turn(v);
      SINTER_UNROLL for (int i = 0; i < 16; ++i) if (k + i < all) _mm512_storeu_si512(panel + (k + i) * kPanelColumns * kPanelDepth, v[i]);
    }
  } else {
    const __mmask16 there = static_cast<__mmask16>((1U << l.lines) - 1);
    const __m512i fours_of_quarter = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i square = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    for (std::int64_t k = 0; k < all; ++k) {
      __m128i lines[kPanelDepth];
      SINTER_UNROLL for (int i = 0; i < kPanelDepth; ++i) {
        const bool is = k * kPanelDepth + i < l.depth;
        const __mmask16 here = is ? there : 0;
        lines[i] = _mm_maskz_add_epi8(here, _mm_maskz_loadu_epi8(here, l.data + (is ? k * kPanelDepth + i : 0) * l.depth_step), _mm512_castsi512_si128(turned));
      }
      __m512i v = _mm512_castsi128_si512(lines[0]);
      v = _mm512_inserti32x4(v, lines[1], 1);
      v = _mm512_inserti32x4(v, lines[2], 2);
      v = _mm512_inserti32x4(v, lines[3], 3);
      _mm512_storeu_si512(panel + k * 64, _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours_of_quarter, v), square));
    }
  }
  if (!sums) return;
  const __m512i ones = _mm512_set1_epi8(1);
  __m512i sum = _mm512_setzero_si512();
  for (std::int64_t k = 0; k < all; ++k) sum = _mm512_dpbusd_epi32(sum, ones, _mm512_loadu_si512(panel + k * 64));
  _mm512_storeu_si512(sums, sum);
}

template <int rows, int blocks> void multiply(const PanelTile& t) {
  __mmask16 there[blocks];
  SINTER_UNROLL for (int b = 0; b < blocks; ++b) {
    const std::int64_t columns = t.columns - b * kPanelColumns;
    there[b] = columns >= kPanelColumns ? static_cast<__mmask16>(0xFFFF) : static_cast<__mmask16>((1U << columns) - 1);
  }
  __m512i sums[rows][blocks];
  SINTER_UNROLL for (int p = 0; p < rows; ++p) SINTER_UNROLL for (int b = 0; b < blocks; ++b) sums[p][b] =
      t.begin ? _mm512_loadu_si512(t.begin + b * kPanelColumns) : _mm512_maskz_loadu_epi32(there[b], t.c + p * t.c_step + b * kPanelColumns);
  const std::uint8_t* left = t.left;
  const std::int8_t* right = t.right;
  for (std::int64_t k = 0; k < t.depth; ++k, left += rows * kPanelDepth, right += kPanelColumns * kPanelDepth) {
    __m512i weights[blocks];
    SINTER_UNROLL for (int b = 0; b < blocks; ++b) weights[b] = _mm512_loadu_si512(right + b * t.right_block);
    SINTER_UNROLL for (int p = 0; p < rows; ++p) {
      int four;
      __builtin_memcpy(&four, left + p * kPanelDepth, 4);
      const __m512i element = _mm512_set1_epi32(four);
      SINTER_UNROLL for (int b = 0; b < blocks; ++b) sums[p][b] = _mm512_dpbusd_epi32(sums[p][b], element, weights[b]);
    }
  }
  SINTER_UNROLL for (int p = 0; p < rows; ++p) {
    const __m512i more = t.row ? _mm512_set1_epi32(t.row[p]) : _mm512_setzero_si512();
    SINTER_UNROLL for (int b = 0; b < blocks; ++b)
        _mm512_mask_storeu_epi32(t.c + p * t.c_step + b * kPanelColumns, there[b], _mm512_add_epi32(sums[p][b], more));
  }
}

void multiply_tile(const PanelTile& t) {
  using Tile = void (*)(const PanelTile&);
#define SINTER_TILES(blocks)                                                                                                                                   \
  {                                                                                                                                                            \
    multiply<1, blocks>, multiply<2, blocks>, multiply<3, blocks>, multiply<4, blocks>, multiply<5, blocks>, multiply<6, blocks>, multiply<7, blocks>,         \
        multiply<8, blocks>, multiply<9, blocks>, multiply<10, blocks>, multiply<11, blocks>, multiply<12, blocks>, multiply<13, blocks>, multiply<14, blocks> \
  }
  static constexpr Tile tiles[kPanelBlocks][kPanelRows] = {SINTER_TILES(1), SINTER_TILES(2)};
#undef SINTER_TILES
  tiles[t.columns > kPanelColumns ? 1 : 0][t.rows - 1](t);
}

}  // namespace

const BytePanels kBytePanelsVnni{"vnni", lay_left, lay_right, multiply_tile};

}  // namespace sinter::kernels
#endif
