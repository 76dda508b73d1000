// Copies of a storage's elements in another layout (packed weights, for example). A copy is made once, kept in the storage's `laid_out`, and used by every
// evaluation that reads the same elements.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "trace/record.hpp"

namespace sinter::fuse {

using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;

struct RewriteOptions {
  bool frozen = false;                            // the recording of a frozen function, which computes parts that depend on no placeholder once
  Evaluate evaluate;                              // computes values that a storage keeps for later evaluations; not needed if `frozen`
  std::vector<trace::RecordedPtr> followed = {};  // nodes whose new forms are requested
};

/// Returns whether a copy of the operand in another layout can be reused by later evaluations, because the operand is a view of evaluated memory.
bool is_lasting(const trace::RecordedPtr& operand, const RewriteOptions& options);

/// Returns whether the value of the operand can be reused by later evaluations, because the operand is a small formula of evaluated memory. The cache holds the
/// values of only a few formulas for each storage. A formula whose literals change from call to call soon reaches this limit.
bool is_computed_once(const trace::RecordedPtr& operand, const RewriteOptions& options);

/// Returns `make(operand)`, evaluated. If an earlier call with this name made the value of the same formula of the same storages, returns that value. In the
/// recording of a frozen function, returns `make(operand)` without evaluating it. is_lasting or is_computed_once must be true for the operand.
trace::RecordedPtr laid_out(const trace::RecordedPtr& operand, std::string_view name, const std::function<trace::RecordedPtr()>& make,
                            const RewriteOptions& options);

}  // namespace sinter::fuse
