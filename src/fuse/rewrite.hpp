// Graph rewrites before scheduling.
#pragma once
#include "fuse/graph.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Splits reductions of many elements to few results into two: partial results of chunks of fixed length, then a reduction of these. The chunk length depends
/// on the reduction's length alone, and so does the order of combination.
Graph split_reductions(Graph graph, const Limits& limits);

/// On a GPU, splits a reduction that would have fewer than two blocks per multiprocessor into two stages. The first stage has up to about four blocks per
/// multiprocessor. It reduces pieces of the longest run of adjacent reduced axes; the second stage reduces the results of the pieces. See blocks.cpp.
Graph fill_multiprocessors(Graph graph, const Limits& limits);

/// Splits scans of few long rows into three steps: the totals of chunks of fixed length, a scan of the totals, and a scan of each chunk from its initial value.
Graph split_scans(Graph graph, const Limits& limits);

/// If a row does not fit on chip, a reduction that depends on another one of the same row (squares about a mean, exponentials under a maximum, the position of
/// an extremum) becomes a reduction of pieces, each with its own inner result, and a merge: see online.cpp.
Graph merge_dependent_reductions(Graph graph, const Limits& limits);

/// Replaces reductions over axes of size 1 by reshapes.
Graph drop_unit_reductions(Graph graph);

/// Lets a library compute a transposed product, or a part of one, in place of the product, if nothing else reads it: see products.cpp.
Graph move_views_into_products(Graph graph, const Limits& limits);

/// Replaces library ops that the device's libraries do not compute by other primitives, as their records say.
Graph expand_library_calls(Graph graph, const Limits& limits);

}  // namespace sinter::fuse
