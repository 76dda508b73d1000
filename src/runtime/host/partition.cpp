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

/// The maximum number of operations of a piece, about a quarter of a second's work. An interrupt takes effect between two pieces.
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
  // Work below one grain is finished before another thread would wake up.
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

std::vector<Ranges> pieces_of(const jit::Box& box, const jit::LoopNest& nest, std::span<const std::int64_t> ints, int threads) {
  const Partition all = partition(nest, ints, threads);
  std::vector<std::pair<std::int64_t, std::int64_t>> outer{{0, 1}};  // consecutive points of the axes so far
  std::pair<std::int64_t, std::int64_t> inner{0, 1};
  for (int axis = 0; axis < nest.parallel; ++axis) {
    const auto& [begin, end] = box[static_cast<std::size_t>(axis)];
    const std::int64_t size = ints[static_cast<std::size_t>(axis)];
    if (axis == nest.lane_axis()) {
      inner = {begin, end};
      continue;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> finer;
    for (const auto& [first, last] : outer) {
      if (begin == 0 && end == size) finer.emplace_back(first * size, last * size);
      else
        for (std::int64_t k = first; k < last; ++k) finer.emplace_back(k * size + begin, k * size + end);
    }
    outer = std::move(finer);
  }
  std::vector<Ranges> pieces;
  for (const auto& [first, last] : outer)
    for (std::int64_t k = first; k < last; k += all.outer_step)
      for (std::int64_t i = inner.first; i < inner.second; i += all.inner_step)
        pieces.push_back({k, std::min(k + all.outer_step, last), i, std::min(i + all.inner_step, inner.second)});
  return pieces;
}

}  // namespace sinter::runtime
