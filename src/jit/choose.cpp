#include "jit/choose.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

#include "fuse/arrange.hpp"
#include "fuse/costs.hpp"
#include "jit/contraction.hpp"
#include "jit/reduction_order.hpp"

namespace sinter::jit {

using namespace costs;
namespace {

using fuse::Kernel;
using fuse::Value;

// ---- the limits of a schedule override

// Returns whether a CPU may combine rows in any order. The order is part of the result wherever combining rounds or tells equal values apart.
bool combines_in_any_order(const Kernel& kernel) {
  return std::none_of(kernel.values.begin(), kernel.values.end(), [](const Value& v) {
    const bool plain = v.op == trace::Op::reduce_sum || v.op == trace::Op::reduce_prod || v.op == trace::Op::reduce_min || v.op == trace::Op::reduce_max;
    return v.kind == Value::Kind::scan || (v.kind == Value::Kind::reduced && (!plain || is_floating(v.dtype)));
  });
}

bool may_take(const Kernel& kernel, const std::vector<int>& chosen, const std::vector<int>& requested, bool one_order) {
  std::vector<int> usual(kernel.sizes.size());
  std::iota(usual.begin(), usual.end(), 0);
  const auto rows = usual.begin() + kernel.parallel;
  if (requested.size() != usual.size() || !std::is_permutation(usual.begin(), rows, requested.begin()) ||
      !std::is_permutation(rows, usual.end(), requested.begin() + kernel.parallel))
    return false;
  if (kernel.chunks.length > 0 && requested[0] != 0) return false;
  const bool same_rows = std::equal(requested.begin() + kernel.parallel, requested.end(), chosen.begin() + kernel.parallel);
  return same_rows || (!fuse::has_scan(kernel) && (!one_order || combines_in_any_order(kernel)));
}

int threads_of(const ScheduleOverride& overrides, int otherwise, int bound) { return std::clamp(overrides.number("threads", otherwise) / 32 * 32, 32, bound); }

int power_of_two(int value, int limit) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(std::min(value, limit)))); }

// ---- CPU

bool may_tile(const LoopNest& nest) { return nest.rows == 0 && nest.parallel >= 2; }

constexpr std::int64_t kLanes = 16;  // of the widest vectors

/// Returns the number of lanes in a row for which no division or remainder in the index jumps.
std::int64_t even_lanes(const LoopNest& nest, int index) {
  std::int64_t lanes = std::numeric_limits<std::int64_t>::max();
  for (const Index::Term& term : nest.indices[static_cast<std::size_t>(index)].terms) {
    if (term.inner < 0 || !depends_on(nest, term.inner, nest.lane_axis())) continue;
    lanes = std::min(lanes, even_lanes(nest, term.inner));
    for (const int number : {term.div, term.mod})
      if (number >= 0) lanes = std::min(lanes, nest.ints[static_cast<std::size_t>(number)]);
  }
  return lanes;
}

// Returns whether neighbouring points of the axis before the lanes use the same cache lines of an access that has a stride along the lanes.
bool shares_lines(const LoopNest& nest, const Access& access) {
  constexpr std::int64_t kLine = 64;
  const int down = coefficient(nest, access.index, nest.lane_axis() - 1);
  const std::int64_t stride = down == kOne ? 1 : down >= 0 ? std::abs(nest.ints[static_cast<std::size_t>(down)]) : kLine;
  return walks_apart(nest, access) && stride * static_cast<std::int64_t>(itemsize(access.dtype)) < kLine;
}

template <class Test> bool any_access(const LoopNest& nest, Test test) {
  return std::any_of(nest.inputs.begin(), nest.inputs.end(), test) || std::any_of(nest.outputs.begin(), nest.outputs.end(), test);
}

// Tiles use whole cache lines, or at least compute the positions along the lanes once for several rows. The latter does not pay if most vectors lie between two
// jumps of the positions, because rows evict each other's lines.
bool gains_from_tiles(const LoopNest& nest) {
  return may_tile(nest) && any_access(nest, [&](const Access& access) {
           const std::int64_t lanes = even_lanes(nest, access.index);
           const bool long_pieces = lanes >= 2 * kLanes && lanes < std::numeric_limits<std::int64_t>::max() && !uses_values(nest, access.index);
           return walks_apart(nest, access) && (shares_lines(nest, access) || !long_pieces);
         });
}

// Returns the number of points of a short axis, if there are accesses whose elements of neighbouring lanes are as far apart and these points between them; else
// 0.
int thin_points(const LoopNest& nest, int axis) {
  const std::int64_t points = nest.ints[static_cast<std::size_t>(axis)];
  const auto thin = [&](const Access& access) {
    const int along = coefficient(nest, access.index, nest.lane_axis());
    return !is_bool(access.dtype) && coefficient(nest, access.index, axis) == kOne && along >= 0 && nest.ints[static_cast<std::size_t>(along)] == points;
  };
  return points > 1 && points <= kMaxThin && any_access(nest, thin) ? static_cast<int>(points) : 0;
}

// Returns whether several rows may be read at once: the kernel is vectorised along a parallel axis.
bool may_panel(const LoopNest& nest) {
  const auto scans = [&](const Stage& stage) { return has_scan(nest, stage); };
  return !nest.schedule.lanes_along_rows() && nest.rows == 1 && nest.persistent.empty() && nest.chunk_axis != nest.lane_axis() &&
         std::none_of(nest.stages.begin(), nest.stages.end(), scans);
}

// Returns whether panels are faster: memory is fast only along the lanes' axis.
bool gains_from_panels(const LoopNest& nest) {
  if (thin_points(nest, nest.axes() - 1) > 0) return false;
  if (std::count_if(nest.stages.begin(), nest.stages.end(), [](const Stage& stage) { return stage.row; }) == 1) return true;
  // If a few columns of all rows fit into a cache, they are still there for the next stage. Wide panels evict them.
  constexpr std::int64_t kLarge = 8 << 20, kFew = 64;
  const std::int64_t columns = nest.ints[static_cast<std::size_t>(nest.lane_axis())], rows = nest.ints[static_cast<std::size_t>(nest.parallel)];
  const auto apart = [&](const Access& access) { return walks_apart(nest, access); };
  return columns > kFew && columns * rows * widest_element(nest) >= kLarge && !any_access(nest, apart);
}

// Returns the short_rows of a schedule: a limit that many lengths share, so that one compiled kernel serves them.
int short_rows(const LoopNest& nest) {
  const std::int64_t points = nest.ints[static_cast<std::size_t>(nest.parallel)];
  if (nest.rows > 1) return 0;
  for (const int limit : kShortRows)
    if (points <= limit) return limit;
  return 0;
}

void choose_cpu_part(const LoopNest& nest, const ScheduleOverride& overrides, Schedule& schedule) {
  if (!schedule.is<RowsForm>()) {
    const bool tiles = may_tile(nest) && (overrides.asks_for<TilesForm>() || (gains_from_tiles(nest) && !overrides.asks_for<PointwiseForm>()));
    const bool panels = may_panel(nest) && (overrides.asks_for<PanelsForm>() || (gains_from_panels(nest) && !overrides.asks_for<ColumnsForm>()));
    if (nest.rows > 0) schedule.form = panels ? Form(PanelsForm()) : ColumnsForm();
    else schedule.form = tiles ? Form(TilesForm()) : PointwiseForm();
  }
  const auto unroll = [&](int otherwise) { return power_of_two(overrides.number("unroll", otherwise), 8); };
  if (auto* pointwise = std::get_if<PointwiseForm>(&schedule.form)) {
    // Several points are computed at once, so that the processor can work on one point while another point's chain of operations waits.
    int cost = 0;
    for (const Stage& stage : nest.stages) cost += cost_of(nest, stage);
    std::int64_t lanes = std::numeric_limits<std::int64_t>::max();
    for (const auto* accesses : {&nest.inputs, &nest.outputs})
      for (const Access& access : *accesses) lanes = std::min(lanes, even_lanes(nest, access.index));
    pointwise->unroll = unroll(static_cast<int>(std::clamp<std::int64_t>(lanes / kLanes, 1, cost <= 8 ? 2 : 4)));
  } else if (auto* tiles = std::get_if<TilesForm>(&schedule.form)) {
    // Where no tile uses whole cache lines, it only saves the computation of positions along the lanes, and more rows would evict each other's lines.
    constexpr int kFewRows = 16;
    const bool lines = any_access(nest, [&](const Access& access) { return shares_lines(nest, access); });
    tiles->tile = overrides.number("tile", lines ? tiles->tile : kFewRows);
    tiles->thin = overrides.number("thin", thin_points(nest, nest.lane_axis() - 1));
    // Tiles write scattered cache lines. Streaming stores avoid both reading lines that are overwritten and evicting each other's lines.
    schedule.stream = 8;
  } else if (auto* columns = std::get_if<ColumnsForm>(&schedule.form)) {
    // Columns without a panel read whole cache lines of each row, and several chains of additions run at once.
    const bool stores_tiles = std::any_of(nest.outputs.begin(), nest.outputs.end(), [&](const Access& a) { return lies_along_rows(nest, a); });
    columns->thin = overrides.number("thin", thin_points(nest, nest.axes() - 1));
    columns->unroll = unroll(stores_tiles || columns->thin > 0 ? 1 : 4);
  } else if (auto* rows = std::get_if<RowsForm>(&schedule.form)) {
    rows->short_rows = overrides.number("short_rows", short_rows(nest));
  } else if (auto* panels = std::get_if<PanelsForm>(&schedule.form)) {
    panels->panel = overrides.number("panel", panels->panel);
    panels->panel_rows = power_of_two(overrides.number("panel_rows", panels->panel_rows), 16);
  }
  schedule.stream = overrides.number("stream", schedule.stream);
  schedule.workspace = overrides.number("workspace", schedule.workspace);
  schedule.grain = overrides.number("grain", schedule.grain);
  schedule.pieces = overrides.number("pieces", schedule.pieces);
}

// ---- CUDA

// The result of choosing a vector width: the accesses that can use vectors of this number of elements.
struct Fit {
  bool good = false;         // most bytes are read and written by vectors
  std::vector<int> singles;  // accesses that cannot use vectors, inputs first
  bool tail = false;         // the last points are fewer than a vector
};

// Decides which accesses can use vectors along `axis`. Counts the accesses at every row point, or (not `rows`) those before and after the rows.
Fit fit(const Lowered& lowered, int lanes, int axis, bool rows) {
  const LoopNest& nest = lowered.nest;
  Fit found;
  if (axis == nest.chunk_axis) return found;  // neighbouring chunks may differ in length
  found.tail = lowered.ints[axis] % lanes != 0;
  if (found.tail && nest.axes() > 1) return found;  // some rows would start within a vector
  // Accesses with a guard or a computed index are read element by element in any case.
  std::vector<char> counts(nest.inputs.size() + nest.outputs.size(), 0), at_every_point = counts;
  for (const auto& instr : nest.instrs) {
    if (instr.kind != Instr::Kind::load || (instr.row && !rows)) continue;
    const auto input = static_cast<std::size_t>(instr.input);
    if (instr.guard < 0 && !uses_values(nest, nest.inputs[input].index)) counts[input] = 1;
    at_every_point[input] |= instr.row == rows;
  }
  for (const Stage& stage : nest.stages)
    for (const Store& store : stage.stores) {
      const std::size_t output = nest.inputs.size() + static_cast<std::size_t>(store.output);
      counts[output] = 1;
      at_every_point[output] |= stage.row == rows;
    }
  std::size_t by_vectors = 0, alone = 0;  // bytes of every point
  for (std::size_t k = 0; k < counts.size(); ++k) {
    if (!counts[k]) continue;
    const bool reads = k < nest.inputs.size();
    const std::size_t number = reads ? k : k - nest.inputs.size();
    const Access& a = (reads ? nest.inputs : nest.outputs)[number];
    const int along = coefficient(nest, a.index, axis);
    if (along == kNone) continue;
    bool whole = along == kOne && (reads ? lowered.input_offsets : lowered.output_offsets)[number] % lanes == 0;
    for (const auto& term : nest.indices[a.index].terms) {
      if (term.axis == axis) continue;
      whole = whole && term.coeff != kOne && lowered.ints[term.coeff] % lanes == 0;
    }
    if (!whole) found.singles.push_back(static_cast<int>(k));
    if (!at_every_point[k]) continue;
    if (along != kOne) return found;  // the elements of neighbouring threads would be even further apart
    (whole ? by_vectors : alone) += itemsize(a.dtype);
  }
  found.good = by_vectors >= alone;
  return found;
}

void choose_vector(const Kernel& kernel, const Lowered& lowered, const ScheduleOverride& overrides, Schedule& schedule) {
  const LoopNest& nest = lowered.nest;
  const auto take = [&](int lanes) {
    Fit found = lanes > 1 ? fit(lowered, lanes, nest.lane_axis(), nest.rows > 0) : Fit{};
    if (!found.good) return false;
    schedule.vector = lanes;
    schedule.singles = std::move(found.singles);
    if (found.tail) schedule.as<PointwiseForm>().tail = true;
    return true;
  };
  if (fuse::has_scan(kernel)) return;
  // Along a row, values that are read or written once for all of it do not count.
  std::size_t widest = 1;
  for (const auto& instr : nest.instrs)
    if (instr.kind == Instr::Kind::load && (instr.row || !nest.schedule.lanes_along_rows()))
      widest = std::max(widest, itemsize(nest.inputs[static_cast<std::size_t>(instr.input)].dtype));
  for (const Stage& stage : nest.stages)
    for (const Store& store : stage.stores)
      if (stage.row || !nest.schedule.lanes_along_rows()) widest = std::max(widest, itemsize(nest.outputs[static_cast<std::size_t>(store.output)].dtype));
  int max_lanes = kVectorBytes / static_cast<int>(widest);
  if (overrides.has("vector")) {
    take(power_of_two(overrides.number("vector", 1), kVectorBytes));
    return;
  }
  while (max_lanes > 4 && fuse::estimated_registers(kernel, max_lanes) > kVectorRegisters) max_lanes /= 2;
  if (nest.schedule.lanes_along_rows())  // a warp needs work for all of its threads
    while (max_lanes > 4 && kernel.row_points() < 32 * max_lanes) max_lanes /= 2;
  if (!take(max_lanes) && max_lanes > 4) take(4);
}

// Returns whether transposing in shared memory helps strided accesses. Several warps share the static 48 KiB, and a tile that is mostly empty is no better than
// strided access.
bool gains_from_tiles(const Lowered& lowered) {
  const LoopNest& nest = lowered.nest;
  std::size_t bytes = 0;
  for (int input : turnable_inputs(nest)) bytes += kTileSide * (kTileSide + 1) * itemsize(nest.inputs[static_cast<std::size_t>(input)].dtype);
  for (int output : turnable_outputs(nest)) bytes += kTileSide * (kTileSide + 1) * itemsize(nest.outputs[static_cast<std::size_t>(output)].dtype);
  const int axis = nest.lane_axis();
  return bytes > 0 && bytes <= (24 << 10) && lowered.ints[axis] >= kTileSide / 2 && lowered.ints[axis - 1] >= kTileSide / 2;
}

// Two parallel axes of a contraction. Axes that fill tiles are preferred, then pairs whose right axis has adjacent results.
struct Pairs {
  int left = -1, right = -1;
  Contraction parts;
};
std::optional<Pairs> pairs_of(const Lowered& lowered, bool requested) {
  const LoopNest& nest = lowered.nest;
  const auto beside = [&](int axis) {
    return std::all_of(nest.outputs.begin(), nest.outputs.end(), [&](const Access& a) { return coefficient(nest, a.index, axis) == kOne; });
  };
  for (const std::int64_t min_size : {std::int64_t{64}, requested ? std::int64_t{1} : kMinTileSide})
    for (const bool neighbours : {true, false})
      for (int right = nest.parallel - 1; right >= 0; --right)
        for (int left = nest.parallel - 1; left >= 0; --left) {
          if (left == right || beside(right) != neighbours) continue;
          auto parts = contraction(nest, left, right);
          if (parts && lowered.ints[left] >= min_size && lowered.ints[right] >= min_size) return Pairs{left, right, std::move(*parts)};
        }
  return std::nullopt;
}

// Chooses the largest tiles that leave a block for every multiprocessor.
bool choose_contraction(const Kernel& kernel, const Lowered& lowered, const fuse::Limits& limits, const ScheduleOverride& overrides, Schedule& schedule) {
  const LoopNest& nest = lowered.nest;
  const bool has_form = overrides.has("form");
  if (nest.parallel < 2 || (has_form && !overrides.asks_for<ContractionForm>())) return false;
  const std::optional<Pairs> pairs = pairs_of(lowered, has_form);
  if (!pairs) return false;
  int registers = 0;
  for (const Stage& stage : nest.stages)
    for (const Reduction& reduction : stage.reductions) registers += fuse::registers_of(nest.instrs[reduction.result].dtype);
  const fuse::Size &left = lowered.ints[pairs->left], &right = lowered.ints[pairs->right];
  const auto blocks = [&](int side) {
    fuse::Size count = ((left + (side - 1)) / side) * ((right + (side - 1)) / side);
    for (int axis = 0; axis < nest.parallel; ++axis)
      if (axis != pairs->left && axis != pairs->right) count = count * lowered.ints[axis];
    return count;
  };
  const auto fits = [&](int side) {
    const int each = side / kContractionSide;
    return registers * each * each <= kAccumulators && contraction_shared(nest, pairs->parts, side) <= limits.shared_bytes;
  };
  const int min_side = 2 * kContractionSide;
  if (!fits(min_side)) return false;
  if (!has_form && kernel.row_points() > kLongContraction && blocks(min_side) * 2 < limits.units) return false;
  int side = 4 * min_side;
  while (side > min_side && !(fits(side) && left * 4 >= 3 * side && right * 4 >= 3 * side && blocks(side) >= limits.units)) side /= 2;
  if (const int other = power_of_two(overrides.number("side", side), 4 * min_side); fits(other)) side = other;
  schedule.form = ContractionForm{side, pairs->left, pairs->right};
  schedule.threads = kContractionThreads;
  const int group = contraction_group(side);
  Fit found = overrides.number("vector", group) == 1 ? Fit{} : fit(lowered, group, pairs->right, false);
  schedule.vector = found.good ? group : 1;
  schedule.singles = found.good ? std::move(found.singles) : std::vector<int>();
  return true;
}

// Chooses blocks of 32 adjacent vectors of columns; the warps of a block share the rows. For few columns, a block gets fewer columns and more warps, so that
// more multiprocessors have work. Cached columns get the widest vectors whose elements the registers of 256 threads hold, then as many threads as needed.
void choose_columns(const Kernel& kernel, const Lowered& lowered, const fuse::Limits& limits, const ScheduleOverride& overrides, int max_threads,
                    Schedule& schedule) {
  const LoopNest& nest = lowered.nest;
  const bool ranges = std::any_of(nest.stages.begin(), nest.stages.end(), [](const Stage& stage) { return stage.first >= 0; });
  if (fuse::has_scan(kernel) || ranges) {  // a column with a scan belongs to one thread, and so does a range, which is short and combined in order
    schedule.threads = kWarpOfColumns;
    return;
  }
  const fuse::Size points = kernel.parallel_points(), row = kernel.row_points();
  std::size_t parts = 0;  // bytes of shared memory for a thread's results, for each column
  for (const Stage& stage : nest.stages)
    for (const Reduction& reduction : stage.reductions) parts += itemsize(nest.instrs[reduction.result].dtype);
  const auto fits = [&](int threads, int vector) { return parts * static_cast<std::size_t>(threads * vector) <= limits.shared_bytes; };
  const auto narrow = [&] {
    Fit found = schedule.vector > 2 ? fit(lowered, schedule.vector / 2, nest.lane_axis(), true) : Fit{};
    schedule.vector = found.good ? schedule.vector / 2 : 1;
    schedule.singles = std::move(found.singles);
  };
  const auto few = [&] {
    const fuse::Estimating estimate;
    return points < limits.units * (kWarpOfColumns * schedule.vector);
  };
  if (!overrides.has("vector"))
    while (schedule.vector > 1 && few()) narrow();
  while (schedule.vector > 1 && !fits(256, schedule.vector)) narrow();
  if (nest.persistent.empty()) {
    schedule.threads = 256;
    const auto deep = [&] {
      const fuse::Estimating estimate;
      return row >= schedule.threads / kWarpOfColumns * kStepsOfWarp;
    };
    while (schedule.threads < max_threads && few() && deep() && fits(2 * schedule.threads, schedule.vector)) schedule.threads *= 2;
    schedule.threads = threads_of(overrides, schedule.threads, max_threads);
    return;
  }
  const bool stores = std::any_of(nest.stages.begin(), nest.stages.end(), [](const Stage& stage) { return stage.row && !stage.stores.empty(); });
  const auto keep = [&](int threads) {
    const int warps = threads / kWarpOfColumns, max_steps = fuse::max_staged_steps(kernel, limits, warps) / schedule.vector;
    const bool smallest = threads == 256 && schedule.vector == 1;
    if (!smallest && fuse::estimated_registers(kernel, schedule.vector) + kStagedRegisters > kRegistersOfBlock / threads) return false;
    if (!fits(threads, schedule.vector) || max_steps == 0 || row > warps * max_steps) return false;
    const std::int64_t exact = row.hint() / warps;
    const auto pieces_are_whole = [&] {
      const auto total = static_cast<std::size_t>(nest.chunk_total);
      return nest.chunk_axis < 0 || trace::is_known_multiple(lowered.ints[total], row);
    };
    auto& [unroll, thin, steps, residents] = schedule.as<ColumnsForm>();
    steps.whole = exact >= 1 && row.hint() == exact * warps && pieces_are_whole() && row == exact * warps;
    steps.count = steps.whole ? static_cast<int>(exact) : 1;
    while (!steps.whole && row > steps.count * warps) steps.count *= 2;
    schedule.threads = threads;
    // Without this bound ptxas would take more registers for addresses, and a multiprocessor would hold half of the blocks.
    const int estimate = fuse::estimated_registers(kernel, schedule.vector, steps.count);
    if (!few() && !stores && steps.whole && estimate <= kRegistersOfColumn) residents = kRegistersOfBlock / kRegistersOfColumn / threads;
    return true;
  };
  if (overrides.has("threads") && keep(threads_of(overrides, 256, limits.threads))) return;
  // If there are few columns, a block gets the most warps: each warp then waits for memory only once.
  if (few() && row > 256 / kWarpOfColumns)
    for (const int threads : {1024, 512})
      if (threads <= limits.threads && keep(threads)) return;
  for (;; narrow()) {
    if (keep(256)) return;
    if (schedule.vector == 1) break;
  }
  for (const int threads : {512, 1024})
    if (threads <= limits.threads && keep(threads)) return;
}

void choose_gpu_part(const fuse::Graph& graph, const Kernel& kernel, const Lowered& lowered, const fuse::Limits& limits, const ScheduleOverride& overrides,
                     Schedule& schedule) {
  const LoopNest& nest = lowered.nest;
  const fuse::Size points = kernel.parallel_points(), row = kernel.row_points();
  // A grid-stride loop may step beyond the end by one grid before it stops. An index that is divided again may be as large as all points together.
  const fuse::Size limit = std::int64_t{1} << 30;
  const bool takes_apart = std::any_of(nest.indices.begin(), nest.indices.end(), [](const Index& index) {
    return std::any_of(index.terms.begin(), index.terms.end(), [](const Index::Term& term) { return term.inner >= 0; });
  });
  schedule.wide_index = takes_apart ? points * row > limit : points > limit || row > limit;
  for (const Index& index : nest.indices) {  // a falling position that was computed has a large constant, so that its remainder is never negative
    const bool computed = std::any_of(index.terms.begin(), index.terms.end(), [](const Index::Term& term) { return term.value >= 0; });
    schedule.wide_index = schedule.wide_index || (computed && index.constant >= 0 && lowered.ints[index.constant] > limit);
  }
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const auto& a : *accesses) schedule.wide_index = schedule.wide_index || element_count(graph.nodes[a.buffer].shape) > limit;
  schedule.blocks = overrides.number("blocks", schedule.blocks);
  const bool ranges = std::any_of(nest.stages.begin(), nest.stages.end(), [](const Stage& stage) { return stage.first >= 0; });
  if (nest.rows > 0 && !ranges && choose_contraction(kernel, lowered, limits, overrides, schedule)) return;
  if (!ranges) choose_vector(kernel, lowered, overrides, schedule);  // each lane of a vector would have a different range

  // Blocks of up to 256 threads fit whatever number of registers the kernel takes. A bound for larger blocks must not make it spill.
  const int registers = fuse::estimated_registers(kernel, schedule.vector);
  const int max_threads = std::min(limits.threads, registers <= 48 ? 1024 : registers <= 96 ? 512 : 256);
  if (nest.rows == 0) {
    const bool gains = gains_from_tiles(lowered), tiles = overrides.asks_for<TilesForm>() ? nest.parallel > 1 : gains && !overrides.asks_for<PointwiseForm>();
    if (tiles) schedule.form = TilesForm(), schedule.vector = 1, schedule.singles.clear();
    // In a tile each thread reads eight elements at once.
    schedule.threads = tiles ? power_of_two(threads_of(overrides, 128, max_threads), 1024) : threads_of(overrides, 256, max_threads);
    return;
  }
  const bool scans = fuse::has_scan(kernel);
  if (!schedule.is<RowsForm>()) {
    choose_columns(kernel, lowered, limits, overrides, max_threads, schedule);
    return;
  }
  auto& rows = schedule.as<RowsForm>();
  const fuse::Size persistent_bytes = schedule.keep ? fuse::persistent_bytes(kernel) : 0;
  // The blocks of a cluster share a row that one block cannot cache. (An override may ask for clusters for other rows.)
  const bool shareable = fuse::max_blocks_of_row(kernel, limits) > 1 && row > 1024;
  if (schedule.keep) rows.cluster = kernel.staging.blocks;
  // Few long rows get more blocks each, as long as this gives work to at least 1.5 times as many multiprocessors.
  if (!nest.persistent.empty() && shareable) {
    const fuse::Estimating estimate;
    while (rows.cluster < limits.cluster && row >= 2 * rows.cluster * kMinPart && points * (3 * rows.cluster) <= 2 * limits.units) rows.cluster *= 2;
  }
  const int requested = power_of_two(overrides.number("cluster", rows.cluster), limits.cluster);
  if (shareable && requested != rows.cluster && fuse::hold(limits, requested, persistent_bytes, static_cast<int>(nest.persistent.size())))
    rows.cluster = requested;
  const int cluster = rows.cluster;
  // A multiprocessor holds the parts of two rows at once where shared memory allows it. Registers must then allow it too.
  bool pairs = false;
  if (cluster > 1) {
    const fuse::Estimating estimate;
    pairs = persistent_bytes <= cluster * (limits.row_bytes / 2 - fuse::kPartsBytes);
  }
  const int max_row_threads = pairs ? std::min(max_threads, 512) : max_threads;
  // Cached values stay in registers if each multiprocessor can then still hold its blocks, or, with an override, if a thread has enough registers.
  const bool may_keep = !nest.persistent.empty() && !scans && nest.chunk_axis < 0 && overrides.number("row_steps", 1) != 0;
  const auto keep_in_registers = [&](int threads, int row_threads) {
    if (!may_keep) return false;
    const int step = cluster * row_threads * schedule.vector;
    const auto fits = [&](int steps) {
      const int registers = fuse::estimated_registers(kernel, schedule.vector, steps);
      if (pairs && !overrides.has("row_steps") && threads > 256) return false;
      return overrides.has("row_steps")
                 ? registers <= limits.registers
                 : steps * schedule.vector * fuse::staged_registers(kernel) <= kStagedRegisters && registers <= std::min(kRowRegisters, (60 << 10) / threads);
    };
    // If the row's length is a multiple of a step, no step has to test for the end of the row. Otherwise the kernel is valid for all lengths up to a power of
    // two. (Without the tests ptxas computes several steps at once, which takes too many registers for doubles.)
    const bool doubles = std::any_of(nest.persistent.begin(), nest.persistent.end(), [](DType dtype) { return itemsize(dtype) == 8; });
    int steps = power_of_two(overrides.number("row_steps", 1), kMaxSteps);
    const std::int64_t exact = row.hint() / step;
    const bool may_be_whole = !doubles && row.hint() == exact * step && (overrides.has("row_steps") ? exact == steps : exact >= 1 && exact <= kMaxSteps);
    const bool whole = rows.steps.whole = may_be_whole && fits(static_cast<int>(exact)) && row == exact * step;
    if (whole) steps = static_cast<int>(exact);
    while (!whole && !overrides.has("row_steps") && steps < kMaxSteps && row > steps * step) steps *= 2;
    rows.steps.count = fits(steps) && row <= steps * step ? steps : 0;
    return rows.steps.count > 0;
  };
  // A short row is computed by one warp, and a block has eight warps. A row that fills much of a multiprocessor gets more threads, because few fit at once.
  const bool warp = row <= 1024 && persistent_bytes * 32 <= limits.row_bytes;
  int shared_by = 256;
  while (!warp && shared_by < max_row_threads && persistent_bytes * (2048 / shared_by) > cluster * limits.row_bytes &&
         row >= cluster * 4 * shared_by * schedule.vector && !keep_in_registers(shared_by, shared_by))
    shared_by *= 2;
  // Every thread of a row repeats its common work (shuffles, barriers, quotients, roots), so if there are many cached rows, each gets the fewest threads that
  // can hold it.
  const auto many = [&] {
    const fuse::Estimating estimate;
    return points >= limits.units * kManyRows;
  };
  while (!warp && shared_by <= 256 && shared_by > kMinRowThreads && many() && keep_in_registers(shared_by / 2, shared_by / 2)) shared_by /= 2;
  schedule.threads = shared_by;
  rows.row_threads = warp ? 32 : shared_by;
  // Each lane of a very short row has up to four vectors, so that all lanes have work.
  while (warp && !scans && rows.row_threads > kMinLanes && row <= rows.row_threads * 2 * schedule.vector) rows.row_threads /= 2;
  if (overrides.has("threads") || overrides.has("row_threads")) {
    const int threads = threads_of(overrides, 256, max_threads);
    const int lanes = overrides.number("row_threads", rows.row_threads);
    const int row_threads = lanes > 32 ? threads : scans ? 32 : power_of_two(lanes, 32);
    if (cluster > 1 ? row_threads > 32 : persistent_bytes * (threads / row_threads) <= limits.row_bytes) {
      schedule.threads = threads;
      rows.row_threads = row_threads;
    }
  }
  // A block whose warps have rows of their own walks them together only with parts of a warp for each, and only then its threads can meet.
  if (!limits.warps && rows.row_threads == 32 && schedule.threads > 32) (scans ? schedule.threads : rows.row_threads) = scans ? 32 : 16;
  keep_in_registers(schedule.threads, rows.row_threads);
}

}  // namespace

Arranged arrange(const fuse::Graph& graph, const Kernel& original, const fuse::Limits& limits, const ScheduleOverride& overrides) {
  Arranged arranged{original, {}};
  Kernel& kernel = arranged.kernel;
  Schedule& schedule = arranged.schedule;
  schedule.axes = fuse::arrange(graph, kernel, limits);
  if (overrides.has("axes")) {
    Kernel merged = original;
    fuse::merge_axes(merged);
    if (may_take(merged, schedule.axes, overrides.numbers("axes"), limits.one_order)) {
      schedule.axes = overrides.numbers("axes");
      fuse::reorder(merged, schedule.axes);
      fuse::merge_axes(merged);
      kernel = std::move(merged);
    }
  }
  if (kernel.row_axes() > 0) {
    bool rows = fuse::lanes_along_rows(graph, kernel, limits);
    if (limits.one_order ? combines_in_any_order(kernel) : !fuse::has_scan(kernel))
      rows = overrides.asks_for<RowsForm>() || (rows && !overrides.asks_for<ColumnsForm>());
    schedule.form = rows ? Form(RowsForm()) : ColumnsForm();
    // If all chunks have one length, each is a whole row, which a GPU's threads can stage in registers.
    const fuse::Size &length = kernel.chunks.length, &total = kernel.chunks.total;
    if (rows && limits.backend != fuse::Backend::cpu && !fuse::has_scan(kernel) && length > 0 && trace::is_known_multiple(total, length)) kernel.chunks = {};
  }
  schedule.keep = (schedule.is<ColumnsForm>() ? kernel.staging.columns : kernel.staging.blocks > 0) && overrides.number("keep", 1) != 0;
  return arranged;
}

Schedule choose(const fuse::Graph& graph, const Arranged& arranged, const Lowered& lowered, const fuse::Limits& limits, const ScheduleOverride& overrides) {
  Schedule schedule = arranged.schedule;
  if (limits.backend != fuse::Backend::cpu) choose_gpu_part(graph, arranged.kernel, lowered, limits, overrides, schedule);
  else choose_cpu_part(lowered.nest, overrides, schedule);
  return schedule;
}

Schedule choose_for_cpu(const LoopNest& nest, const ScheduleOverride& overrides) {
  Schedule schedule = nest.schedule;
  choose_cpu_part(nest, overrides, schedule);
  return schedule;
}

std::vector<ScheduleOverride> alternatives(const LoopNest& nest, const fuse::Limits& limits) {
  const Schedule& now = nest.schedule;
  std::vector<ScheduleOverride> found;
  const auto add = [&](const std::string& text) { found.push_back(ScheduleOverride::parse(text)); };
  const auto form = [&](std::string_view other, bool possible) {
    if (possible && other != name(now.form)) add(fmt::format("form={}", other));
  };
  // Tries each axis to vectorise along.
  const int axes = static_cast<int>(now.axes.size());
  for (int last = 0; last + 1 < axes; ++last) {
    std::vector<int> order = now.axes;
    std::rotate(order.begin() + last, order.begin() + last + 1, order.end());
    add(fmt::format("axes={}", fmt::join(order, ".")));
    // Tries these without moving the row axes.
    if (last + 1 < nest.parallel && nest.rows > 0 && axes == nest.axes()) {
      order = now.axes;
      std::rotate(order.begin() + last, order.begin() + last + 1, order.begin() + nest.parallel);
      add(fmt::format("axes={}", fmt::join(order, ".")));
    }
  }
  const bool on_gpu = limits.backend != fuse::Backend::cpu;
  form(RowsForm::kName, nest.rows > 0);
  form(ColumnsForm::kName, nest.rows > 0);
  form(PanelsForm::kName, !on_gpu && may_panel(nest));
  form(ContractionForm::kName, nest.rows > 0 && on_gpu);
  form(PointwiseForm::kName, nest.rows == 0);
  form(TilesForm::kName, nest.rows == 0 && !(on_gpu && turnable_inputs(nest).empty() && turnable_outputs(nest).empty()));
  if (!nest.persistent.empty()) add("keep=0");
  const auto* rows = std::get_if<RowsForm>(&now.form);
  const bool by_blocks = rows && rows->row_threads > 32;
  for (const Field& field : fields()) {
    const bool suits = field.name == "row_threads" ? !by_blocks : field.name == "cluster" ? by_blocks && limits.cluster > 1 : true;
    if (!suits || (field.on == Field::On::gpu) != on_gpu) continue;
    for (const int chosen : field.values(now))
      for (const int value : field.tried)
        if (value != chosen) add(fmt::format("{}={}", field.name, value));
  }
  if (on_gpu && rows) {
    if (rows->row_threads == 32) add("threads=32");
    if (rows->steps.count > 0) add("row_steps=0");
    if (!nest.persistent.empty()) {  // cached in registers, with the chosen number of threads or another
      std::int64_t row = 1;
      for (int axis = nest.parallel; axis < nest.axes(); ++axis) row *= nest.ints[axis];
      const auto steps = [&](int threads) {
        int number = 1;
        while (number < 32 && number * rows->cluster * threads * now.vector < row) number *= 2;
        return number;
      };
      add(fmt::format("row_steps={}", steps(rows->row_threads)));
      for (const int threads : {64, 128, 512, 1024}) add(fmt::format("threads={0},row_threads={0},row_steps={1}", threads, steps(threads)));
    }
    for (const int threads : {64, 128, 256, 512, 1024})
      add(by_blocks ? fmt::format("threads={},row_threads=32", threads) : fmt::format("threads={0},row_threads={0}", threads));
  }
  return found;
}

}  // namespace sinter::jit
