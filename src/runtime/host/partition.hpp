// The division of a launch between threads. Elements that are combined with each other are always in one piece, so results do not depend on the division.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/points.hpp"

namespace sinter::runtime {

/// A launch's iteration space in the form of jit::CpuEntry, divided into a grid of pieces. Piece k covers the outer points from (k / inner_pieces) * outer_step
/// on, and the inner points from (k % inner_pieces) * inner_step on.
struct Partition {
  std::int64_t outer = 1, inner = 1;            // points
  std::int64_t outer_step = 1, inner_step = 1;  // number of points of a piece
  std::int64_t outer_pieces = 0, inner_pieces = 0;
  std::int64_t pieces() const { return outer_pieces * inner_pieces; }
};

/// Pieces of the vector axis are multiples of this size, so that every piece but the last consists of whole vectors and tiles.
inline constexpr std::int64_t kInnerUnit = 1024;
/// The unit if each point of that axis has its own column of row points: whole vectors, and a few cache lines of each row.
inline constexpr std::int64_t kColumnUnit = 64;

Partition partition(const jit::LoopNest& nest, std::span<const std::int64_t> ints, int threads);

/// A range of the outer and of the inner points.
struct Ranges {
  std::int64_t outer_begin, outer_end, inner_begin, inner_end;
};
/// Returns the points of a box in pieces that are no larger than those of all points.
std::vector<Ranges> pieces_of(const jit::Box& box, const jit::LoopNest& nest, std::span<const std::int64_t> ints, int threads);

/// Returns the number of points of the row axes together.
std::int64_t row_points(const jit::LoopNest& nest, std::span<const std::int64_t> ints);

}  // namespace sinter::runtime
