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
/// Distinct divisions and remainders of one element's index. Beyond this a copy through memory is cheaper than computing it.
inline constexpr int kMaxDivisions = 12;
/// A value that costs less than this, in cheap operations, is computed again in a later pass. A persistent buffer costs about a store and a load.
inline constexpr double kKeepCost = 4;
/// An elementwise op, or another gather, is computed at gathered positions if these are at most so many times its elements: reflected padding and overlapping
/// windows repeat some.
inline constexpr std::int64_t kGatheredAgain = 2;
/// A formula with more ops than the first number, which more kernels than the second would each compute, is materialised before any of them is built. Otherwise
/// planning would take time proportional to both.
inline constexpr int kLongFormula = 16;
inline constexpr std::size_t kManyKernels = 4;
/// Ops that only one consumer needs, or that cost less than a read from memory, move to a later segment: at most so many, of at most this cost.
inline constexpr int kLightOps = 16;
inline constexpr double kLightCost = 8;

// --- bounds on the work of planning ----------------------------------------------------------------------------------------
/// The maximum number of nodes that are examined for one that should rather be read from memory.
inline constexpr std::size_t kMaxCandidates = 48;
/// The maximum number of rounds in which shared values are materialised and all is scheduled again.
inline constexpr int kMaxRounds = 3;
/// The maximum number of groups, and reads, that are examined to find out whether a merged group would depend on itself.
inline constexpr int kMaxBetween = 256, kMaxReads = 2048;
/// A further reader of a node is tried with so many of the groups that read it, the latest first.
inline constexpr std::size_t kMaxReaders = 3;
/// The maximum number of merged kernels that are built for one group and then discarded.
inline constexpr int kMaxFailures = 12;
/// The maximum number of touches of one node that are compared when two groups are aligned.
inline constexpr int kMaxPairs = 16;
/// Smaller families of siblings are merged two by two, where each step is weighed on its own.
inline constexpr std::size_t kManySiblings = 8;
/// A sibling that has nothing in common with those before it is tried again with the next ones, so many times.
inline constexpr int kMaxTries = 3;

// --- sorts and scatters -------------------------------------------------------------------------------------------------------
/// Cheap operations for a pair of elements of a row that is sorted, and for an element and an index, where all are compared.
inline constexpr double kSortedPair = 10, kMatchedPair = 3;

/// The longest sum of a product whose transposition moves into the operands on a CPU. Its library packs transposed operands more slowly, which then costs more
/// than the result's way through memory.
inline constexpr std::int64_t kShallowProduct = 128;

// --- memory access ---------------------------------------------------------------------------------------------------------
/// Bytes that memory moves at once.
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
/// Elements of a block that are worth another kernel: reading 256 KiB of float32 takes a block some 5 us.
inline constexpr std::int64_t kMinWork = 65536;
/// The shortest piece of a row: two vectors for each of a block's threads.
inline constexpr std::int64_t kMinPiece = 2048;
/// The shortest piece of a column: eight points for each of a block's eight rows of threads.
inline constexpr std::int64_t kMinRows = 64;
/// A row of this length may be vectorised first, whatever else is reduced.
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
/// The maximum number of nodes between a centre and the reduction from which it comes.
inline constexpr std::size_t kMaxLookedAt = 32;

// --- registers of a GPU's thread -----------------------------------------------------------------------------------------------
/// The maximum number of registers in which a thread stages its part of a row or column.
inline constexpr int kStagedRegisters = 32;
/// Returns how many points of a column each of so many warps of a block stages, with so many registers for a point and with columns beside each other. With 32
/// warps a thread has 64 registers. If every point is stored, each step also holds an address, so half as many points are staged.
constexpr int column_steps(int warps, int registers, bool stores) { return (warps == 32 && stores ? kStagedRegisters / 2 : kStagedRegisters) / registers; }
/// Returns the longest column, with one register for a point, that a block stages. `stores`: every point is stored after the reductions.
constexpr int longest_column(bool stores) {
  int longest = 0;
  for (const int warps : {8, 16, 32}) longest = std::max(longest, warps * column_steps(warps, 1, stores));
  return longest;
}
/// Points in a piece of a column: as many as eight warps stage.
inline constexpr std::int64_t kColumnPiece = 8 * column_steps(8, 1, false);
/// The maximum number of registers with vectors of more than four elements: a multiprocessor then holds a block of 256 threads and half of another.
inline constexpr int kVectorRegisters = 160;
/// The maximum number of registers for the staged part of a row and all other live values: a multiprocessor then holds two blocks of 256 threads.
inline constexpr int kRowRegisters = 96;
/// Registers of a thread that stages its part of a column.
inline constexpr int kRegistersOfColumn = 64;
/// The maximum number of registers for the accumulators of a thread in a contraction.
inline constexpr int kAccumulators = 96;
/// Registers of a multiprocessor, all of which one block may take (CUDA C++ Programming Guide, technical specifications).
inline constexpr int kRegistersOfBlock = 65536;

// --- the shape of a GPU's blocks -------------------------------------------------------------------------------------------------
/// Bytes that a thread can read or write at once.
inline constexpr int kVectorBytes = 16;
/// The minimum number of lanes that share a row.
inline constexpr int kMinLanes = 8;
/// The maximum number of steps of a thread over a row that is staged in registers.
inline constexpr int kMaxSteps = 32;
/// The minimum number of threads that share a row for which a warp is not enough.
inline constexpr int kMinRowThreads = 64;
/// Rows for each multiprocessor, at 64 threads each, from which on there are many.
inline constexpr int kManyRows = 32;
/// The minimum number of points of a cluster's block for a row that few multiprocessors would share otherwise.
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
