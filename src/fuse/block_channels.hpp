// The pass block_channels: convolutions of float32 with their channels in blocks, which is how a CPU convolves fastest.
#pragma once
#include <optional>

#include "fuse/in_blocks.hpp"
#include "fuse/passes.hpp"
#include "ops/blocked.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {

/// A convolution in blocks, from what it was recorded with: what follows it may become part of its weights and of the number that its sums begin with.
struct BlockedConvolution {
  trace::Site site;
  trace::RecordedPtr x;  // as the call reads it: in blocks, or planes as they are
  trace::RecordedPtr weight;
  trace::RecordedPtr bias;  // one number for each filter; null: 0
  trace::Convolution how;   // over two axes
  FilterLayout layout{};
  std::int64_t joined = 1;  // groups whose channels and filters are whole blocks, each of so many of the recorded ones side by side
  std::size_t axes = 2;     // of places, as it was recorded: where it is one, the rows are 1
  bool lasting = false;     // its weights are laid out once for many calls
};

/// Whether the convolution would read its first operand in blocks, if that were so.
bool reads_blocks(const trace::Recorded& node, const RewriteOptions& options);
/// The convolution in blocks; nothing where blocks are not for it. `x` is its first operand. To bring x into blocks and the result out of them takes as long as
/// many a convolution: where x is not in blocks, and it is not `wanted` that the result is, only tiles are worth it.
std::optional<BlockedConvolution> convolution_in_blocks(const trace::Recorded& node, const BlockedOperand& x, const trace::RecordedPtr& weight, bool wanted,
                                                        const RewriteOptions& options);
InBlocks recorded(const BlockedConvolution& conv, const RewriteOptions& options);

/// The same with a number added to each filter's results, or multiplied with them; nothing where `other`, which has the shape of the result, is no number for
/// each filter that is known beforehand.
std::optional<BlockedConvolution> with_sum(const BlockedConvolution& conv, const trace::RecordedPtr& other, const RewriteOptions& options);
std::optional<BlockedConvolution> with_factor(const BlockedConvolution& conv, const trace::RecordedPtr& other, const RewriteOptions& options);

}  // namespace sinter::fuse
