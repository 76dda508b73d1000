// Convolutions of bytes, channels in blocks (conv2d_bytes in sinter/blocked.hpp), on the host.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "device/host/conv_tile.hpp"
#include "device/host/pieces.hpp"
#include "fuse/library_call.hpp"

namespace sinter::device {

/// Weights of a tap lie as (fours of channels, 16 filters, 4 channels); depthwise ones are 16. `far_x` is not read.
using ByteConvTile = ConvTileOf<std::uint8_t, std::int8_t, std::int32_t>;
using ByteDepthwiseTile = DepthwiseTileOf<std::uint8_t, std::int8_t, std::int32_t>;

struct ByteTiles {
  const char* name;
  void (*conv)(const ByteConvTile& tile);
  void (*depthwise)(const ByteDepthwiseTile& tile);
};
extern const ByteTiles kByteTilesBaseline, kByteTilesAvx2, kByteTilesVnni;
/// Those of this processor.
const ByteTiles& byte_tiles();

/// pointers: the buffers of x, of the filters, of what sums begin with and of what x is outside from their start, then the result's.
void convolve_bytes(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Finished& finished);

}  // namespace sinter::device
