// Contents in another layout, made once for all evaluations that read the same elements: the value of a storage's `laid_out`.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "trace/record.hpp"

namespace sinter::fuse {

using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;

/// Returns whether a value that is made of the operand can be used again: the operand must be a view of contents in memory.
bool is_lasting(const trace::RecordedPtr& operand);

/// Returns `make(operand)`, evaluated. If a value was made of the same view of the same contents under this name before, returns that one. The operand must be
/// lasting.
trace::RecordedPtr laid_out(const trace::RecordedPtr& operand, std::string_view name, const std::function<trace::RecordedPtr()>& make,
                            const Evaluate& evaluate);

}  // namespace sinter::fuse
