#include "runtime/host/partition.hpp"

#include <algorithm>

#include "sinter/whole.hpp"

namespace sinter::runtime {
namespace {

double work_per_point(const jit::LoopNest& nest, std::int64_t row_points) {
  double once = 1, row = 0;
  for (const auto& instr : nest.instrs) {
    const double cost = instr.kind == jit::Instr::Kind::op ? trace::primitive(instr.op).cost : 1;
    (instr.row ? row : once) += cost;
  }
  return once + row * static_cast<double>(row_points);
}

/// Most operations of a piece, about a quarter of a second's work. An interrupt takes effect between two pieces.
constexpr double kLongestPiece = 0x1p29;

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

std::int64_t row_points(const jit::LoopNest& nest, std::span<const std::int64_t> ints) {
  std::int64_t points = 1;
  for (int axis = nest.parallel; axis < nest.axes(); ++axis) points *= ints[axis];
  return points;
}

Partition partition(const jit::LoopNest& nest, std::span<const std::int64_t> ints, int threads) {
  Partition p;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? p.inner : p.outer) *= ints[axis];
  if (p.outer == 0 || p.inner == 0) return p;
  p.outer_step = p.outer;
  p.inner_step = p.inner;
  p.outer_pieces = p.inner_pieces = 1;
  const double work = work_per_point(nest, row_points(nest, ints)) * static_cast<double>(p.outer) * static_cast<double>(p.inner);
  // Work below one grain is finished sooner than another thread wakes up.
  const double grain = nest.schedule.grain * 1024.0;
  const std::int64_t for_threads =
      threads <= 1 || work < grain ? 1 : std::min(static_cast<std::int64_t>(threads) * nest.schedule.pieces, detail::saturated(work / (grain / 2)));
  const std::int64_t wanted = std::max(for_threads, detail::saturated(work / kLongestPiece));
  if (wanted <= 1) return p;
  p.outer_step = divide_up(p.outer, std::min(p.outer, wanted));
  p.outer_pieces = divide_up(p.outer, p.outer_step);
  if (p.outer_pieces < wanted) {
    const std::int64_t unit = nest.rows > 0 ? kColumnUnit : kInnerUnit;
    p.inner_step = divide_up(divide_up(p.inner, divide_up(wanted, p.outer_pieces)), unit) * unit;
    p.inner_pieces = divide_up(p.inner, p.inner_step);
  }
  return p;
}

}  // namespace sinter::runtime
