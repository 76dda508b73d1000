#include "kernels/convolutions/conv_bytes.hpp"

#include "kernels/convolutions/blocked_places.hpp"

namespace sinter::kernels {
namespace {

struct Bytes {
  using Element = std::uint8_t;
  using Weight = std::int8_t;
  using Sum = std::int32_t;
  using ConvTile = ByteConvTile;
  using DepthwiseTile = ByteDepthwiseTile;
  static constexpr std::int64_t kAtOnce = 4;
  static constexpr bool kWholeLines = false;

  static void multiply(const ConvTile& tile) { byte_tiles().conv(tile); }
  static void multiply(const DepthwiseTile& tile) { byte_tiles().depthwise(tile); }
  template <class Tile> static void scale(Tile& tile, const BlockedProblem& p, const BlockedOperands<Bytes>& operands, std::int64_t block) {
    if (!operands.scaling) return;
    tile.scale = operands.scaling + block * kWide;
    tile.shift = tile.scale + p.blocks * kWide;
  }
  /// Returns the bias with the products of the taps outside of x added: all of these read the same element.
  static const std::int32_t* with_left_out(const BlockedProblem& p, const std::int8_t* weight, const std::int32_t* bias, std::uint8_t outside,
                                           const Stretch& down, const Stretch& across, std::int32_t* begin) {
    if (outside == 0 || (down.first == 0 && down.end == p.taps[0] && across.first == 0 && across.end == p.taps[1])) return bias;
    std::uint32_t sums[kWide]{};  // wrap around
    for (std::int64_t row = 0; row < p.taps[0]; ++row)
      for (std::int64_t column = 0; column < p.taps[1]; ++column) {
        if (row >= down.first && row < down.end && column >= across.first && column < across.end) continue;
        for (std::int64_t k = 0; k < kWide; ++k) sums[k] += static_cast<std::uint32_t>(weight[(row * p.taps[1] + column) * kWide + k]);
      }
    for (std::int64_t k = 0; k < kWide; ++k) begin[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[k]) + sums[k] * outside);
    return begin;
  }
};

}  // namespace

const ByteTiles& byte_tiles() {
  static const ByteTiles& chosen = []() -> const ByteTiles& {
#if defined(SINTER_BYTES_X86)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512f"))
      return kByteTilesVnni;
    if (__builtin_cpu_supports("avx2")) return kByteTilesAvx2;
#endif
    return kByteTilesBaseline;
  }();
  return chosen;
}

void convolve_bytes(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  const BlockedProblem p(call);
  const auto operand = [&](std::size_t k) {
    return static_cast<const char*>(pointers[k]) + call.operands[k].offset * static_cast<std::int64_t>(itemsize(call.operands[k].dtype));
  };
  const auto* const begin = reinterpret_cast<const std::int32_t*>(operand(2));
  const bool scaled = call.op == trace::Op::conv_bytes_scaled;
  const BlockedOperands<Bytes> operands{reinterpret_cast<const std::uint8_t*>(operand(0)), reinterpret_cast<const std::int8_t*>(operand(1)), begin,
                                        static_cast<std::uint8_t>(begin[p.blocks * kWide]), scaled ? reinterpret_cast<const float*>(operand(3)) : nullptr};
  (p.depthwise ? convolve_depthwise<Bytes> : convolve_dense<Bytes>)(p, operands, static_cast<std::int32_t*>(pointers.back()), threads, epilogue);
}

}  // namespace sinter::kernels
