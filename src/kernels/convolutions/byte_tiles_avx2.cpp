// cmake/instruction_sets.cmake sets this file's instruction set. The instruction that multiplies bytes saturates its sums. Bytes are therefore widened to 16
// bits; one instruction adds two products to each of 8 sums, and two neighbouring sums belong to one filter.
#if defined(__AVX2__)
#include "kernels/convolutions/byte_tiles.inl"

namespace sinter::kernels {
namespace {

constexpr int kPlaces = 2, kParts = 4;  // a part is 4 filters

template <int places> void sums_of(const ByteConvTile& t, const byte_tiles::Piece& piece) {
  const std::int8_t* weight = piece.weight;
  __m256i sums[places][kParts];
  SINTER_UNROLL for (int p = 0; p < places; ++p) SINTER_UNROLL for (int k = 0; k < kParts; ++k) sums[p][k] = _mm256_setzero_si256();
  for (std::int64_t channel = 0; channel < t.channels; ++channel)
    for (std::int64_t row = 0; row < t.taps[0]; ++row)
      for (std::int64_t column = 0; column < t.taps[1]; ++column) {
        const std::uint8_t* const from = piece.x + channel * t.x_channel + row * t.x_tap[0] + column * t.x_tap[1];
        for (std::int64_t i = 0; i < t.inner; i += 4, weight += 64) {
          __m256i weights[kParts];
          SINTER_UNROLL for (int k = 0; k < kParts; ++k) weights[k] = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weight + 16 * k)));
          SINTER_UNROLL for (int p = 0; p < places; ++p) {
            int four;
            __builtin_memcpy(&four, from + p * t.x_place + i, 4);
            const __m256i elements = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
            SINTER_UNROLL for (int k = 0; k < kParts; ++k) sums[p][k] = _mm256_add_epi32(sums[p][k], _mm256_madd_epi16(elements, weights[k]));
          }
        }
      }
  SINTER_UNROLL for (int p = 0; p < places; ++p) SINTER_UNROLL for (int k = 0; k < kParts; k += 2) {
    // Adds neighbouring sums of two parts, which gives the filters 0 1 4 5 | 2 3 6 7; the permutation restores their order.
    const __m256i both = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[p][k], sums[p][k + 1]), 0xD8);
    std::int32_t* const to = piece.result + p * 16 + 4 * k;
    const __m256i before = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(piece.bias ? piece.bias + 4 * k : to)), all = _mm256_add_epi32(both, before);
    if (piece.scale) *reinterpret_cast<byte_tiles::UnalignedFloats*>(to) = byte_tiles::scaled((byte_tiles::Sums)all, piece.scale + 4 * k, piece.shift + 4 * k);
    else _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), all);
  }
}

void convolve(const ByteConvTile& t) {
  byte_tiles::in_pieces<1, kPlaces>(
      t, [&](std::int64_t, std::int64_t places, const byte_tiles::Piece& piece) { (places == 1 ? sums_of<1> : sums_of<2>)(t, piece); });
}

}  // namespace

const ByteTiles kByteTilesAvx2{"avx2", convolve, byte_tiles::depthwise};

}  // namespace sinter::kernels
#endif
