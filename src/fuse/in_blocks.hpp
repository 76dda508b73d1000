// Values in blocks of channels, and operations on them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>

#include "trace/build.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {

using trace::Op, trace::Operands, trace::Recorded, trace::RecordedPtr, trace::Scalar, trace::Site;

/// The maximum number of channels of an input that is read in its own layout, such as a picture.
inline constexpr std::int64_t kPlanes = 4;
inline std::int64_t up_to_blocks(std::int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock; }
/// The elements of the blocks for each of these channels.
inline double filled_up(std::int64_t channels) { return static_cast<double>(up_to_blocks(channels)) / static_cast<double>(channels); }
/// Returns whether filling up the last blocks of filters and channels causes too much work. `behind_blocks`: x is already in blocks and there are several taps.
/// Then the limit is higher, because the alternative, a matrix product of few rows, is slow, too.
bool wastes(std::int64_t filters, std::int64_t channels, bool behind_blocks);

/// The elements that fill the last block of channels: all equal to one number, or finite, or arbitrary. A convolution multiplies them by 0.
struct Filling {
  bool finite = false;
  std::optional<Scalar> number = {};
};

/// A value with an axis of channels in blocks: of shape (.., channels / 16, .., 16, ..).
struct InBlocks {
  RecordedPtr node;
  std::int64_t channels = 0;  // channels of the value, without those that fill the last block
  std::size_t axis = 1;       // axis of the channels in the value's shape, and of the blocks in the node's
  std::size_t lane = 4;       // the node's axis along a block, after `axis`
  Filling filling = {};

  bool lie_like(const InBlocks& other) const { return axis == other.axis && lane == other.lane && channels == other.channels; }
};

/// Returns x with its channels in blocks in the layout of `like`, as a view. If x has a single channel that is broadcast, the result has a single one for all
/// blocks. Zeros fill the last block.
RecordedPtr block(const Site& site, const RecordedPtr& x, const InBlocks& like);
/// Returns the value in the recorded order, as a view.
RecordedPtr unblock(const Site& site, const InBlocks& value);
/// Returns the value with zeros where other elements may fill the last block.
RecordedPtr with_zeros(const Site& site, const InBlocks& value);

/// Makes tensors, filters and attributes of a convolution along one axis those of one along two axes, whose rows have size 1: a tensor's axis 2. The last
/// function returns a result to one axis.
RecordedPtr with_rows(const Site& site, const RecordedPtr& x);
trace::Convolution with_rows(trace::Convolution how);
RecordedPtr without_rows(const Site& site, const RecordedPtr& y);

/// Returns the minimum or maximum over axes that include the channels, for whole blocks; null for another reduction.
RecordedPtr min_or_max(const Recorded& node, const InBlocks& x);

/// Returns the numbers that a value of shape (batch, filters, spatial axes..) repeats over all positions, of shape (1) or (filters). Returns null for another
/// value.
RecordedPtr numbers_of_filters(const Site& site, const RecordedPtr& value, std::int64_t filters);

/// An operand of an operation: in blocks, or in the recorded order.
struct BlockedOperand {
  const Shape& shape;       // recorded shape
  const InBlocks* blocked;  // null: the operand is not in blocks
  RecordedPtr plain;        // null: the operand is in blocks
};
/// Returns the operation on operands of which at least one is in blocks. Returns nothing if it mixes channels, or does not keep whole blocks together.
std::optional<InBlocks> in_blocks(const Recorded& node, std::span<const BlockedOperand> operands);

}  // namespace sinter::fuse
