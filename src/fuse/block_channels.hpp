// The pass block_channels: float32 convolutions run with their channels in blocks, the fastest form on a CPU.
#pragma once
#include <optional>

#include "fuse/in_blocks.hpp"
#include "fuse/passes.hpp"
#include "ops/blocked.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {

/// A convolution in blocks, with its recorded parts: later operations may become part of its weights and of the initial values of its sums.
struct BlockedConvolution {
  trace::Site site;
  trace::RecordedPtr x;  // in the form that the call reads: in blocks, or as planes
  trace::RecordedPtr weight;
  trace::RecordedPtr bias;  // one number for each filter; null: 0
  trace::Convolution how;   // over two axes
  FilterLayout layout{};
  std::int64_t joined = 1;  // number of neighbouring recorded groups that form one group, whose channels and filters fill whole blocks
  std::size_t axes = 2;     // number of recorded spatial axes; for one axis, the rows have size 1
  bool lasting = false;     // its weights are packed once for many calls
};

/// Returns whether the convolution would read its first operand in blocks if that were in blocks.
bool reads_blocks(const trace::Recorded& node, const RewriteOptions& options);
/// Returns the convolution in blocks, or nothing if it does not suit blocks. `x`: its first operand. Converting x to blocks and the result back may take as
/// long as the convolution. So if x is not in blocks and the result is not `wanted` in blocks, only convolutions in tiles are faster.
std::optional<BlockedConvolution> convolution_in_blocks(const trace::Recorded& node, const BlockedOperand& x, const trace::RecordedPtr& weight, bool wanted,
                                                        const RewriteOptions& options);
InBlocks recorded(const BlockedConvolution& conv, const RewriteOptions& options);

/// Returns the convolution with a number for each filter's results added to them (`op` is add), subtracted from them (subtract), or multiplied with them
/// (multiply). Returns nothing if `other`, which has the result's shape, is not one known number for all filters or for each.
std::optional<BlockedConvolution> absorbed(const BlockedConvolution& conv, trace::Op op, const trace::RecordedPtr& other, const RewriteOptions& options);

}  // namespace sinter::fuse
