// How many blocks a GPU's kernel for a reduction would have, before there is a kernel: by how its operand lies in memory.
#pragma once
#include <vector>

#include "fuse/graph.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// The axis whose elements lie next to each other in memory, seen through elementwise ops and views; the last one where no axis does.
int contiguous_axis(const Graph& graph, int node);

/// The order of a node's axes (new axis k is axis order[k]) in which those of a reduction lie beside each other as they do in memory: N, H and W of a picture
/// with its channels last that is seen as NCHW. Empty where they lie so already.
std::vector<int> order_in_memory(const Graph& graph, int node, const std::vector<int>& axes);
/// The node in an order of its axes, and where a reduction's axes are in it.
int in_order(Graph& graph, int node, const std::vector<int>& order, int from);
std::vector<int> axes_in_order(const std::vector<int>& axes, const std::vector<int>& order);
/// A reduction's result, computed over axes in that order, as it would be without it.
int out_of_order(Graph& graph, int result, const std::vector<int>& axes, const std::vector<int>& order, int from);

/// Of a reduction of rows of so many elements of a type to so many results: a block to a row, or a warp to a short one; where the rows are
/// columns of what lies in memory, as many beside each other as a warp takes in accesses of 16 bytes.
Size blocks_of(const Size& results, const Size& row, DType dtype, bool columns);

/// For each broadcast: the reductions whose results it spreads over as many points as they were of, itself or after elementwise ops.
std::vector<std::vector<int>> spread_reductions(const Graph& graph);

/// The rows of a node along some of its axes.
struct Rows {
  Size extent = 1, count = 0, bytes = 0;  // points of each, how many, bytes of one
  bool columns = false;                   // on a GPU: of what lies in memory
};
Rows rows_of(const Graph& graph, int node, const std::vector<int>& axes, const Limits& limits);
/// blocks_of_row (arrange.hpp), when it is not known yet how many values will be kept.
int blocks_that_keep(const Limits& limits, const Size& bytes);
/// Whether less than half of the multiprocessors would have a block, each row going through the largest cluster: then pieces of rows do better.
bool too_few_for_clusters(const Size& rows, const Limits& limits);

}  // namespace sinter::fuse
