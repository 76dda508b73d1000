// 3x3 convolutions by Winograd's minimal filtering F(2x2, 3x3), with channels in blocks of 16. A tile of 2x2 places is computed from 4x4 transformed elements
// of x: 16 products of a channel and a filter replace 36. Compiled for several instruction sets beside conv_tile.hpp, under the same rule.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// Positions of a transformed tile, 4x4.
inline constexpr std::int64_t kWinogradPositions = 16;

/// B' d B of a row of adjacent tiles, each two elements after the last. All elements that they read are in memory. Strides are in elements.
struct WinogradInput {
  const float* x;  // of the first tile's first element
  float* result;   // of a position: (tiles, 16)
  std::int64_t tiles, x_row, position;
};
using WinogradInputFn = void (*)(const WinogradInput& row);
void winograd_input_baseline(const WinogradInput& row);
void winograd_input_avx2(const WinogradInput& row);
void winograd_input_avx512(const WinogradInput& row);

/// A' m A + bias of a row of tiles: up to two rows of `places` places.
struct WinogradOutput {
  const float* sums;  // of a position: (tiles, 16)
  const float* bias;  // 16 numbers
  float* result;
  std::int64_t places, rows, position, result_row;
};
using WinogradOutputFn = void (*)(const WinogradOutput& row);
void winograd_output_baseline(const WinogradOutput& row);
void winograd_output_avx2(const WinogradOutput& row);
void winograd_output_avx512(const WinogradOutput& row);

}  // namespace sinter::kernels
