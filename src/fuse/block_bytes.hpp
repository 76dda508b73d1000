// The pass block_bytes: convolutions of 8-bit numbers less their zero points, in int32, as ones of bytes with their channels in blocks.
#pragma once
#include <functional>
#include <optional>

#include "fuse/in_blocks.hpp"
#include "fuse/passes.hpp"
#include "ops/blocked.hpp"

namespace sinter::fuse {

/// Such a convolution, and what follows it: (sums + begin) * scale + shift for each filter. What is null does nothing.
struct ByteConvolution {
  trace::Site site;
  Tensor x;            // uint8, as the call reads it
  Tensor outside;      // the zero point of x, uint8
  Tensor weight;       // bytes, as they were recorded
  Tensor weight_zero;  // of one element, or one for each filter; empty: none but 0
  ConvOptions how;
  ByteFilterLayout layout{};
  bool as_floats = false;                  // the sums are converted to float32
  trace::RecordedPtr begin, scale, shift;  // one number, or one for each filter
};

/// What the pass asks of nodes that it has come past.
struct Known {
  std::function<BlockedOperand(const trace::RecordedPtr&)> operand;
  std::function<trace::RecordedPtr(const trace::RecordedPtr&)> plain;
};
/// The convolution of bytes; nothing where the recorded one is another, or blocks are not for it.
std::optional<ByteConvolution> convolution_of_bytes(const trace::Recorded& node, const Known& known, const RewriteOptions& options);
InBlocks recorded(const ByteConvolution& conv, const RewriteOptions& options);

/// The same with this operation on its result, whose other operand is `other` (null for a conversion); nothing where that is none that it takes.
std::optional<ByteConvolution> followed(const ByteConvolution& conv, const trace::Recorded& node, const trace::RecordedPtr& other);

}  // namespace sinter::fuse
