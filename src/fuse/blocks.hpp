// How many blocks a GPU's kernel for a reduction would have, before there is a kernel: by how its operand lies in memory.
#pragma once
#include <vector>

#include "fuse/graph.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Of each multiprocessor, at least: while the one waits for memory or at a barrier, the other goes on.
inline constexpr int kBlocksWanted = 2;

/// The axis whose elements lie next to each other in memory, seen through elementwise ops and permutations; the last one where more is in
/// between.
int contiguous_axis(const Graph& graph, int node);

/// Of a reduction of rows of so many elements of a type to so many results: a block to a row, or a warp to a short one; where the rows are
/// columns of what lies in memory, as many beside each other as a warp takes in accesses of 16 bytes.
Size blocks_of(const Size& results, const Size& row, DType dtype, bool columns);

}  // namespace sinter::fuse
