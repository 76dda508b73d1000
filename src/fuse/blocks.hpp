// Estimates how many blocks a GPU's kernel for a reduction would have, before the kernel exists, from the operand's layout in memory.
#pragma once
#include <vector>

#include "fuse/graph.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Returns the axis along which elements are contiguous in memory, seen through elementwise ops and views; the last axis if there is none.
int contiguous_axis(const Graph& graph, int node);

/// Returns an order of a node's axes (new axis k is axis order[k]) in which the reduced axes are neighbours as they are in memory, such as N, H and W of a
/// picture with channels last that is seen as NCHW. Empty if the present order is such.
std::vector<int> order_in_memory(const Graph& graph, int node, const std::vector<int>& axes);
/// Returns the node with its axes in this order, and the positions of the reduced axes.
int in_order(Graph& graph, int node, const std::vector<int>& order, int from);
std::vector<int> axes_in_order(const std::vector<int>& axes, const std::vector<int>& order);
/// Returns the result of a reduction over reordered axes in the order that it would have without reordering.
int out_of_order(Graph& graph, int result, const std::vector<int>& axes, const std::vector<int>& order, int from);

/// Returns the number of blocks of a reduction with this number of results and of elements per row. A block reduces a row, or a warp reduces a short row. If
/// the rows are columns of memory, a warp reduces as many adjacent columns as an access of 16 bytes contains.
Size blocks_of(const Size& results, const Size& row, DType dtype, bool columns);

/// Returns, for each broadcast, the reductions whose results (or elementwise functions of them) it repeats over as many points as they reduced.
std::vector<std::vector<int>> spread_reductions(const Graph& graph);

/// The rows of a node along some of its axes.
struct Rows {
  Size extent = 1, count = 0, bytes = 0;  // points of a row, number of rows, bytes of an element
  bool columns = false;                   // on a GPU: the rows are columns of memory
};
Rows rows_of(const Graph& graph, int node, const std::vector<int>& axes, const Limits& limits);
/// Returns blocks_of_row (arrange.hpp) while the number of staged values is not known yet.
int blocks_that_keep(const Limits& limits, const Size& bytes);
/// Returns whether less than half of the multiprocessors would have a block if each row took the largest cluster: then pieces of rows are faster.
bool too_few_for_clusters(const Size& rows, const Limits& limits);

}  // namespace sinter::fuse
