// The axes of a kernel in the order in which a device walks them. The schedule of a kernel begins with this (jit/choose.hpp); fusion asks it
// what will have a place to be kept.
#pragma once
#include <vector>

#include "fuse/kernel.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Two neighbouring axes that every access walks as one become one.
void merge_axes(Kernel& kernel);
/// Puts axis order[k] in place k.
void reorder(Kernel& kernel, const std::vector<int>& order);
/// Moves what is cheapest for lanes to the end of the parallel axes and of the row axes; the answer says which axis is where.
std::vector<int> order_axes(const Graph& graph, Kernel& kernel);
/// Of a kernel whose axes are in order: whether neighbouring lanes walk its rows, rather than the last parallel axis.
bool lanes_along_rows(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Whether values can be kept between the passes over a row. On a GPU that goes down columns they cannot: a column's points are spread over
/// a block's threads, pass by pass differently.
bool may_keep(const Graph& graph, const Kernel& kernel, const Limits& limits);

}  // namespace sinter::fuse
