// The pass block_bytes: convolutions of 8-bit integers minus their zero points, in int32, become convolutions of bytes with channels in blocks.
#pragma once
#include <functional>
#include <optional>

#include "fuse/in_blocks.hpp"
#include "fuse/passes.hpp"
#include "ops/blocked.hpp"

namespace sinter::fuse {

/// A convolution of bytes with its epilogue: (sums + begin) * scale + shift for each filter. A null member has no effect.
struct ByteConvolution {
  trace::Site site;
  Tensor x;            // uint8, as the call reads it
  Tensor outside;      // the zero point of x, uint8
  Tensor weight;       // the weights before they are laid out in blocks
  Tensor weight_zero;  // one element, or one for each filter; empty: 0
  ConvOptions how;
  ByteFilterLayout layout{};
  std::size_t axes = 2;                    // 1: x and the weights got rows of size 1, which the result loses
  bool as_floats = false;                  // the sums are converted to float32
  trace::RecordedPtr begin, scale, shift;  // one number, or one for each filter
};

/// Functions that return what the pass has computed for nodes that it visited before.
struct Known {
  std::function<BlockedOperand(const trace::RecordedPtr&)> operand;
  std::function<trace::RecordedPtr(const trace::RecordedPtr&)> plain;
};
/// Returns the convolution of bytes. Returns nothing if the recorded convolution has another form or cannot be computed in blocks.
std::optional<ByteConvolution> convolution_of_bytes(const trace::Recorded& node, const Known& known, const RewriteOptions& options);
InBlocks recorded(const ByteConvolution& conv, const RewriteOptions& options);

/// Returns the convolution with this operation added to its epilogue. `other`: the operation's other operand, null for a conversion. Returns nothing if the
/// epilogue cannot include the operation.
std::optional<ByteConvolution> followed(const ByteConvolution& conv, const trace::Recorded& node, const trace::RecordedPtr& other);

}  // namespace sinter::fuse
