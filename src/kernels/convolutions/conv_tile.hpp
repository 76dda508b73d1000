// Tiles of a convolution whose channels are in blocks of 16. A block of filters is a vector, which holds the sums of a position. This file is compiled for
// several instruction sets, so, as in matmul_block.hpp, no function may be defined here.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// result[block][place] = bias[block] + the sum over channels and taps of x * weight. Strides are in elements.
template <class Element, class Weight, class Sum> struct ConvTileOf {
  const Element* x;      // element of the first position's first tap; all taps of all positions are within x
  const Weight* weight;  // weights of a block: channels, taps, channels of a block, 16 filters
  const Sum* bias;       // 16 for each block; null: the sums are added to the result
  Sum* result;
  std::int64_t places, blocks;   // number of adjacent positions; of blocks of filters
  std::int64_t channels, inner;  // number of blocks of channels; of channels in a block: 16 or 1
  std::int64_t taps[2];
  std::int64_t x_channel, x_tap[2], x_place;
  std::int64_t weight_block, result_block;  // from one block of filters to the next
  const Weight* ahead;                      // the next weights, which are prefetched meanwhile:
  std::int64_t ahead_lines;                 // number of consecutive lines of 64 bytes
  bool far_x, far_result;                   // prefetch the elements of x (adjacent here) and of the result that the next positions use
};

/// The same for filters that each read one channel. There is one block.
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
/// Skips taps that would read outside of the line's columns [0, columns). x is column 0; the first position's first tap reads column `column`.
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
