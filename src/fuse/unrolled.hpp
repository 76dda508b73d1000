// The pass unroll_recurrence: replaces a recurrent layer by the operations of its steps, for devices whose libraries have no such call.
#pragma once
#include "trace/record.hpp"

namespace sinter::fuse {

/// Returns the states of the recorded call `recurrence` on these operands, step by step; null if planning so many steps would take too long.
trace::RecordedPtr unrolled(const trace::Recorded& call, const trace::RecordedPtr& x, const trace::RecordedPtr& weights, const trace::RecordedPtr& start);

}  // namespace sinter::fuse
