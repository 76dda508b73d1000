// Contents in another layout, made once for all evaluations that read the same elements: the value of a storage's `laid_out`.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "trace/record.hpp"

namespace sinter::fuse {

using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;

struct RewriteOptions {
  bool frozen = false;                            // for the recording of a frozen function: parts that depend on no placeholder are computed once
  Evaluate evaluate;                              // computes values that a storage keeps for later evaluations; not needed if `frozen`
  std::vector<trace::RecordedPtr> followed = {};  // nodes whose new forms are requested
};

/// Returns whether a value that is made of the operand is computed once for many calls: the operand is a view of contents in memory.
bool is_lasting(const trace::RecordedPtr& operand, const RewriteOptions& options);

/// Returns the same for a small formula of contents in memory, if its value is known or few other formulas of these contents are. A formula whose literals
/// change from call to call soon is not computed once.
bool is_computed_once(const trace::RecordedPtr& operand, const RewriteOptions& options);

/// Returns `make(operand)`, evaluated. If a value was made of the same formula of the same contents under this name before, returns that one. In the recording
/// of a frozen function, returns it as it is recorded. The operand must be lasting or computed once.
trace::RecordedPtr laid_out(const trace::RecordedPtr& operand, std::string_view name, const std::function<trace::RecordedPtr()>& make,
                            const RewriteOptions& options);

}  // namespace sinter::fuse
