// The body of conv_tile_* and depthwise_tile_*, in the files matmul_{baseline,avx2,avx512}.cpp, which define SINTER_CONV_TILE and SINTER_DEPTHWISE_TILE.
#include "kernels/convolutions/conv_tile.hpp"
#include "kernels/lanes.inl"
#include "kernels/unroll.hpp"

namespace sinter::kernels {
namespace {
namespace conv_tile {

using Word = Lanes<float>::Word;
using Unaligned = Lanes<float>::Unaligned;

// The maximum numbers of blocks of filters and of positions whose sums fit into registers together with the weights and an element of x.
#if defined(__AVX512F__)
constexpr int kBlocks = 2, kPlaces = 14;
#elif defined(__AVX2__)
constexpr int kBlocks = 1, kPlaces = 6;
#else
constexpr int kBlocks = 1, kPlaces = 2;
#endif

/// Divides positions into as few steps as possible, of nearly equal length, the longer ones first. A step needs no division.
struct Steps {
  std::int64_t count, each, longer;

  Steps(std::int64_t places, std::int64_t max_places)
      : count((places + max_places - 1) / max_places), each(count > 0 ? places / count : 0), longer(places - each * count) {}
  std::int64_t places(std::int64_t step) const { return each + (step < longer ? 1 : 0); }
};

/// Prefetches lines of memory, a few with each tap, so that the sums hide the waiting time.
struct Ahead {
  const float* next;
  std::int64_t each;

  void ask() {
    for (std::int64_t line = 0; line < each; ++line, next += 16) __builtin_prefetch(next, 0, 2);
  }
};

/// Computes tiles. Each sum runs over channels, taps, and the channels of a block, always in this order.
template <int blocks, int places, int inner>
void sums_of(const ConvTile& t, const float* x, const float* weight, const float* bias, float* result, Ahead ahead) {
  Word sums[blocks][places];
  SINTER_UNROLL for (int b = 0; b < blocks; ++b) SINTER_UNROLL for (int p = 0; p < places; ++p) sums[b][p] =
      *reinterpret_cast<const Unaligned*>(bias ? bias + b * 16 : result + b * t.result_block + p * 16);
  if (t.far_result)
    SINTER_UNROLL for (int b = 0; b < blocks; ++b) SINTER_UNROLL for (int p = 0; p < places; ++p)
        __builtin_prefetch(result + b * t.result_block + (places + p) * 16, 1);
  for (std::int64_t channel = 0; channel < t.channels; ++channel)
    for (std::int64_t row = 0; row < t.taps[0]; ++row)
      for (std::int64_t column = 0; column < t.taps[1]; ++column, weight += inner * 16) {
        const float* const from = x + channel * t.x_channel + row * t.x_tap[0] + column * t.x_tap[1];
        ahead.ask();
        if (t.far_x) SINTER_UNROLL for (int p = 0; p < places; ++p) __builtin_prefetch(from + (places + p) * 16);
        for (int i = 0; i < inner; ++i) {
          Word weights[blocks];
          SINTER_UNROLL for (int b = 0; b < blocks; ++b) weights[b] = *reinterpret_cast<const Unaligned*>(weight + b * t.weight_block + i * 16);
          SINTER_UNROLL for (int p = 0; p < places; ++p) {
            const float element = from[p * t.x_place + i];
            SINTER_UNROLL for (int b = 0; b < blocks; ++b) sums[b][p] += weights[b] * element;
          }
        }
      }
  SINTER_UNROLL for (int b = 0; b < blocks; ++b) SINTER_UNROLL for (int p = 0; p < places; ++p) *
      reinterpret_cast<Unaligned*>(result + b * t.result_block + p * 16) = sums[b][p];
}

using Sums = void (*)(const ConvTile& t, const float* x, const float* weight, const float* bias, float* result, Ahead ahead);

/// Returns the function for this number of positions, at least 1.
template <int blocks, int inner> Sums sums_of_places(std::int64_t places) {
  static constexpr Sums all[] = {
      sums_of<blocks, 1, inner>,  sums_of<blocks, 2, inner>,
#if defined(__AVX2__)
      sums_of<blocks, 3, inner>,  sums_of<blocks, 4, inner>,  sums_of<blocks, 5, inner>,  sums_of<blocks, 6, inner>,
#endif
#if defined(__AVX512F__)
      sums_of<blocks, 7, inner>,  sums_of<blocks, 8, inner>,  sums_of<blocks, 9, inner>,  sums_of<blocks, 10, inner>,
      sums_of<blocks, 11, inner>, sums_of<blocks, 12, inner>, sums_of<blocks, 13, inner>, sums_of<blocks, 14, inner>,
#endif
  };
  static_assert(sizeof all / sizeof *all == kPlaces);
  return all[places - 1];
}

template <int blocks, int inner> void row_of_places(const ConvTile& t, std::int64_t block) {
  const Steps steps(t.places, kPlaces);
  const std::int64_t taps = t.channels * t.taps[0] * t.taps[1], all_taps = steps.count * ((t.blocks + kBlocks - 1) / kBlocks) * taps;
  const std::int64_t each = (t.ahead_lines + all_taps - 1) / all_taps;
  for (std::int64_t step = 0, place = 0; step < steps.count; place += steps.places(step), ++step)
    sums_of_places<blocks, inner>(steps.places(step))(t, t.x + place * t.x_place, t.weight + block * t.weight_block, t.bias ? t.bias + block * 16 : nullptr,
                                                      t.result + block * t.result_block + place * 16,
                                                      Ahead{t.ahead + (block / kBlocks * steps.count + step) * taps * each * 16, each});
}

template <int inner> void blocks_of_filters(const ConvTile& t) {
  std::int64_t block = 0;
  for (; block + kBlocks <= t.blocks; block += kBlocks) row_of_places<kBlocks, inner>(t, block);
  for (; block < t.blocks; ++block) row_of_places<1, inner>(t, block);
}

template <int places, bool all_within> void depthwise_sums(const DepthwiseTile& t, std::int64_t column, float* result) {
  Word sums[places];
  const std::int64_t step = t.x_place / 16, tap = t.x_tap[1] / 16;
  SINTER_UNROLL for (int p = 0; p < places; ++p) sums[p] = *reinterpret_cast<const Unaligned*>(t.bias);
  for (std::int64_t row = 0; row < t.taps[0]; ++row)
    for (std::int64_t k = 0; k < t.taps[1]; ++k) {
      const float* const line = t.x + row * t.x_tap[0];
      const Word weights = *reinterpret_cast<const Unaligned*>(t.weight + row * t.weight_row + k * 16);
      std::int64_t at = column + k * tap;
      SINTER_UNROLL for (int p = 0; p < places; ++p, at += step) if (all_within || static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(t.columns))
          sums[p] += weights * *reinterpret_cast<const Unaligned*>(line + at * 16);
    }
  SINTER_UNROLL for (int p = 0; p < places; ++p) * reinterpret_cast<Unaligned*>(result + p * 16) = sums[p];
}

using DepthwiseSums = void (*)(const DepthwiseTile& t, std::int64_t column, float* result);
constexpr int kDepthwisePlaces = kPlaces > 8 ? 8 : kPlaces;  // enough sums, so that no addition waits for the previous one

/// Returns the function for this number of positions, at least 1.
template <bool all_within> DepthwiseSums depthwise_sums_of_places(std::int64_t places) {
  static constexpr DepthwiseSums all[] = {
      depthwise_sums<1, all_within>, depthwise_sums<2, all_within>,
#if defined(__AVX2__)
      depthwise_sums<3, all_within>, depthwise_sums<4, all_within>, depthwise_sums<5, all_within>, depthwise_sums<6, all_within>,
#endif
#if defined(__AVX512F__)
      depthwise_sums<7, all_within>, depthwise_sums<8, all_within>,
#endif
  };
  static_assert(sizeof all / sizeof *all == kDepthwisePlaces);
  return all[places - 1];
}

}  // namespace conv_tile
}  // namespace

void SINTER_CONV_TILE(const ConvTile& tile) {
  if (tile.inner == 1) conv_tile::blocks_of_filters<1>(tile);
  else conv_tile::blocks_of_filters<16>(tile);
}

void SINTER_DEPTHWISE_TILE(const DepthwiseTile& tile) {
  const std::int64_t step_columns = tile.x_place / 16, reach = (tile.taps[1] - 1) * (tile.x_tap[1] / 16);
  const conv_tile::Steps steps(tile.places, conv_tile::kDepthwisePlaces);
  for (std::int64_t step = 0, place = 0; step < steps.count; place += steps.places(step), ++step) {
    const std::int64_t places = steps.places(step), column = tile.column + place * step_columns;
    const bool all_within = column >= 0 && column + (places - 1) * step_columns + reach < tile.columns;
    (all_within ? conv_tile::depthwise_sums_of_places<true>(places) : conv_tile::depthwise_sums_of_places<false>(places))(tile, column,
                                                                                                                          tile.result + place * 16);
  }
}

}  // namespace sinter::kernels
