// Graph passes: what a recording becomes before it is planned for a device. Recording asks no device; whoever recorded, in C++, in Python or from a file, gets
// the same passes.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuse/laid_out.hpp"
#include "fuse/limits.hpp"
#include "trace/rounds.hpp"

namespace sinter::fuse {

struct Pass {
  std::string_view name, what;
  bool Limits::*pays;  // whether it pays on a device
};
/// All passes, in the order in which they are listed.
std::span<const Pass> passes();
/// The limits of a device for which the passes of these names, separated by commas, are left out; "all" leaves out all. Throws ValueError for a name that no
/// pass has.
Limits without_passes(Limits limits, std::string_view names);

struct Rewritten {
  std::vector<trace::RecordedPtr> roots;          // of the same values, in the same order
  std::vector<trace::PassCount> counts;           // of the passes that changed something
  std::vector<trace::RecordedPtr> followed = {};  // what the nodes that were asked for became, in blocks where they are
};

/// Whether some pass may change what these operations become on the device.
bool may_be_rewritten(std::span<const trace::Pending> operations, const Limits& limits);

struct RewriteOptions {
  bool frozen = false;                            // a frozen function's recording: what depends on no placeholder is computed once
  Evaluate evaluate;                              // computes what a storage keeps for the evaluations to come; not needed where `frozen`
  std::vector<trace::RecordedPtr> followed = {};  // nodes of which is asked what they became
};
/// Records the roots anew for the device. Nodes that no pass changes, and that read none that is changed, stay as they are.
Rewritten rewritten(const std::vector<trace::RecordedPtr>& roots, const Limits& limits, const RewriteOptions& options);

}  // namespace sinter::fuse
