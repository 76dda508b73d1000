// Tiles of a convolution whose channels lie in blocks of 16. A block of filters is a vector, and a place's sums stay in it. Compiled for several instruction
// sets beside matmul_block.hpp, under the same rule: no function defined here.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// result[block][place] = bias[block] + the sum over channels and taps of x * weight. Strides are in elements.
template <class Element, class Weight, class Sum> struct ConvTileOf {
  const Element* x;      // of the first place's first tap; all taps of all places are within x
  const Weight* weight;  // of a block: channels, taps, channels of a block, 16 filters
  const Sum* bias;       // 16 for each block; null: the sums are added to the result
  Sum* result;
  std::int64_t places, blocks;   // adjacent places; blocks of filters
  std::int64_t channels, inner;  // blocks of channels; channels in a block: 16 or 1
  std::int64_t taps[2];
  std::int64_t x_channel, x_tap[2], x_place;
  std::int64_t weight_block, result_block;  // from one block of filters to the next
  const Weight* ahead;                      // the next weights, to be prefetched meanwhile:
  std::int64_t ahead_lines;                 // so many lines of 64 bytes, one after the other
  bool far_x, far_result;                   // prefetch the elements of x (adjacent here) and of the result that the next places use
};

/// The same where each filter reads a channel of its own. There is one block.
template <class Element, class Weight, class Sum> struct DepthwiseTileOf {
  const Element* x;
  const Weight* weight;  // 16 for each tap
  const Sum* bias;       // 16 numbers
  Sum* result;
  std::int64_t places;
  std::int64_t taps[2];
  std::int64_t x_tap[2], x_place;
  std::int64_t weight_row;  // from one row of taps to the next
};

using ConvTile = ConvTileOf<float, float, float>;
/// Leaves out taps that would read outside of the line's columns [0, columns). x is column 0; the first place's first tap reads column `column`.
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
