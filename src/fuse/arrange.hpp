// The axes of a kernel in the order in which a device walks them. The schedule of a kernel begins with this (jit/choose.hpp); fusion asks it
// what will have a place to be kept.
#pragma once
#include <vector>

#include "fuse/kernel.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Blocks that keep a row together of which so many bytes are kept, in so many buffers: 1 while a block's shared memory holds it; else the
/// smallest cluster (a power of two) of whose blocks a multiprocessor has two at once, or the smallest that holds the row at all; 0 where
/// `most` blocks do not.
int blocks_of_row(const Limits& limits, const Size& bytes, int buffers, int most);
/// Whether so many blocks hold these bytes together; one block alone holds them as they are.
bool hold(const Limits& limits, int blocks, const Size& bytes, int buffers);
/// Blocks that a device may have hold a row of the kernel's together: what is scanned goes through one block, and so does a chunk.
int most_blocks_of_row(const Kernel& kernel, const Limits& limits);
/// Two neighbouring axes that every access walks as one become one.
void merge_axes(Kernel& kernel);
/// Puts axis order[k] in place k.
void reorder(Kernel& kernel, const std::vector<int>& order);
/// Merges axes and moves what is cheapest for lanes to the end of the parallel axes and of the row axes; the answer says which of the merged axes is
/// where. Then neighbours may be merged once more.
std::vector<int> arrange(const Graph& graph, Kernel& kernel);
/// Whether neighbouring lanes walk the rows of an arranged kernel, rather than its last parallel axis.
bool lanes_along_rows(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Points of a column that each of so many warps of a block keeps in registers, one column beside the other; 0 where the kernel leaves no
/// room for them.
int kept_steps(const Kernel& kernel, int warps);
/// Whether lanes that go down columns keep the kernel's persistent buffers: on a GPU in registers, since a column's points are spread over a
/// block's warps and there is no more of them than those hold.
bool columns_keep(const Kernel& kernel, const Limits& limits);

}  // namespace sinter::fuse
