// cmake/instruction_sets.cmake sets this file's instruction set. One instruction adds four products, of four channels, to the sum of each of 16 filters.
#if defined(__AVX512VNNI__) && defined(__AVX512BW__) && defined(__AVX512VL__)
#include "kernels/convolutions/byte_tiles.inl"

namespace sinter::kernels {
namespace {

constexpr int kBlocks = 2, kPlaces = 14;  // registers hold their sums, the weights and an element of x

template <int blocks, int places, int inner> void sums_of(const ByteConvTile& t, const byte_tiles::Piece& piece) {
  const std::int8_t* weight = piece.weight;
  __m512i sums[blocks][places];
  SINTER_UNROLL for (int b = 0; b < blocks; ++b) SINTER_UNROLL for (int p = 0; p < places; ++p) sums[b][p] =
      _mm512_loadu_si512(piece.bias ? piece.bias + b * 16 : piece.result + b * t.result_block + p * 16);
  for (std::int64_t channel = 0; channel < t.channels; ++channel)
    for (std::int64_t row = 0; row < t.taps[0]; ++row)
      for (std::int64_t column = 0; column < t.taps[1]; ++column, weight += inner * 16) {
        const std::uint8_t* const from = piece.x + channel * t.x_channel + row * t.x_tap[0] + column * t.x_tap[1];
        SINTER_UNROLL for (int i = 0; i < inner; i += 4) {
          __m512i weights[blocks];
          SINTER_UNROLL for (int b = 0; b < blocks; ++b) weights[b] = _mm512_loadu_si512(weight + b * t.weight_block + i * 16);
          SINTER_UNROLL for (int p = 0; p < places; ++p) {
            int four;
            __builtin_memcpy(&four, from + p * t.x_place + i, 4);
            const __m512i elements = _mm512_set1_epi32(four);
            SINTER_UNROLL for (int b = 0; b < blocks; ++b) sums[b][p] = _mm512_dpbusd_epi32(sums[b][p], elements, weights[b]);
          }
        }
      }
  SINTER_UNROLL for (int b = 0; b < blocks; ++b) SINTER_UNROLL for (int p = 0; p < places; ++p) {
    std::int32_t* const to = piece.result + b * t.result_block + p * 16;
    if (piece.scale)
      *reinterpret_cast<byte_tiles::UnalignedFloats*>(to) = byte_tiles::scaled((byte_tiles::Sums)sums[b][p], piece.scale + b * 16, piece.shift + b * 16);
    else _mm512_storeu_si512(to, sums[b][p]);
  }
}

using SumsOf = void (*)(const ByteConvTile& t, const byte_tiles::Piece& piece);

/// Indexed by the number of positions minus 1.
template <int blocks, int inner> constexpr SumsOf kSumsOf[kPlaces] = {
    sums_of<blocks, 1, inner>,  sums_of<blocks, 2, inner>,  sums_of<blocks, 3, inner>,  sums_of<blocks, 4, inner>, sums_of<blocks, 5, inner>,
    sums_of<blocks, 6, inner>,  sums_of<blocks, 7, inner>,  sums_of<blocks, 8, inner>,  sums_of<blocks, 9, inner>, sums_of<blocks, 10, inner>,
    sums_of<blocks, 11, inner>, sums_of<blocks, 12, inner>, sums_of<blocks, 13, inner>, sums_of<blocks, 14, inner>};

void convolve(const ByteConvTile& t) {
  byte_tiles::in_pieces<kBlocks, kPlaces>(t, [&](std::int64_t blocks, std::int64_t places, const byte_tiles::Piece& piece) {
    const SumsOf sums = t.inner == 4 ? (blocks == 1 ? kSumsOf<1, 4> : kSumsOf<2, 4>)[places - 1] : (blocks == 1 ? kSumsOf<1, 16> : kSumsOf<2, 16>)[places - 1];
    sums(t, piece);
  });
}

// ---- depthwise: four neighbouring positions are 64 bytes; in the transpose, each channel's four bytes are adjacent, as the instruction requires

constexpr std::int64_t kRows = 8, kColumns = 4;  // maximum number of taps of each axis

/// Transposes (4, 16) bytes to (16, 4).
inline __m512i turned(__m512i places) {
  const __m512i fours = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
  const __m512i bytes = _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
  return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(fours, places), bytes);
}
inline __mmask64 first(std::int64_t places) { return places >= 4 ? ~__mmask64{0} : (__mmask64{1} << (16 * places)) - 1; }

inline void store(const ByteDepthwiseTile& t, __m512i sums, std::int64_t place) {
  std::int32_t* const to = t.result + place * 16;
  if (t.scale) *reinterpret_cast<byte_tiles::UnalignedFloats*>(to) = byte_tiles::scaled((byte_tiles::Sums)sums, t.scale, t.shift);
  else _mm512_storeu_si512(to, sums);
}

void depthwise(const ByteDepthwiseTile& t) {
  if (t.x_tap[1] != 16 || t.taps[1] > kColumns || t.taps[0] > kRows) return byte_tiles::depthwise(t);
  const __mmask64 there = first(t.taps[1]), of_two = first(t.taps[1] == 0 ? 0 : t.taps[1] + 1);  // no tap, and no element of x
  __m512i weights[kRows], next[kRows];  // weights of a position, and of the next position, which reads the same four elements
  for (std::int64_t row = 0; row < t.taps[0]; ++row) {
    weights[row] = turned(_mm512_maskz_loadu_epi8(there, t.weight + row * t.weight_row));
    next[row] = _mm512_slli_epi32(weights[row], 8);
  }
  const __m512i bias = _mm512_loadu_si512(t.bias);
  std::int64_t place = 0;
  if (t.x_place == 16 && t.taps[1] < kColumns)
    for (; place + 2 <= t.places; place += 2) {
      __m512i sums = bias, more = bias;
      for (std::int64_t row = 0; row < t.taps[0]; ++row) {
        const __m512i elements = turned(_mm512_maskz_loadu_epi8(of_two, t.x + place * 16 + row * t.x_tap[0]));
        sums = _mm512_dpbusd_epi32(sums, elements, weights[row]);
        more = _mm512_dpbusd_epi32(more, elements, next[row]);
      }
      store(t, sums, place);
      store(t, more, place + 1);
    }
  for (; place < t.places; ++place) {
    __m512i sums = bias;
    for (std::int64_t row = 0; row < t.taps[0]; ++row)
      sums = _mm512_dpbusd_epi32(sums, turned(_mm512_maskz_loadu_epi8(there, t.x + place * t.x_place + row * t.x_tap[0])), weights[row]);
    store(t, sums, place);
  }
}

}  // namespace

const ByteTiles kByteTilesVnni{"vnni", convolve, depthwise};

}  // namespace sinter::kernels
#endif
