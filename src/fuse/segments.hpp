// Splits formulas that are too long for one kernel into segments.
#pragma once
#include <map>

#include "fuse/boundary.hpp"
#include "fuse/graph.hpp"

namespace sinter::fuse {

/// Adds to `boundaries` the nodes at which formulas of more than `max_ops` ops are split. These nodes depend only on the structure below them, so the
/// iterations of a loop are split in the same way and compile once. A segment has at most `max_ops` ops. All values that cross from one segment to the next end
/// at the same boundary, so that one kernel can compute all of them.
void split_long_formulas(const Graph& graph, int max_ops, std::map<int, Boundary>& boundaries);
/// Returns whether a node converts to a longer type: its operand has fewer bytes than the node.
bool lengthens(const Graph& graph, const Node& node);

}  // namespace sinter::fuse
