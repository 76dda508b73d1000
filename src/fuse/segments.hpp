// Formulas too long for one kernel are cut in segments.
#pragma once
#include <map>

#include "fuse/cuts.hpp"
#include "fuse/graph.hpp"

namespace sinter::fuse {

/// Adds to `cuts` the nodes where formulas of more than `max_ops` ops are cut. The places depend on the structure below alone, so a
/// loop's pieces repeat and compile once. Each formula goes through segments of at most `max_ops`; all values that live on from one
/// segment into the next are cut at that one boundary, so that one kernel can compute all of them.
void cut_long_formulas(const Graph& graph, int max_ops, std::map<int, Cut>& cuts);

}  // namespace sinter::fuse
