// Shared by byte_tiles_{baseline,avx2,vnni}.cpp: the depthwise tile, which the compiler vectorises, and the division of a row of positions into pieces.
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "kernels/convolutions/conv_bytes.hpp"
#include "kernels/unroll.hpp"

namespace sinter::kernels {
namespace {
namespace byte_tiles {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif
typedef std::uint32_t Sums __attribute__((vector_size(4 * kLanes)));  // wrap around
typedef std::uint32_t UnalignedSums __attribute__((vector_size(4 * kLanes), aligned(1), may_alias));

// The conversion is written with intrinsics, because compilers convert a vector of bytes element by element.
#if defined(__AVX512F__)
inline Sums wide(const std::uint8_t* from) { return (Sums)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))); }
inline Sums wide(const std::int8_t* from) { return (Sums)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))); }
#elif defined(__AVX2__)
inline Sums wide(const std::uint8_t* from) { return (Sums)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))); }
inline Sums wide(const std::int8_t* from) { return (Sums)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))); }
#else
template <class Byte> inline Sums wide(const Byte* from) {
  const auto number = [&](int k) { return static_cast<std::uint32_t>(std::int32_t{from[k]}); };
  return Sums{number(0), number(1), number(2), number(3)};
}
#endif

typedef float Floats __attribute__((vector_size(4 * kLanes)));
typedef float UnalignedFloats __attribute__((vector_size(4 * kLanes), aligned(1), may_alias));
typedef std::int32_t Numbers __attribute__((vector_size(4 * kLanes)));

/// Returns sums * scale + shift. The result is rounded after each operation.
inline Floats scaled(Sums sums, const float* scale, const float* shift) {
  const Floats product = __builtin_convertvector((Numbers)sums, Floats) * *reinterpret_cast<const UnalignedFloats*>(scale);
  return product + *reinterpret_cast<const UnalignedFloats*>(shift);
}

template <int places> void depthwise_sums(const ByteDepthwiseTile& t, const std::uint8_t* x, std::int32_t* result) {
  for (int lane = 0; lane < 16; lane += kLanes) {
    Sums sums[places];
    SINTER_UNROLL for (int p = 0; p < places; ++p) sums[p] = *reinterpret_cast<const UnalignedSums*>(t.bias + lane);
    for (std::int64_t row = 0; row < t.taps[0]; ++row)
      for (std::int64_t column = 0; column < t.taps[1]; ++column) {
        const std::uint8_t* const from = x + row * t.x_tap[0] + column * t.x_tap[1] + lane;
        const Sums weights = wide(t.weight + row * t.weight_row + column * 16 + lane);
        SINTER_UNROLL for (int p = 0; p < places; ++p) sums[p] += weights * wide(from + p * t.x_place);
      }
    SINTER_UNROLL for (int p = 0; p < places; ++p) {
      if (t.scale) *reinterpret_cast<UnalignedFloats*>(result + p * 16 + lane) = scaled(sums[p], t.scale + lane, t.shift + lane);
      else *reinterpret_cast<UnalignedSums*>(result + p * 16 + lane) = sums[p];
    }
  }
}

inline void depthwise(const ByteDepthwiseTile& tile) {
  constexpr int kUnrolled = kLanes > 8 ? 8 : 4;
  std::int64_t place = 0;
  const auto at = [&](std::int64_t p) { return tile.x + p * tile.x_place; };
  for (; place + kUnrolled <= tile.places; place += kUnrolled) depthwise_sums<kUnrolled>(tile, at(place), tile.result + place * 16);
  for (; place < tile.places; ++place) depthwise_sums<1>(tile, at(place), tile.result + place * 16);
}

/// A range of positions for a range of blocks of filters.
struct Piece {
  const std::uint8_t* x;
  const std::int8_t* weight;
  const std::int32_t* bias;
  const float *scale, *shift;
  std::int32_t* result;
};

/// Divides the tile into pieces of at most these numbers of blocks and positions, of nearly equal length, and calls compute(blocks, places, piece) for each.
template <int max_blocks, int max_places, class Compute> inline __attribute__((always_inline)) void in_pieces(const ByteConvTile& t, Compute compute) {
  const std::int64_t steps = (t.places + max_places - 1) / max_places;
  for (std::int64_t block = 0, blocks; block < t.blocks; block += blocks) {
    blocks = t.blocks - block < max_blocks ? 1 : max_blocks;
    const auto from_block = [&](const auto* list) { return list ? list + block * 16 : nullptr; };
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::int64_t place = t.places * step / steps, places = t.places * (step + 1) / steps - place;
      compute(blocks, places,
              Piece{t.x + place * t.x_place, t.weight + block * t.weight_block, from_block(t.bias), from_block(t.scale), from_block(t.shift),
                    t.result + block * t.result_block + place * 16});
    }
  }
}

}  // namespace byte_tiles
}  // namespace
}  // namespace sinter::kernels
