// The constants that decide plans and schedules, each with its reason. What a device has (its memory, its units, its speeds) is in limits.hpp.
// docs/decisions.md holds the measurements behind those that were measured.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sinter::costs {

// --- fusion groups -------------------------------------------------------------------------------------------------------
/// Axes split in one group. Each split begins the group anew.
inline constexpr int kMaxSplits = 8;
/// Distinct divisions and remainders of one element's index. Beyond this a copy through memory is cheaper than computing it.
inline constexpr int kMaxDivisions = 12;
/// A value that costs less than this, in cheap operations, is computed again in a later pass. A persistent buffer costs about a store and a load.
inline constexpr double kKeepCost = 4;
/// A formula of more ops than the first that more kernels than the second would compute, each for itself, is materialised before any of them is
/// built. Otherwise the work of planning would grow with both.
inline constexpr int kLongFormula = 16;
inline constexpr std::size_t kManyKernels = 4;
/// Ops that one consumer alone needs, or that cost less than a read from memory, go along into a later segment: at most so many, of at most this cost.
inline constexpr int kLightOps = 16;
inline constexpr double kLightCost = 8;

// --- bounds on the work of planning ----------------------------------------------------------------------------------------
/// Nodes looked at for one that is better read from memory.
inline constexpr std::size_t kMaxCandidates = 48;
/// Times that shared values are materialised and all is scheduled again.
inline constexpr int kMaxRounds = 3;
/// Groups, and reads, looked at to find out whether a merged group would wait for itself.
inline constexpr int kMaxBetween = 256, kMaxReads = 2048;
/// A further reader of a node is tried with so many of the groups that read it, the latest first.
inline constexpr std::size_t kMaxReaders = 3;
/// Merged kernels built in vain for one group.
inline constexpr int kMaxFailures = 12;
/// Touches of one node that are compared when two groups are aligned.
inline constexpr int kMaxPairs = 16;
/// Smaller families of siblings are merged two by two, where each step is weighed on its own.
inline constexpr std::size_t kManySiblings = 8;
/// A sibling that finds nothing in common with those before it is tried again with the next ones, so often.
inline constexpr int kMaxTries = 3;

// --- memory access ---------------------------------------------------------------------------------------------------------
/// Bytes that memory moves at once.
inline constexpr std::int64_t kLine = 64;
/// An axis shorter than this leaves lanes idle.
inline constexpr std::int64_t kLanes = 16;

// --- long reductions, split for work -----------------------------------------------------------------------------------------
/// Shorter reductions are over before a second kernel would start.
inline constexpr std::int64_t kSplitFrom = 131072;
/// A chunk of a long reduction has at least so many elements, and there are at most so many chunks. Both depend on the length alone: same bits everywhere.
inline constexpr std::int64_t kMinChunk = 16384, kMaxChunks = 1024;
/// Blocks of each multiprocessor, at least. While one waits for memory or at a barrier, the other goes on.
inline constexpr int kBlocksWanted = 2;
/// Nodes between a reduction and what lies in memory.
inline constexpr int kLookedThrough = 64;
/// Elements of a block that are worth a further kernel: 256 KiB of float32 take it some 5 us.
inline constexpr std::int64_t kLeastWork = 65536;
/// The shortest piece of a row: two vectors for each of a block's threads.
inline constexpr std::int64_t kLeastPiece = 2048;
/// The shortest piece of a column: eight points for each of a block's eight rows of threads.
inline constexpr std::int64_t kLeastRows = 64;
/// A row along which lanes may walk first, whatever else is reduced.
inline constexpr std::int64_t kWholeRows = 256;
/// Points each way of a block's square of a matrix product, and of a square that is worth a block.
inline constexpr std::int64_t kSide = 64, kLeastSide = 16;
/// Products that are added up before a partial sum goes to memory.
inline constexpr std::int64_t kLeastProducts = 256;
/// Pieces of one reduction.
inline constexpr int kMaxPieces = 1024;

// --- rows and columns that are merged online ---------------------------------------------------------------------------------
/// Shorter pieces leave more to merge than they save.
inline constexpr std::int64_t kShortPiece = 256;
/// Nodes between a centre and the reduction that it comes from.
inline constexpr std::size_t kMaxLookedAt = 32;

// --- registers of a GPU's thread -----------------------------------------------------------------------------------------------
/// A thread stages its part of a row or column in at most so many registers.
inline constexpr int kKeptRegisters = 32;
/// Points of a column that each of so many warps of a block stages, where a point takes so many registers; the columns lie beside each other. Of 32
/// warps a thread has 64 registers. Where every point is stored, each step has an address besides: half as much is staged.
constexpr int column_steps(int warps, int registers, bool stores) { return (warps == 32 && stores ? kKeptRegisters / 2 : kKeptRegisters) / registers; }
/// The longest column of one register a point that a block stages. `stores`: every point is stored after the reductions.
constexpr int longest_column(bool stores) {
  int longest = 0;
  for (const int warps : {8, 16, 32}) longest = std::max(longest, warps * column_steps(warps, 1, stores));
  return longest;
}
/// A piece of a column: what eight warps stage.
inline constexpr std::int64_t kColumnPiece = 8 * column_steps(8, 1, false);
/// Vectors of more than four elements may take so many registers: a multiprocessor then holds a block of 256 threads and half as many again.
inline constexpr int kVectorRegisters = 160;
/// The staged part of a row, and all else that is live at once, take so many registers: a multiprocessor then holds two blocks of 256 threads.
inline constexpr int kRowRegisters = 96;
/// A thread that stages its part of a column has so many registers.
inline constexpr int kRegistersOfColumn = 64;
/// The accumulators of a thread in a contraction take so many registers.
inline constexpr int kAccumulators = 96;
/// A multiprocessor has so many, all of which one block may take (CUDA C++ Programming Guide, technical specifications).
inline constexpr int kRegistersOfBlock = 65536;

// --- the shape of a GPU's blocks -------------------------------------------------------------------------------------------------
/// Bytes that a thread can read or write at once.
inline constexpr int kVectorBytes = 16;
/// Lanes that share a row, at least.
inline constexpr int kLeastLanes = 8;
/// Steps of a thread over a row that is kept in registers.
inline constexpr int kMostSteps = 32;
/// Threads that share a row, where a warp is not enough.
inline constexpr int kFewestOfRow = 64;
/// Rows for each multiprocessor, at 64 threads each, that are many.
inline constexpr int kManyRows = 32;
/// Points of a cluster's block, of a row that few multiprocessors would share otherwise.
inline constexpr std::int64_t kLeastPart = 4096;
/// Columns that a warp walks side by side, and steps of it down a column: fewer are not worth sharing with further warps.
inline constexpr int kWarpOfColumns = 32, kStepsOfWarp = 4;
/// Points of a transposing tile, both ways.
inline constexpr int kSquare = 32;
/// Points along an axis of a contraction's square, half of the smallest one.
inline constexpr std::int64_t kLeastOfSquare = 16;
/// Row points of a contraction that too few blocks would go through one after the other.
inline constexpr std::int64_t kLongOfSquare = 4096;

}  // namespace sinter::costs
