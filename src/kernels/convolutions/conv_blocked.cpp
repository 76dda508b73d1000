#include "kernels/convolutions/conv_blocked.hpp"

#include "kernels/convolutions/blocked_places.hpp"
#include "kernels/convolutions/winograd_conv.hpp"
#include "kernels/products/matmul.hpp"

namespace sinter::kernels {
namespace {

struct Floats {
  using Element = float;
  using Weight = float;
  using Sum = float;
  using ConvTile = kernels::ConvTile;
  using DepthwiseTile = kernels::DepthwiseTile;
  /// The number of channels that one instruction multiplies for each filter.
  static constexpr std::int64_t kAtOnce = 1;
  /// The tiles skip taps outside of a line.
  static constexpr bool kWholeLines = true;

  static void multiply(const ConvTile& tile) { host_blocks().conv_tile(tile); }
  static void multiply(const DepthwiseTile& tile) { host_blocks().depthwise_tile(tile); }
  template <class Tile> static void scale(Tile&, const BlockedProblem&, const BlockedOperands<Floats>&, std::int64_t) {}
  /// Returns the bias unchanged, because x is 0 outside.
  static const float* with_left_out(const BlockedProblem&, const float*, const float* bias, float, const Stretch&, const Stretch&, float*) { return bias; }
};

}  // namespace

void convolve_blocked(const fuse::LibraryCall& call, std::span<void* const> pointers, int threads, const Epilogue& epilogue) {
  const BlockedProblem p(call);
  const auto operand = [&](std::size_t k) { return static_cast<const float*>(pointers[k]) + call.operands[k].offset; };
  float* const result = static_cast<float*>(pointers[3]);
  if (p.winograd) return convolve_winograd(p, operand(0), operand(1), operand(2), result, threads, epilogue);
  (p.depthwise ? convolve_depthwise<Floats> : convolve_dense<Floats>)(p, {operand(0), operand(1), operand(2), 0}, result, threads, epilogue);
}

}  // namespace sinter::kernels
