// The pass unroll_recurrence: replaces a recurrent layer by the operations of its steps, for devices whose libraries have no such call.
#pragma once
#include <vector>

#include "trace/record.hpp"

namespace sinter::fuse {

/// Returns the states of a recorded recurrence on these operands, which are those of its call (trace/library.hpp), step by step; null if planning so many steps
/// would take too long.
trace::RecordedPtr unrolled(const trace::Recorded& call, const std::vector<trace::RecordedPtr>& operands);

}  // namespace sinter::fuse
