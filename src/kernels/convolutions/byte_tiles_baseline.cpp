// cmake/instruction_sets.cmake sets this file's instruction set.
#include "kernels/convolutions/byte_tiles.inl"

namespace sinter::kernels {
namespace {

void convolve(const ByteConvTile& t) {
  byte_tiles::in_pieces<1, 1>(t, [&](std::int64_t, std::int64_t, const byte_tiles::Piece& piece) {
    std::uint32_t sums[16];  // wrap around
    for (int f = 0; f < 16; ++f) sums[f] = static_cast<std::uint32_t>(piece.bias ? piece.bias[f] : piece.result[f]);
    const std::int8_t* weight = piece.weight;
    for (std::int64_t channel = 0; channel < t.channels; ++channel)
      for (std::int64_t row = 0; row < t.taps[0]; ++row)
        for (std::int64_t column = 0; column < t.taps[1]; ++column, weight += t.inner * 16) {
          const std::uint8_t* const from = piece.x + channel * t.x_channel + row * t.x_tap[0] + column * t.x_tap[1];
          for (std::int64_t i = 0; i < t.inner; ++i)
            for (int f = 0; f < 16; ++f) sums[f] += static_cast<std::uint32_t>(std::int32_t{from[i]} * std::int32_t{weight[(i / 4 * 16 + f) * 4 + i % 4]});
        }
    for (int f = 0; f < 16; ++f) {
      piece.result[f] = static_cast<std::int32_t>(sums[f]);
      if (!piece.scale) continue;
      const float product = static_cast<float>(piece.result[f]) * piece.scale[f], y = product + piece.shift[f];
      __builtin_memcpy(piece.result + f, &y, sizeof y);
    }
  });
}

}  // namespace

const ByteTiles kByteTilesBaseline{"baseline", convolve, byte_tiles::depthwise};

}  // namespace sinter::kernels
