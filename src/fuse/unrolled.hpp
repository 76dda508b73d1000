// The pass unroll_recurrence: replaces a recurrent layer by the operations of its steps, for devices whose libraries have no such call.
#pragma once
#include "trace/record.hpp"

namespace sinter::fuse {

/// Returns the states of a recorded `recurrence` on these operands, step by step; null if planning so many steps would take too long. `lengths`: null for all
/// steps.
trace::RecordedPtr unrolled(const trace::Recorded& call, const trace::RecordedPtr& x, const trace::RecordedPtr& weights, const trace::RecordedPtr& start,
                            const trace::RecordedPtr& lengths);

}  // namespace sinter::fuse
