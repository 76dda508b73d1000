// Graph passes: the changes of a recording before it is planned for a device. Recording asks no device, so the same passes apply whether C++, Python or a file
// recorded it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/laid_out.hpp"
#include "fuse/limits.hpp"
#include "trace/loop_detection.hpp"

namespace sinter::fuse {

struct Pass {
  std::string_view name, what;
  bool Limits::*pays;  // the limit that decides whether the pass is used on a device
};
/// Returns all passes, in the order in which they are listed.
std::span<const Pass> passes();
/// Returns the limits with these passes turned off (names separated by commas; "all" turns off all). Throws ValueError for an unknown name.
Limits without_passes(Limits limits, std::string_view names);

struct Rewritten {
  std::vector<trace::RecordedPtr> roots;          // nodes with the same values, in the same order
  std::vector<trace::PassCount> counts;           // counts of the passes that changed something
  std::vector<trace::RecordedPtr> followed = {};  // the new forms of the followed nodes, in blocks if they have blocks
};

/// Returns whether a pass may change these operations for the device.
bool may_be_rewritten(std::span<const trace::Pending> operations, const Limits& limits);

/// Records the roots again for the device. A node that no pass changes, and whose operands do not change, is reused.
Rewritten rewritten(const std::vector<trace::RecordedPtr>& roots, const Limits& limits, const RewriteOptions& options);

}  // namespace sinter::fuse
