// Contents in another order, made once for all evaluations that read the same elements: what a storage's `laid_out` holds.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "trace/record.hpp"

namespace sinter::fuse {

using Evaluate = std::function<void(const std::vector<trace::RecordedPtr>&)>;

/// Returns whether what is made of the operand can be used again: it is a view of contents in memory.
bool is_lasting(const trace::RecordedPtr& operand);

/// Returns `make(operand)`, evaluated; what was made of the same view of the same contents under the same name before is taken. The operand is lasting.
trace::RecordedPtr laid_out(const trace::RecordedPtr& operand, std::string_view name, const std::function<trace::RecordedPtr()>& make,
                            const Evaluate& evaluate);

}  // namespace sinter::fuse
