#include "fuse/arrange.hpp"

#include "fuse/costs.hpp"

#include <algorithm>
#include <numeric>

namespace sinter::fuse {

using namespace costs;
namespace {

template <class Visit> void each_index(Kernel& kernel, Visit visit) {
  for (auto& value : kernel.values)
    if (value.kind == Value::Kind::load || value.kind == Value::Kind::index) visit(value.index);
  for (auto& root : kernel.roots) visit(root.index);
}

// Returns the elements between neighbouring points along the axis.
Size stride_along(const IndexExpr& index, int axis) {
  Size stride = 0;
  for (const auto& term : index.terms()) {
    if (term.axis == axis) stride += term.coeff;
    if (term.divides()) stride += term.coeff * (stride_along(term.inner, axis) / term.div);
  }
  return stride;
}

Size magnitude(const Size& size) { return size < 0 ? -size : size; }

// Returns the bytes that a step along the axis moves: a cache line for a long step, nothing for no step.
std::int64_t step_bytes(const IndexExpr& index, int axis, DType dtype) {
  const Estimating estimate;
  const auto size = static_cast<std::int64_t>(itemsize(dtype));
  const Size stride = magnitude(stride_along(index, axis));
  if (stride * size >= kLine) return kLine;
  return exactly(stride) * size;
}

// Returns, for each value, the axes along which it changes, as far as computed positions and guards need this.
std::vector<std::uint64_t> axes_of_places(const Kernel& kernel) {
  std::vector<std::uint64_t> axes;
  const auto computed = [](const Value& v) {
    return (v.kind == Value::Kind::load || v.kind == Value::Kind::index) && (v.args[Value::kIndexed] >= 0 || v.args[Value::kGuard] >= 0);
  };
  if (std::none_of(kernel.values.begin(), kernel.values.end(), computed)) return axes;
  for (const Value& value : kernel.values) {
    std::uint64_t here = value.kind == Value::Kind::load || value.kind == Value::Kind::index ? value.index.axes() : 0;
    for (const int arg : value.args)
      if (arg >= 0) here |= axes[static_cast<std::size_t>(arg)];
    axes.push_back(here);
  }
  return axes;
}

// Returns the cost for each point of vectorising along the axis: the bytes that the step to a neighbour moves. A long step costs a cache line, no step nothing;
// stores count twice, because no cache can save them. With rows, only accesses at every row point count. `apart`: only accesses that are not contiguous along
// that other axis.
std::int64_t cost_along(const Graph& graph, const Kernel& kernel, const Limits& limits, int axis, int apart = -1) {
  const bool rows = kernel.row_axes() > 0;
  const std::vector<std::uint64_t> places = axes_of_places(kernel);
  // A computed position of the next lane may be anywhere, and so may its row point if its row has another range.
  bool other_range = false;
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::reduced && value.args[1] >= 0 && !places.empty())
      other_range |= (places[static_cast<std::size_t>(value.args[1])] >> axis & 1) != 0;
  const auto computed_along = [&](const Value& load) {
    bool along = other_range;
    for (auto place = load.args.begin() + Value::kIndexed; place != load.args.end(); ++place)
      if (*place >= 0) along |= (places[static_cast<std::size_t>(*place)] >> axis & 1) != 0;
    return along;
  };
  // A CPU reads a piece of one element along the axis, such as a column of a stack, lane by lane.
  const auto column = [&](const Value& load) {
    return load.kind == Value::Kind::load && load.args[Value::kGuard] >= 0 && !(load.index.axes() >> axis & 1) &&
           (places[static_cast<std::size_t>(load.args[Value::kGuard])] >> axis & 1);
  };
  const Estimating estimate;
  const bool by_columns = limits.backend == Backend::cpu && kernel.sizes[axis] < kLanes * std::count_if(kernel.values.begin(), kernel.values.end(), column);
  std::int64_t cost = 0;
  const auto add = [&](const IndexExpr& index, DType dtype, int times) {
    if (apart < 0 || step_bytes(index, apart, dtype) == kLine) cost += times * step_bytes(index, axis, dtype);
  };
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::load && value.row == rows) {
      if (computed_along(value) || (by_columns && column(value))) cost += kLine;
      else add(value.index, value.dtype, 1);
    }
  for (const auto& root : kernel.roots)
    if ((root_pass(kernel, root) >= 0) == rows) add(root.index, graph.nodes[root.node].dtype, 2);
  return cost;
}

// Returns the number of all lanes divided by the number of those that the axis fills. Only powers of two are told apart; the exact number would need a plan for
// every size.
std::int64_t idle_factor(const Kernel& kernel, int axis) {
  const Estimating estimate;
  std::int64_t lanes = kLanes;
  while (lanes > 1 && kernel.sizes[axis] < lanes) lanes /= 2;
  return kLanes / lanes;
}

// If lanes run along a parallel axis, returns how much of this cost a CPU saves by storing transposed tiles along the last row axis.
std::int64_t saved_by_transposing(const Graph& graph, const Kernel& kernel, int axis, int last_row) {
  std::int64_t saved = 0;
  for (const auto& root : kernel.roots) {
    const auto size = static_cast<std::int64_t>(itemsize(graph.nodes[root.node].dtype));
    const Estimating estimate;
    if (root_pass(kernel, root) >= 0 && stride_along(root.index, last_row) == 1)
      saved += 2 * (step_bytes(root.index, axis, graph.nodes[root.node].dtype) - size);
  }
  return saved;
}

// Moves the axis that is cheapest to vectorise to the end of order[first, last). If accesses are then not contiguous, the axis along which they are contiguous
// is placed before it, because a transpose uses square tiles of both axes.
void order_axes(const Graph& graph, const Kernel& kernel, const Limits& limits, std::vector<int>& order, int first, int last) {
  const auto move_cheapest = [&](int end, int apart) {
    int best = end - 1;
    const auto cost = [&](int at) { return cost_along(graph, kernel, limits, order[at], apart) * idle_factor(kernel, order[at]); };
    for (int at = first; at < end; ++at)
      if (cost(at) < cost(best)) best = at;
    std::rotate(order.begin() + best, order.begin() + best + 1, order.begin() + end);
  };
  if (last - first < 2) return;
  move_cheapest(last, -1);
  if (kernel.row_axes() == 0 && last - first > 2) move_cheapest(last - 1, order[last - 1]);
}

// Returns whether the blocks' shared memory, `each` bytes per block, holds the buffers. A block's part of each buffer ends with a whole vector (of up to 16
// elements) and starts at a multiple of 16 bytes.
bool held_by(int blocks, std::int64_t each, const Size& bytes, int buffers) { return bytes <= blocks * (each - std::int64_t{256} * buffers); }

}  // namespace

int blocks_of_row(const Limits& limits, const Size& bytes, int buffers, int max_blocks) {
  if (bytes <= limits.row_bytes) return 1;
  if (max_blocks == 1) return 0;
  int blocks = 0;
  {
    // If a multiprocessor has two blocks at once, one reads while the other computes or writes.
    const Estimating estimate;
    for (const std::int64_t each : {limits.row_bytes / 2 - kPartsBytes, limits.row_bytes})
      for (int more = 2; blocks == 0 && more <= max_blocks; more *= 2)
        if (held_by(more, each, bytes, buffers)) blocks = more;
  }
  return blocks > 0 && hold(limits, blocks, bytes, buffers) ? blocks : 0;
}

bool hold(const Limits& limits, int blocks, const Size& bytes, int buffers) {
  return blocks == 1 ? bytes <= limits.row_bytes : held_by(blocks, limits.row_bytes, bytes, buffers);
}

int max_blocks_of_row(const Kernel& kernel, const Limits& limits) { return has_scan(kernel) || kernel.chunks.length > 0 ? 1 : limits.cluster; }

void reorder(Kernel& kernel, const std::vector<int>& order) {
  if (std::is_sorted(order.begin(), order.end())) return;
  Sizes sizes(order.size());
  std::vector<IndexExpr> by(order.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    sizes[axis] = kernel.sizes[order[axis]];
    by[order[axis]] = IndexExpr::of_axis(static_cast<int>(axis));
  }
  kernel.sizes = sizes;
  each_index(kernel, [&](IndexExpr& index) { index = substitute(index, by); });
}

void merge_axes(Kernel& kernel) {
  for (int axis = static_cast<int>(kernel.sizes.size()) - 2; axis >= 0; --axis) {
    if (axis == kernel.parallel - 1) continue;            // a parallel and a row axis
    if (kernel.chunks.length > 0 && axis == 0) continue;  // the chunk axis is not merged
    const Size inner = kernel.sizes[axis + 1];
    bool all = true;
    each_index(kernel, [&](IndexExpr& index) { all = all && walks_as_one(index, axis, inner); });
    if (!all) continue;
    kernel.sizes[axis + 1] *= kernel.sizes[axis];
    kernel.sizes.erase(kernel.sizes.begin() + axis);
    if (axis < kernel.parallel) --kernel.parallel;
    std::vector<IndexExpr> by;  // the merged axis takes the inner one's place
    for (int old = 0; old <= static_cast<int>(kernel.sizes.size()); ++old)
      by.push_back(old == axis ? IndexExpr::of(0) : IndexExpr::of_axis(old < axis ? old : old - 1));
    each_index(kernel, [&](IndexExpr& index) { index = substitute(index, by); });
  }
}

std::vector<int> arrange(const Graph& graph, Kernel& kernel, const Limits& limits) {
  merge_axes(kernel);
  std::vector<int> order(kernel.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  order_axes(graph, kernel, limits, order, kernel.chunks.length > 0 ? 1 : 0, kernel.parallel);
  if (!has_scan(kernel)) order_axes(graph, kernel, limits, order, kernel.parallel, static_cast<int>(kernel.sizes.size()));
  reorder(kernel, order);
  merge_axes(kernel);
  return order;
}

bool lanes_along_rows(const Graph& graph, const Kernel& kernel, const Limits& limits) {
  if (kernel.row_axes() == 0) return false;
  if (has_ranges(kernel)) return false;
  const int last_parallel = kernel.parallel - 1, last_row = static_cast<int>(kernel.sizes.size()) - 1;
  auto parallel_cost = cost_along(graph, kernel, limits, last_parallel) * idle_factor(kernel, last_parallel);
  // Neighbouring rows share what a CPU does for short rows, so whether a kernel also stores its elements does not decide.
  const auto row_cost = cost_along(graph, kernel, limits, last_row) * (limits.one_order ? 1 : idle_factor(kernel, last_row));
  if (limits.tiles_in_registers) parallel_cost -= saved_by_transposing(graph, kernel, last_parallel, last_row);
  // Very short rows leave most lanes idle; neighbouring rows fill them.
  const Estimating estimate;
  const bool short_rows = kernel.row_points() <= limits.short_row && kernel.sizes[last_parallel] >= 64;
  return !short_rows && (row_cost <= parallel_cost || kernel.sizes[last_parallel] < 8);
}

int max_staged_steps(const Kernel& kernel, const Limits& limits, int warps) {
  if (32 * warps > limits.threads) return 0;
  std::size_t parts = 0;  // number of results, which warps combine in shared memory
  for (const Value& value : kernel.values)
    if (value.kind == Value::Kind::reduced) parts += 32 * std::max<std::size_t>(itemsize(value.dtype), 4);
  if (parts * static_cast<std::size_t>(warps) > limits.shared_bytes) return 0;
  const bool stores = std::any_of(kernel.roots.begin(), kernel.roots.end(), [&](const Root& root) { return root_pass(kernel, root) >= 0; });
  if (warps > 8 && estimated_registers(kernel, 1) + column_steps(warps, 1, stores) > kRegistersOfBlock / 32 / warps) return 0;
  return column_steps(warps, staged_registers(kernel), stores);
}

bool columns_keep(const Kernel& kernel, const Limits& limits) {
  if (!limits.columns_in_registers) return true;
  if (kernel.persistent.empty() || has_scan(kernel)) return false;
  const Size points = kernel.row_points();
  int largest = 0;
  for (const int warps : {8, 16, 32}) largest = std::max(largest, max_staged_steps(kernel, limits, warps) * warps);
  return points <= largest;
}

}  // namespace sinter::fuse
