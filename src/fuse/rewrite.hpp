// Graph rewrites before scheduling.
#pragma once
#include "fuse/limits.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

/// Reductions of many elements to few results become two: partial results of fixed-length chunks, then a reduction of those. The
/// chunk length depends on the reduction's length alone, so the order of combination does too.
trace::Graph split_reductions(const trace::Graph& graph, const Limits& limits);

/// For a device whose libraries compute none of them: library ops in other primitives, as their rows say.
trace::Graph expand_library_calls(const trace::Graph& graph);

}  // namespace sinter::fuse
