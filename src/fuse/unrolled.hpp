// The pass unroll_recurrence: a recurrent layer's steps become operations of their own, for devices whose libraries have no such call.
#pragma once
#include "trace/record.hpp"

namespace sinter::fuse {

/// Returns the states of the recorded call `recurrence` on these operands, step by step; null if it has more steps than are worth planning.
trace::RecordedPtr unrolled(const trace::Recorded& call, const trace::RecordedPtr& x, const trace::RecordedPtr& weights, const trace::RecordedPtr& start);

}  // namespace sinter::fuse
