// How a launch is divided between threads. The pieces never cut what is combined, so results do not depend on them.
#pragma once
#include <cstdint>
#include <span>

#include "jit/loop_nest.hpp"

namespace sinter::runtime {

/// A launch's iteration space as jit::CpuEntry sees it, and the grid of pieces it is divided into: piece k covers outer points
/// from (k / inner_pieces) * outer_step and inner points from (k % inner_pieces) * inner_step.
struct Partition {
  std::int64_t outer = 1, inner = 1;            // points
  std::int64_t outer_step = 1, inner_step = 1;  // points of a piece
  std::int64_t outer_pieces = 0, inner_pieces = 0;
  std::int64_t pieces() const { return outer_pieces * inner_pieces; }
};

/// Pieces of the vector axis are multiples of this, so that every piece but the last is made of whole vectors and tiles.
inline constexpr std::int64_t kInnerUnit = 1024;
/// The same where each point of that axis has a column of row points to go through: whole vectors, and a few lines of each row.
inline constexpr std::int64_t kColumnUnit = 64;

Partition partition(const jit::LoopNest& nest, std::span<const std::int64_t> ints, int threads);

/// Points of the row axes together.
std::int64_t row_points(const jit::LoopNest& nest, std::span<const std::int64_t> ints);

}  // namespace sinter::runtime
