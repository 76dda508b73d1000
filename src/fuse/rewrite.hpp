// Graph rewrites before scheduling.
#pragma once
#include "fuse/limits.hpp"
#include "fuse/graph.hpp"

namespace sinter::fuse {

/// Reductions of many elements to few results become two: partial results of fixed-length chunks, then a reduction of those. The
/// chunk length depends on the reduction's length alone, so the order of combination does too.
Graph split_reductions(Graph graph, const Limits& limits);

/// A reduction over axes of size 1 is a reshape.
Graph drop_unit_reductions(Graph graph);

/// For a device whose libraries compute none of them: library ops in other primitives, as their rows say.
Graph expand_library_calls(Graph graph);

}  // namespace sinter::fuse
