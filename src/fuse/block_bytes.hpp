// The pass block_bytes: convolutions of 8-bit integers minus their zero points, in int32, become convolutions of bytes with channels in blocks.
#pragma once
#include <functional>
#include <optional>

#include "fuse/in_blocks.hpp"
#include "fuse/passes.hpp"
#include "ops/blocked.hpp"

namespace sinter::fuse {

/// Such a convolution and the operations after it: (sums + begin) * scale + shift for each filter. A null member has no effect.
struct ByteConvolution {
  trace::Site site;
  Tensor x;            // uint8, as the call reads it
  Tensor outside;      // the zero point of x, uint8
  Tensor weight;       // the bytes as recorded
  Tensor weight_zero;  // one element, or one for each filter; empty: 0
  ConvOptions how;
  ByteFilterLayout layout{};
  bool as_floats = false;                  // the sums are converted to float32
  trace::RecordedPtr begin, scale, shift;  // one number, or one for each filter
};

/// The questions that the pass asks about nodes that it has visited.
struct Known {
  std::function<BlockedOperand(const trace::RecordedPtr&)> operand;
  std::function<trace::RecordedPtr(const trace::RecordedPtr&)> plain;
};
/// Returns the convolution of bytes; nothing if the recorded one has another form or does not suit blocks.
std::optional<ByteConvolution> convolution_of_bytes(const trace::Recorded& node, const Known& known, const RewriteOptions& options);
InBlocks recorded(const ByteConvolution& conv, const RewriteOptions& options);

/// Returns the convolution with this operation on its result. `other`: the operation's other operand, null for a conversion. Returns nothing for an operation
/// that the call does not take.
std::optional<ByteConvolution> followed(const ByteConvolution& conv, const trace::Recorded& node, const trace::RecordedPtr& other);

}  // namespace sinter::fuse
