// Long chains of assignments, made shallow.
#pragma once
#include "trace/graph.hpp"

namespace sinter::trace {

/// x(0) = a; x(1) = b; ... is a chain of pads, each over the one before, and an element of the last would ask every one of them. Where
/// many follow one another along an axis, they become what concatenate makes of the pieces that are still seen: a shallow tree.
void balance_updates(Graph& graph);

}  // namespace sinter::trace
