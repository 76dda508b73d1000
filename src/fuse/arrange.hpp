// Puts a kernel's axes into the order of the loops on a device. A kernel's schedule begins with this step (jit/choose.hpp), and fusion uses it to find out
// which values can be staged.
#pragma once
#include <vector>

#include "fuse/kernel.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

/// Returns the number of blocks that together stage a row of these bytes in this number of buffers. It is 1 if one block's shared memory is enough. Otherwise
/// it is the smallest cluster (a power of two) of which a multiprocessor can have two blocks at once, or the smallest that can stage the row at all. It is 0 if
/// `max_blocks` blocks are not enough.
int blocks_of_row(const Limits& limits, const Size& bytes, int buffers, int max_blocks);
/// Returns whether this many blocks together can hold these bytes. With one block the parts are not rounded up.
bool hold(const Limits& limits, int blocks, const Size& bytes, int buffers);
/// Returns the maximum number of the device's blocks that may share a row of the kernel. A scan or a chunk needs a single block.
int max_blocks_of_row(const Kernel& kernel, const Limits& limits);
/// Merges neighbouring axes that every access treats as one axis.
void merge_axes(Kernel& kernel);
/// Moves axis order[k] to position k.
void reorder(Kernel& kernel, const std::vector<int>& order);
/// Merges axes, and moves the axes that are cheapest to vectorise to the end of the parallel axes and of the row axes. Returns the position of each merged
/// axis. Neighbours may be merged once more afterwards.
std::vector<int> arrange(const Graph& graph, Kernel& kernel, const Limits& limits);
/// Returns whether an arranged kernel is vectorised along its rows, and not along its last parallel axis.
bool lanes_along_rows(const Graph& graph, const Kernel& kernel, const Limits& limits);
/// Returns how many points of a column each warp of a block of `warps` warps stages in registers, if lanes run along adjacent columns. Returns 0 if the kernel
/// leaves no registers for them.
int max_staged_steps(const Kernel& kernel, const Limits& limits, int warps);
/// Returns whether lanes along columns can stage the kernel's persistent buffers: on a GPU in registers, because a column's points are distributed over a
/// block's warps and there are no more than these hold.
bool columns_keep(const Kernel& kernel, const Limits& limits);

}  // namespace sinter::fuse
