// Places of a convolution whose channels lie in blocks of 16: a block of filters is a vector, in which a place's sums stay. Compiled for several
// instruction sets beside matmul_block.hpp, and under the same rule: nothing shared here.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// result[block][place] = bias[block] + the sum over channels and taps of x * weight. Strides are in elements.
template <class Element, class Weight, class Sum> struct ConvTileOf {
  const Element* x;      // the first place's first tap; all taps of all places are there
  const Weight* weight;  // of a block: channels, taps, channels of a block, 16 filters
  const Sum* bias;       // 16 for each block; null: the result's sums go on
  Sum* result;
  std::int64_t places, blocks;   // places side by side; blocks of filters
  std::int64_t channels, inner;  // blocks of channels, and how many channels in one: 16 or 1
  std::int64_t taps[2];
  std::int64_t x_channel, x_tap[2], x_place;
  std::int64_t weight_block, result_block;  // to the next block of filters
  const Weight* ahead;                      // weights that are wanted next, which memory is asked for meanwhile:
  std::int64_t ahead_lines;                 // so many lines of 64 bytes, one after the other
  bool far_x, far_result;                   // memory is asked early for the elements of x, which lie side by side, and of the result that the next places take
};

/// The same where each filter reads its own channel: one block.
template <class Element, class Weight, class Sum> struct DepthwiseTileOf {
  const Element* x;
  const Weight* weight;  // of a tap: 16
  const Sum* bias;       // 16
  Sum* result;
  std::int64_t places;
  std::int64_t taps[2];
  std::int64_t x_tap[2], x_place;
  std::int64_t weight_row;  // from a row of taps to the next
};

using ConvTile = ConvTileOf<float, float, float>;
/// Taps that would read outside of the line's columns [0, columns) are left out: x is column 0, and the first place's first tap reads column `column`.
struct DepthwiseTile : DepthwiseTileOf<float, float, float> {
  std::int64_t column, columns;
};

using ConvTileFn = void (*)(const ConvTile& tile);
void conv_tile_baseline(const ConvTile& tile);
void conv_tile_avx2(const ConvTile& tile);
void conv_tile_avx512(const ConvTile& tile);

using DepthwiseTileFn = void (*)(const DepthwiseTile& tile);
void depthwise_tile_baseline(const DepthwiseTile& tile);
void depthwise_tile_avx2(const DepthwiseTile& tile);
void depthwise_tile_avx512(const DepthwiseTile& tile);

}  // namespace sinter::kernels
