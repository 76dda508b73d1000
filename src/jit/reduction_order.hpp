// The order in which the CPU combines the points of a row. It depends only on the nest's structure and sizes, and is the same for compiled kernels and the
// interpreter, on every processor and for any number of threads.
//
// A step combines neighbouring row points into as many accumulators ("lanes") as it has points. If the nest is vectorised along the last row axis, point j of
// that axis goes to lane j % L, so that a step is L points, or fewer at the end of the axis. If it is vectorised along a parallel axis, each lane has its own
// row and a step is one row point. Steps follow the order of the row points, the last axis fastest. 64 steps make a block and 64 blocks make a run: steps are
// combined into the block, finished blocks into the run, and finished runs into the total. Block, run and total start from the neutral element. The rounding
// error of a sum thus grows with the sum of three numbers of about 64, instead of with their product. Only operations that round have blocks and runs. At the
// end lanes are combined as a tree: lane i with lane i + L/2, then i + L/4, ...
//
// A scan along lanes takes a vector of 64 bytes at a time, with the neutral element for missing points: each lane is combined with the lane 1, 2, 4, ... before
// it, then the row's running value with each lane. A scan across lanes takes one row point after the other.
#pragma once
#include "jit/loop_nest.hpp"

namespace sinter::jit {

/// The number of steps of a block, and of a run, which has 64 blocks.
inline constexpr int kBlockSteps = 64;
inline constexpr int kRunSteps = kBlockSteps * kBlockSteps;

/// The maximum number of lanes of a step.
inline constexpr int kMaxLanes = 64;

/// Returns the lanes of a row stage that is vectorised along a row axis (L above), a power of two. For reductions of floating-point numbers, it is four vectors
/// of 64 bytes of the widest such type, whatever is computed before. Other results do not depend on the order.
int row_lanes(const LoopNest& nest, const Stage& stage);
/// Returns the lanes of a step of the stage's scans: a vector of 64 bytes of the type in which floating-point scans accumulate.
int scan_lanes(const LoopNest& nest, const Stage& stage);
/// Returns the points that a compiled kernel computes at once, a part of a step or a whole one: one, two or four vectors of 64 bytes of the stage's widest
/// type. A longer body computes fewer points at once, because it needs the registers for its values.
int body_lanes(const LoopNest& nest, const Stage& stage);

/// Returns whether the reduction has blocks and runs, which is true for sums and products of floating-point numbers.
bool rounds(Op reduction, DType dtype);

/// Returns whether the stage's results may be known before the row ends and the stage does nothing else: one true decides any(), one false decides all(), and
/// the first hit decides the first position.
bool may_end_early(const LoopNest& nest, const Stage& stage);
/// Returns the instruction of `bound` for the minimum of where(hit, position, bound), with positions that ascend along the row and a literal bound: once the
/// minimum is less than the bound, all later positions are greater. Returns -1 for another reduction.
int bound_of_first_place(const LoopNest& nest, const Reduction& reduction);
/// The number of steps of a row after which a compiled kernel tests whether the results are known.
inline constexpr int kUndecidedSteps = 16;

/// Returns the cost of the stage's operations, in units of one addition.
int cost_of(const LoopNest& nest, const Stage& stage);
/// Returns the bytes of the widest element in the nest's computations.
int widest_element(const LoopNest& nest);

}  // namespace sinter::jit
