// Graph rewrites before scheduling.
#pragma once
#include "fuse/graph.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Reductions of many elements to few results become two: partial results of fixed-length chunks, then a reduction of those. The
/// chunk length depends on the reduction's length alone, so the order of combination does too.
Graph split_reductions(Graph graph, const Limits& limits);

/// On a GPU: reductions that would have fewer than two blocks a multiprocessor become two stages with up to about four: the first over
/// pieces of the longest axes that are reduced beside each other, taken as one, the second over those. See blocks.cpp.
Graph fill_multiprocessors(Graph graph, const Limits& limits);

/// Scans of few long rows become three: the totals of fixed-length chunks, a scan of those, and the chunks by themselves, each from
/// the total before it on.
Graph split_scans(Graph graph, const Limits& limits);

/// Where a row does not fit on chip, a reduction that waits for another one of the same row (squares about a mean, exponentials under a
/// maximum, the place of an extremum) becomes one of pieces, each about its own, and a merge: see online.cpp.
Graph merge_dependent_reductions(Graph graph, const Limits& limits);

/// A reduction over axes of size 1 is a reshape.
Graph drop_unit_reductions(Graph graph);

/// For a device whose libraries compute none of them: library ops in other primitives, as their rows say.
Graph expand_library_calls(Graph graph, const Limits& limits);

}  // namespace sinter::fuse
