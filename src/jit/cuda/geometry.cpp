#include "jit/cuda/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sinter/errors.hpp"

namespace sinter::jit::cuda {
namespace {

void mark_index(const LoopNest& nest, int index, std::vector<bool>& ints, std::vector<bool>& seen) {
  if (seen[index]) return;
  seen[index] = true;
  auto mark = [&](int parameter) {
    if (parameter >= 0) ints[parameter] = true;
  };
  mark(nest.indices[index].constant);
  for (const Index::Term& term : nest.indices[index].terms) {
    mark(term.coeff);
    if (term.inner < 0) continue;
    mark(term.div);
    mark(term.mod);
    mark_index(nest, term.inner, ints, seen);
  }
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

void check_promises(const LoopNest& nest, std::span<const std::int64_t> ints, std::int64_t points, std::int64_t row) {
  const Schedule& schedule = nest.schedule;
  const std::int64_t walked = ints[nest.lane_axis()];
  const auto* pointwise = std::get_if<PointwiseForm>(&schedule.form);
  if (schedule.vector > 1 && !(pointwise && pointwise->tail) && points > 0 && walked % schedule.vector != 0)
    throw InternalError(
        fmt::format("kernel {}: axis {} of size {} is not a multiple of its vectors of {}", nest.name, nest.lane_axis(), walked, schedule.vector));
  if (const Steps steps = schedule.steps(); steps.count > 0) {
    const auto* rows = std::get_if<RowsForm>(&schedule.form);
    const std::int64_t held = steps.count * (rows ? rows->cluster * rows->row_threads * schedule.vector : schedule.threads / kWarp);
    if (steps.whole ? row != held : row > held) throw InternalError(fmt::format("kernel {}: rows of {} points, but its threads hold {}", nest.name, row, held));
    if (steps.whole && nest.chunk_axis >= 0 && ints[nest.chunk_total] % row != 0)
      throw InternalError(fmt::format("kernel {}: {} points are not in pieces of {}", nest.name, ints[nest.chunk_total], row));
  }
  constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max();
  if (schedule.wide_index) return;
  for (int i : used_ints(nest))
    if (ints[i] > limit || ints[i] < -limit) throw InternalError(fmt::format("kernel {}: parameter {} is {}: more than 32 bits", nest.name, i, ints[i]));
  if (points > limit || row > limit)
    throw InternalError(fmt::format("kernel {}: {} points of {} row points, but the kernel counts in 32 bits", nest.name, points, row));
}

}  // namespace

std::vector<int> used_ints(const LoopNest& nest) {
  std::vector<bool> used(nest.ints.size(), false), seen(nest.indices.size(), false);
  std::fill_n(used.begin(), nest.axes(), true);
  if (nest.chunk_total >= 0) used[nest.chunk_total] = true;
  for (const Access& a : nest.inputs) mark_index(nest, a.index, used, seen);
  for (const Access& a : nest.outputs) mark_index(nest, a.index, used, seen);
  for (const Instr& instr : nest.instrs)
    if (instr.kind == Instr::Kind::index) mark_index(nest, instr.input, used, seen);
  std::vector<int> list;
  for (int i = 0; i < static_cast<int>(used.size()); ++i)
    if (used[i]) list.push_back(i);
  return list;
}

int parameter_bytes(const LoopNest& nest) {
  std::size_t bytes = 8 * (nest.inputs.size() + nest.outputs.size() + (nest.checks > 0));
  bytes += (nest.schedule.wide_index ? 8 : 4) * used_ints(nest).size();
  for (const Scalar& s : nest.scalars) {
    const std::size_t size = itemsize(s.dtype);
    bytes = (bytes + size - 1) / size * size + size;
  }
  return static_cast<int>(bytes);
}

Geometry geometry(const LoopNest& nest, std::span<const std::int64_t> ints, int sm_count) {
  const std::int64_t points = product(ints.first(nest.parallel));
  const std::int64_t row = product(ints.subspan(nest.parallel, nest.rows));
  check_promises(nest, ints, points, row);

  const Schedule& schedule = nest.schedule;
  const bool two_dimensions = schedule.is<ColumnsForm>() || schedule.is<TilesForm>();
  Geometry g;
  g.block_x = static_cast<unsigned>(two_dimensions ? kWarp : schedule.threads);
  g.block_y = static_cast<unsigned>(two_dimensions ? schedule.threads / kWarp : 1);
  std::int64_t blocks = 0;
  if (const auto* pairs = std::get_if<ContractionForm>(&schedule.form)) {
    blocks = 1;
    for (int axis = 0; axis < nest.parallel; ++axis) {
      const std::int64_t size = ints[static_cast<std::size_t>(axis)];
      blocks *= axis == pairs->left || axis == pairs->right ? (size + pairs->side - 1) / pairs->side : size;
    }
  } else if (schedule.is<TilesForm>()) {
    const auto tiles = [&](int axis) { return (ints[static_cast<std::size_t>(axis)] + kWarp - 1) / kWarp; };
    blocks = product(ints.first(nest.parallel - 2)) * tiles(nest.parallel - 2) * tiles(nest.parallel - 1);
  } else {
    const std::int64_t points_per_block = schedule.is<RowsForm>() ? rows_per_block(schedule) : static_cast<std::int64_t>(g.block_x) * schedule.vector;
    blocks = (points + points_per_block - 1) / points_per_block;
  }
  const int cluster = schedule.cluster();
  const std::int64_t max_blocks = std::max<std::int64_t>(static_cast<std::int64_t>(std::max(sm_count, 1)) * schedule.blocks, cluster);
  g.cluster = static_cast<unsigned>(cluster);
  g.grid = static_cast<unsigned>(std::min(blocks * cluster, max_blocks / cluster * cluster));
  const std::int64_t vectors = static_cast<std::int64_t>(cluster) * schedule.vector;
  const std::int64_t part = cluster > 1 ? (row + vectors - 1) / vectors * schedule.vector : row;
  if (schedule.steps().count == 0)
    for (DType buffer : nest.persistent) g.shared += (static_cast<std::size_t>(part) * itemsize(buffer) + 15) / 16 * 16;
  if (schedule.is<RowsForm>()) g.shared *= static_cast<std::size_t>(rows_per_block(schedule));
  return g;
}

}  // namespace sinter::jit::cuda
