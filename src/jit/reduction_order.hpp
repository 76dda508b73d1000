// The order in which the CPU combines the points of a row: a function of the nest's structure and sizes alone, the same for
// compiled kernels and for the interpreter, on every processor and for any number of threads.
//
//   A step combines neighbouring row points into as many accumulators ("lanes") as it has points: where lanes walk the last
//   row axis, point j of that axis goes to lane j % L, so that a step is L points, or the fewer that an axis ends with; where
//   lanes walk a parallel axis, each has its own row and a step is one row point. Steps follow one another as the row axes are
//   walked, the last one fastest.
//   64 steps make a block, 64 blocks make a run: steps are combined into the block, finished blocks into the run, finished runs
//   into the total, each one starting from the neutral element. So the rounding errors of a sum grow with three numbers of at
//   most 64 instead of with their product. Only operations that round have blocks and runs.
//   At the end lanes are combined as a tree: lane i with lane i + L/2, then i + L/4, ...
//
//   A scan along lanes takes a vector of 64 bytes at a time, points that are not there being the neutral element: each lane is combined with the
//   lane 1, 2, 4, ... before it, and what the row had come to with each of them. Across lanes it takes one row point after the other.
#pragma once
#include "jit/loop_nest.hpp"

namespace sinter::jit {

/// Steps to a block and blocks to a run.
inline constexpr int kBlockSteps = 64;
inline constexpr int kRunSteps = kBlockSteps * kBlockSteps;

/// No step has more lanes.
inline constexpr int kMostLanes = 64;

/// Lanes of a row stage whose row axis the lanes walk (L above), a power of two. Where floating-point numbers are combined: four vectors
/// of 64 bytes of their type, the widest of several, whatever is computed before; of other results no order shows.
int row_lanes(const LoopNest& nest, const Stage& stage);
/// Lanes of a step of its scans: a vector of 64 bytes of what the floating-point ones carry.
int scan_lanes(const LoopNest& nest, const Stage& stage);
/// Points that a compiled kernel computes at once, a part of a step or a whole one: one, two or four vectors of 64 bytes of the stage's
/// widest type, fewer for a longer body, which needs the registers itself.
int body_lanes(const LoopNest& nest, const Stage& stage);

/// Whether the reduction has blocks and runs: a sum or product of floating-point numbers.
bool rounds(Op reduction, DType dtype);

/// Whether the stage's results may be known before the row ends, and nothing else is done there: one true decides any, one false all, and
/// the first place is decided by the first hit.
bool may_end_early(const LoopNest& nest, const Stage& stage);
/// Of the least of where(hit, place, bound), the places ascending along the row, the bound, a literal: as soon as
/// something is less than it, all that follows is more. -1 for another reduction.
int bound_of_first_place(const LoopNest& nest, const Reduction& reduction);
/// Steps of a row after which a compiled kernel asks whether they are known.
inline constexpr int kUndecidedSteps = 16;

/// Cost of the stage's operations, in units of one addition.
int cost_of(const LoopNest& nest, const Stage& stage);
/// Bytes of the widest element that the nest computes with.
int widest_element(const LoopNest& nest);

}  // namespace sinter::jit
