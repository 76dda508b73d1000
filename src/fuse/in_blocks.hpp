// Values in blocks of channels, and operations on them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "trace/build.hpp"

namespace sinter::fuse {

/// The elements that fill the last block of channels: all are one number, or finite ones, or whatever there is. A convolution multiplies them by 0.
struct Filling {
  bool finite = false;
  std::optional<trace::Scalar> number = {};
};

/// A value with an axis of channels in blocks: of shape (.., channels / 16, .., 16, ..).
struct InBlocks {
  trace::RecordedPtr node;
  std::int64_t channels = 0;  // of the value, without those that fill the last block
  std::size_t axis = 1;       // of the channels in the value's shape; of the blocks in the node's
  std::size_t lane = 4;       // the node's axis along a block, behind `axis`
  Filling filling = {};

  bool lie_like(const InBlocks& other) const { return axis == other.axis && lane == other.lane && channels == other.channels; }
};

/// x with its channels in blocks, a view: as `like` has them. Where x has one channel for all, it has one for all blocks. Zeros fill the last block.
trace::RecordedPtr block(const trace::Site& site, const trace::RecordedPtr& x, const InBlocks& like);
/// The value as it was recorded, a view.
trace::RecordedPtr unblock(const trace::Site& site, const InBlocks& value);
/// The value with zeros in the last block where something else may fill it.
trace::RecordedPtr with_zeros(const trace::Site& site, const InBlocks& value);

/// The least or the largest over axes among which the channels are, of whole blocks; null for others.
trace::RecordedPtr least_or_largest(const trace::Recorded& node, const InBlocks& x);

/// An operand of an operation: in blocks, or as it was recorded.
struct BlockedOperand {
  const Shape& shape;        // as it was recorded
  const InBlocks* blocked;   // null: it is not in blocks
  trace::RecordedPtr plain;  // null: it is in blocks
};
/// The operation on operands in blocks, one of them at least; nothing where it does not keep channels apart, or not whole blocks of them.
std::optional<InBlocks> in_blocks(const trace::Recorded& node, std::span<const BlockedOperand> operands);

}  // namespace sinter::fuse
