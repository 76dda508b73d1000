// Convolutions of bytes with channels in blocks (conv2d_bytes in ops/blocked.hpp), on the host.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "fuse/library_call.hpp"
#include "kernels/convolutions/conv_tile.hpp"
#include "kernels/epilogue.hpp"

namespace sinter::kernels {

/// Weights of a tap are laid out as (channels / 4, 16 filters, 4 channels); a depthwise tap has 16. `ahead` and `far_x` are ignored. scale, shift: 16 for
/// each block. With both the result is float32: sums times scale, plus shift. If they are null, the result is the sums.
struct ByteConvTile : ConvTileOf<std::uint8_t, std::int8_t, std::int32_t> {
  const float *scale, *shift;
};
struct ByteDepthwiseTile : DepthwiseTileOf<std::uint8_t, std::int8_t, std::int32_t> {
  const float *scale, *shift;
};

struct ByteTiles {
  const char* name;
  void (*conv)(const ByteConvTile& tile);
  void (*depthwise)(const ByteDepthwiseTile& tile);
};
extern const ByteTiles kByteTilesBaseline, kByteTilesAvx2, kByteTilesVnni;
/// Returns the functions for this processor.
const ByteTiles& byte_tiles();

/// Computes conv_bytes and conv_bytes_scaled. pointers: the starts of the operands' buffers, then of the result's.
void convolve_bytes(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue);

}  // namespace sinter::kernels
