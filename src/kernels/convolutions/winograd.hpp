// 3x3 convolutions by Winograd's minimal filtering F(2x2, 3x3), with channels in blocks of 16. A tile of 2x2 outputs is computed from 4x4 transformed elements
// of x: for each channel and filter, 16 products replace 36. These functions are compiled for several instruction sets; conv_tile.hpp states the rule.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// The number of elements of a transformed tile, 4x4.
inline constexpr std::int64_t kWinogradPositions = 16;

/// Computes B' d B for a row of tiles that begin two elements apart. All elements that they read must be in memory. Strides are in elements.
struct WinogradInput {
  const float* x;  // the first tile's first element
  float* result;   // one (tiles, 16) array for each position
  std::int64_t tiles, x_row, position;
};
using WinogradInputFn = void (*)(const WinogradInput& row);
void winograd_input_baseline(const WinogradInput& row);
void winograd_input_avx2(const WinogradInput& row);
void winograd_input_avx512(const WinogradInput& row);

/// Computes A' m A + bias for a row of tiles, which gives up to two rows of `places` outputs.
struct WinogradOutput {
  const float* sums;  // one (tiles, 16) array for each position
  const float* bias;  // 16 numbers
  float* result;
  std::int64_t places, rows, position, result_row;
};
using WinogradOutputFn = void (*)(const WinogradOutput& row);
void winograd_output_baseline(const WinogradOutput& row);
void winograd_output_avx2(const WinogradOutput& row);
void winograd_output_avx512(const WinogradOutput& row);

}  // namespace sinter::kernels
