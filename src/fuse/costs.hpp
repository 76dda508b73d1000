// The constants that decide plans and schedules, each with its reason. The properties of a device (its memory, its units, its speeds) are in limits.hpp.
// docs/decisions.md holds the measurements of those that were measured.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sinter::costs {

// --- fusion groups -------------------------------------------------------------------------------------------------------
/// The maximum number of axes that are split in one group. Each split starts the group again.
inline constexpr int kMaxSplits = 8;
/// The maximum number of distinct divisions and remainders in one element's index. With more, a copy through memory is cheaper than computing the index.
inline constexpr int kMaxDivisions = 12;
/// A value that costs fewer cheap operations than this is computed again in a later pass. Staging the value would cost about a store and a load.
inline constexpr double kKeepCost = 4;
/// An elementwise op, or another gather, is computed at gathered positions if there are at most this many times as many positions as elements. Reflected
/// padding and overlapping windows repeat some elements.
inline constexpr std::int64_t kGatheredAgain = 2;
/// A formula with more than kLongFormula ops that more than kManyKernels kernels would each compute is materialised before any of these kernels is built.
/// Otherwise the time of planning would be proportional to the product of both numbers.
inline constexpr int kLongFormula = 16;
inline constexpr std::size_t kManyKernels = 4;
/// Ops that only one consumer needs, or that cost less than a read from memory, move to a later segment: at most kLightOps of them, with a total cost of at
/// most kLightCost.
inline constexpr int kLightOps = 16;
inline constexpr double kLightCost = 8;

// --- bounds on the work of planning ----------------------------------------------------------------------------------------
/// The maximum number of nodes that are examined in the search for one that should be materialised.
inline constexpr std::size_t kMaxCandidates = 48;
/// The maximum number of rounds. In each round some shared values are materialised and the whole graph is scheduled again.
inline constexpr int kMaxRounds = 3;
/// The maximum number of groups, and reads, that are examined to find out whether a merged group would depend on itself.
inline constexpr int kMaxBetween = 256, kMaxReads = 2048;
/// The maximum number of groups with which one more reader of the same node is tried, the latest groups first.
inline constexpr std::size_t kMaxReaders = 3;
/// The maximum number of merged kernels that are built for one group and then discarded.
inline constexpr int kMaxFailures = 12;
/// The maximum number of accesses to one node that are compared when two groups are aligned.
inline constexpr int kMaxPairs = 16;
/// Families with fewer siblings than this are merged in pairs, and each merge is weighed on its own.
inline constexpr std::size_t kManySiblings = 8;
/// The maximum number of groups of siblings with which a sibling is tried if it has nothing in common with the groups before.
inline constexpr int kMaxTries = 3;

// --- sorts and scatters -------------------------------------------------------------------------------------------------------
/// The cost, in cheap operations, of comparing two elements in a sort by comparing all pairs, and of comparing an element's position with an index in a
/// scatter.
inline constexpr double kSortedPair = 10, kMatchedPair = 3;

/// The longest sum of a product whose transposition moves into the operands on a CPU. Its library packs transposed operands more slowly, which then costs more
/// than the result's way through memory.
inline constexpr std::int64_t kShallowProduct = 128;

// --- memory access ---------------------------------------------------------------------------------------------------------
/// The number of bytes that memory moves at once.
inline constexpr std::int64_t kLine = 64;
/// An axis shorter than this leaves lanes idle.
inline constexpr std::int64_t kLanes = 16;

// --- long reductions, split for work -----------------------------------------------------------------------------------------
/// A shorter reduction ends before a second kernel would start.
inline constexpr std::int64_t kSplitFrom = 131072;
/// The minimum number of elements of a chunk of a long reduction, and the maximum number of chunks. Both depend on the length alone, so the bits are the same
/// everywhere.
inline constexpr std::int64_t kMinChunk = 16384, kMaxChunks = 1024;
/// The minimum number of blocks of each multiprocessor. While one waits for memory or at a barrier, the other continues.
inline constexpr int kBlocksWanted = 2;
/// The maximum number of nodes between a reduction and its operand in memory.
inline constexpr int kLookedThrough = 64;
/// The number of elements per block for which a second kernel pays: a block reads 256 KiB of float32 in about 5 us.
inline constexpr std::int64_t kMinWork = 65536;
/// The shortest piece of a row: two vectors for each of a block's threads.
inline constexpr std::int64_t kMinPiece = 2048;
/// The shortest piece of a column: eight points for each of a block's eight rows of threads.
inline constexpr std::int64_t kMinRows = 64;
/// If the reduced axes along which memory is contiguous have at least this length, they are reduced first, even if other reduced axes are longer.
inline constexpr std::int64_t kWholeRows = 256;
/// Points along each side of a block's tile of a matrix product, and the fewest for which a tile is worth a block.
inline constexpr std::int64_t kSide = 64, kMinSide = 16;
/// The number of products that are added up before a partial sum is stored.
inline constexpr std::int64_t kMinProducts = 256;
/// The maximum number of pieces of one reduction.
inline constexpr int kMaxPieces = 1024;

// --- rows and columns that are merged online ---------------------------------------------------------------------------------
/// Shorter pieces leave more to merge than they save.
inline constexpr std::int64_t kShortPiece = 256;
/// The maximum number of nodes that are searched for the reduction (a mean, a maximum) on which another reduction of the same row depends.
inline constexpr std::size_t kMaxLookedAt = 32;

// --- registers of a GPU's thread -----------------------------------------------------------------------------------------------
/// The maximum number of registers in which a thread stages its part of a row or column.
inline constexpr int kStagedRegisters = 32;
/// Returns how many points of a column each warp of a block stages. A block has `warps` warps, which share adjacent columns, and a point takes `registers`
/// registers. With 32 warps a thread has 64 registers. If every point is stored, each step also holds an address, so half as many points are staged.
constexpr int column_steps(int warps, int registers, bool stores) { return (warps == 32 && stores ? kStagedRegisters / 2 : kStagedRegisters) / registers; }
/// Returns the longest column, with one register for a point, that a block stages. `stores`: every point is stored after the reductions.
constexpr int longest_column(bool stores) {
  int longest = 0;
  for (const int warps : {8, 16, 32}) longest = std::max(longest, warps * column_steps(warps, 1, stores));
  return longest;
}
/// The number of points in a piece of a column: as many as eight warps stage.
inline constexpr std::int64_t kColumnPiece = 8 * column_steps(8, 1, false);
/// The maximum number of registers for vectors of more than four elements: a multiprocessor then has registers for one and a half blocks of 256 threads.
inline constexpr int kVectorRegisters = 160;
/// The maximum number of registers for the staged part of a row and all other live values: a multiprocessor then holds two blocks of 256 threads.
inline constexpr int kRowRegisters = 96;
/// The number of registers of a thread that stages its part of a column.
inline constexpr int kRegistersOfColumn = 64;
/// The maximum number of registers for the accumulators of a thread in a contraction.
inline constexpr int kAccumulators = 96;
/// Registers of a multiprocessor, all of which one block may take (CUDA C++ Programming Guide, technical specifications).
inline constexpr int kRegistersOfBlock = 65536;

// --- the shape of a GPU's blocks -------------------------------------------------------------------------------------------------
/// The number of bytes that a thread can read or write at once.
inline constexpr int kVectorBytes = 16;
/// The minimum number of lanes that share a row.
inline constexpr int kMinLanes = 8;
/// The maximum number of steps of a thread over a row that is staged in registers.
inline constexpr int kMaxSteps = 32;
/// The minimum number of threads that share a row for which a warp is not enough.
inline constexpr int kMinRowThreads = 64;
/// With at least this many rows per multiprocessor, 64 threads per row are enough to keep the GPU busy.
inline constexpr int kManyRows = 32;
/// The minimum number of points of a row for each block of a cluster, if there are so few rows that most multiprocessors would otherwise be idle.
inline constexpr std::int64_t kMinPart = 4096;
/// Columns that a warp computes side by side, and the fewest steps of a warp over a column for which further warps are worth it.
inline constexpr int kWarpOfColumns = 32, kStepsOfWarp = 4;
/// Points along each side of a transposing tile.
inline constexpr int kTileSide = 32;
/// The minimum number of points along an axis of a contraction's tile, half of the smallest tile.
inline constexpr std::int64_t kMinTileSide = 16;
/// The minimum number of row points for which a contraction with too few blocks is split.
inline constexpr std::int64_t kLongContraction = 4096;

}  // namespace sinter::costs
