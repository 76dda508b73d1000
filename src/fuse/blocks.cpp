#include "fuse/blocks.hpp"

#include <algorithm>
#include <numeric>

#include "fuse/arrange.hpp"
#include "fuse/costs.hpp"
#include "fuse/index.hpp"
#include "fuse/rebuild.hpp"
#include "fuse/rewrite.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

/// Adjacent axes over which a reduction runs: the first one, and their number.
struct Run {
  int first = 0, axes = 1;
  Size length = 1;
  bool has(int axis) const { return axis >= first && axis < first + axes; }
};

std::vector<Run> runs_of(const std::vector<int>& axes, const Sizes& shape) {
  std::vector<Run> runs;
  for (const int axis : axes) {
    if (!runs.empty() && runs.back().first + runs.back().axes == axis) {
      ++runs.back().axes;
      runs.back().length = runs.back().length * shape[static_cast<std::size_t>(axis)];
    } else {
      runs.push_back({axis, 1, shape[static_cast<std::size_t>(axis)]});
    }
  }
  return runs;
}

/// Merges the run into one axis.
int merged(Graph& out, int input, const Run& run, int from) {
  if (run.axes == 1) return input;
  Sizes shape = out.nodes[static_cast<std::size_t>(input)].shape;
  shape[static_cast<std::size_t>(run.first)] = run.length;
  shape.erase(shape.begin() + run.first + 1, shape.begin() + run.first + run.axes);
  return push_view(out, Op::reshape, input, std::move(shape), from);
}

/// Returns the elements between neighbours along each axis in the memory behind a value, seen through elementwise ops and views; 0 along axes that repeat.
Sizes strides_in_memory(const Graph& graph, int id) {
  const Estimating estimate;
  const IndexSpace::Scope scope(std::make_shared<IndexSpace>());
  const Sizes& shape = graph.nodes[static_cast<std::size_t>(id)].shape;
  Map map = identity_map(shape.size());
  Sizes strides(shape.size(), 1);
  for (int looked = 0; looked < kLookedThrough; ++looked) {
    const Node& node = graph.nodes[static_cast<std::size_t>(id)];
    if (divisions(map) == 0 || linear(map, node.shape).divisions() == 0) {
      const IndexExpr at = linear(map, node.shape);
      for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        const Size stride = direct_coefficient(at, static_cast<int>(axis));
        strides[axis] = stride < 0 ? -stride : stride;
      }
    } else if (divisions(map) > kMaxDivisions) {
      break;
    }
    if (node.op == Op::reshape || node.op == Op::permute || node.op == Op::slice) {
      map = through(node, graph.nodes[static_cast<std::size_t>(node.inputs[0])].shape, map, shape, false).map;
      id = node.inputs[0];
      continue;
    }
    const auto whole = [&](int input) { return graph.nodes[static_cast<std::size_t>(input)].op != Op::broadcast; };
    const auto next = std::find_if(node.inputs.begin(), node.inputs.end(), whole);
    if (!trace::is_elementwise(node.op) || next == node.inputs.end()) break;
    id = *next;
  }
  return strides;
}

/// Returns the axes along which a broadcast view repeats its operand.
std::vector<char> spread_along(const Graph& graph, const Node& view) {
  const Sizes& from = graph.nodes[static_cast<std::size_t>(view.inputs[0])].shape;
  const std::size_t missing = view.shape.size() - from.size();
  std::vector<char> spread(view.shape.size());
  for (std::size_t axis = 0; axis < spread.size(); ++axis) spread[axis] = view.shape[axis] != 1 && (axis < missing || from[axis - missing] == 1);
  return spread;
}

/// For a matrix product that is recorded as a multiplication and a sum over one axis: if its results have too few square tiles for the multiprocessors, returns
/// the length of pieces of that axis such that each multiprocessor has a tile (jit/contraction.hpp). Returns 0 if the axis is not split.
Size piece_of_product(const Graph& graph, const Node& sum, const Limits& limits) {
  const Node& product = graph.nodes[static_cast<std::size_t>(sum.inputs[0])];
  if (sum.op != Op::reduce_sum || sum.ints.size() != 1 || product.op != Op::multiply) return 0;
  const Node &left = graph.nodes[static_cast<std::size_t>(product.inputs[0])], &right = graph.nodes[static_cast<std::size_t>(product.inputs[1])];
  if (left.op != Op::broadcast || right.op != Op::broadcast) return 0;
  const std::vector<char> left_repeats = spread_along(graph, left), right_repeats = spread_along(graph, right);
  const auto along = static_cast<std::size_t>(sum.axis(0));
  if (left_repeats[along] || right_repeats[along]) return 0;
  Size across = 1, down = 1, others = 1;
  for (std::size_t axis = 0; axis < left_repeats.size(); ++axis) {
    if (axis == along) continue;
    if (left_repeats[axis] && right_repeats[axis]) return 0;
    Size& size = left_repeats[axis] ? across : right_repeats[axis] ? down : others;
    size = size * product.shape[axis];
  }
  const Estimating estimate;
  if (across < kMinSide || down < kMinSide) return 0;
  const std::int64_t side = across >= kSide * 3 / 4 && down >= kSide * 3 / 4 ? kSide : kSide / 2;
  const Size blocks = (across + (side - 1)) / side * ((down + (side - 1)) / side) * others, length = product.shape[along];
  if (blocks >= limits.units || length < 2 * kMinProducts) return 0;
  std::int64_t piece = kMinProducts;
  while (blocks * ((length + (2 * piece - 1)) / (2 * piece)) >= limits.units || length > piece * kMaxPieces) piece *= 2;
  return piece;
}

/// Returns the row axes of a broadcast view: the axes along which it repeats a reduction's result over as many elements as were reduced, and over no others.
std::vector<int> rows_below(const Graph& graph, const Node& view) {
  std::vector<int> stack = view.inputs;
  bool found = false;
  for (int looked = 0; !stack.empty(); ++looked) {
    const Node& from = graph.nodes[static_cast<std::size_t>(stack.back())];
    stack.pop_back();
    if (looked == kLookedThrough) return {};
    if (trace::is_reduction(from.op)) {
      if (from.chunk != 0 || from.has_range() || graph.nodes[static_cast<std::size_t>(from.inputs[0])].elements != view.elements) return {};
      found = true;
    }
    if (trace::is_elementwise(from.op) || trace::is_view(from.op)) stack.insert(stack.end(), from.inputs.begin(), from.inputs.end());
  }
  std::vector<int> rows;
  const std::vector<char> spread = spread_along(graph, view);
  for (std::size_t axis = 0; found && axis < spread.size(); ++axis)
    if (spread[axis]) rows.push_back(static_cast<int>(axis));
  return rows;
}

/// A reduction runs over these axes of a value. Returns those of them (some, not all) that form the rows of another reduction below the value.
std::vector<int> rows_within(const Graph& graph, int id, const std::vector<int>& axes) {
  const Estimating estimate;
  const Sizes& shape = graph.nodes[static_cast<std::size_t>(id)].shape;
  std::vector<int> stack{id};
  for (int looked = 0; !stack.empty() && looked < kLookedThrough; ++looked) {
    const Node& node = graph.nodes[static_cast<std::size_t>(stack.back())];
    stack.pop_back();
    if (node.shape.size() != shape.size() || node.elements != graph.nodes[static_cast<std::size_t>(id)].elements) continue;
    if (trace::is_elementwise(node.op)) stack.insert(stack.end(), node.inputs.begin(), node.inputs.end());
    if (node.op != Op::broadcast) continue;
    const std::vector<int> rows = rows_below(graph, node);
    const auto beside = [&](int axis) { return shape[static_cast<std::size_t>(axis)] != 1 && !std::binary_search(rows.begin(), rows.end(), axis); };
    if (!rows.empty() && std::includes(axes.begin(), axes.end(), rows.begin(), rows.end()) && std::any_of(axes.begin(), axes.end(), beside)) return rows;
  }
  return {};
}

int split_to_fill(Graph& out, Node node, const Limits& limits) {
  const int input = node.inputs[0];
  if (const std::vector<int> rows = rows_within(out, input, node.axes()); !rows.empty()) {
    Node first = node, second = node;
    first.ints.assign(rows.begin(), rows.end());
    first.shape = out.nodes[static_cast<std::size_t>(input)].shape;
    for (auto axis = rows.rbegin(); axis != rows.rend(); ++axis) first.shape.erase(first.shape.begin() + *axis);
    second.ints.clear();
    int before = 0;
    for (const int axis : node.axes()) {
      if (std::binary_search(rows.begin(), rows.end(), axis)) ++before;
      else second.ints.push_back(axis - before);
    }
    second.inputs = {push(out, std::move(first))};
    return split_to_fill(out, std::move(second), limits);
  }
  if (const Size piece = piece_of_product(out, node, limits); piece > 0) {
    const int pieces = push(out, in_chunks(out, node, input, node.axis(0), piece, true));
    node.inputs = {pieces};
    node.ints = {0};
    return push(out, std::move(node));
  }
  const Node& operand = out.nodes[static_cast<std::size_t>(input)];
  const std::vector<int> axes = node.axes();
  const Size results = node.elements;
  if (results == 0 || operand.elements == 0) return push(out, std::move(node));
  const int along = contiguous_axis(out, input);
  const bool columns = std::find(axes.begin(), axes.end(), along) == axes.end();
  const Estimating estimate;
  const Size extent = operand.elements / results, blocks = blocks_of(results, extent, operand.dtype, columns);
  const Size wanted = limits.units * kBlocksWanted;
  if (blocks >= wanted || operand.elements < blocks * kMinWork) return push(out, std::move(node));
  if (const std::vector<int> order = order_in_memory(out, input, axes); !order.empty()) {
    const int from = node.from;
    node.inputs = {in_order(out, input, order, from)};
    const std::vector<int> there = axes_in_order(axes, order);
    node.ints.assign(there.begin(), there.end());
    node.shape = out.nodes[static_cast<std::size_t>(node.inputs[0])].shape;
    for (auto axis = there.rbegin(); axis != there.rend(); ++axis) node.shape.erase(node.shape.begin() + *axis);
    return out_of_order(out, split_to_fill(out, std::move(node), limits), axes, order, from);
  }

  const std::vector<Run> runs = runs_of(axes, operand.shape);
  Run run = runs[0];
  for (const Run& other : runs)
    if (other.length > run.length) run = other;
  for (const Run& other : runs)
    if (other.has(along) && other.length >= kWholeRows) run = other;
  const Size beside = extent / run.length;  // elements of the other runs, which are additional points of the first stage
  const bool by_columns = !run.has(along);
  const Size first_blocks = blocks_of(results * beside, run.length, operand.dtype, by_columns);
  const std::int64_t min_length = by_columns ? kMinRows : kMinPiece;
  const bool in_pieces = first_blocks < wanted && run.length >= 2 * min_length;
  if (!in_pieces && runs.size() == 1) return push(out, std::move(node));
  // The longest piece that gives enough blocks, as a power of two: it is the same for many lengths, and index expressions divide by it easily.
  std::int64_t piece = min_length;
  const auto blocks_by = [&](std::int64_t length) { return first_blocks * ((run.length + (length - 1)) / length); };
  while (in_pieces && (blocks_by(2 * piece) >= wanted || run.length > piece * kMaxPieces)) piece *= 2;

  Node first = node;
  first.inputs = {merged(out, input, run, node.from)};
  if (in_pieces) {
    first = in_chunks(out, first, first.inputs[0], run.first, piece, by_columns);
  } else {
    first.ints = {run.first};
    first.shape = out.nodes[static_cast<std::size_t>(first.inputs[0])].shape;
    first.shape.erase(first.shape.begin() + run.first);
  }
  const auto rank = static_cast<std::int64_t>(first.shape.size());
  const int partial = push(out, std::move(first));

  // The second stage reduces the rest: the other runs, and the pieces.
  Node second = std::move(node);
  second.inputs = {partial};
  second.ints.clear();
  const bool pieces_first = in_pieces && by_columns;  // partial results of columns are beside each other, as the columns are
  if (pieces_first) second.ints.push_back(0);
  for (const int axis : axes)
    if (!run.has(axis)) second.ints.push_back((axis < run.first ? axis : axis - run.axes) + pieces_first);
  if (in_pieces && !pieces_first) second.ints.push_back(rank - 1);
  return push(out, std::move(second));
}

bool is_whole_reduction(const Node& node) { return trace::is_reduction(node.op) && node.chunk == 0 && !node.has_range(); }

/// Returns the reductions of rows that a cluster's blocks stage for operations that read the row again afterwards: reductions whose results are broadcast over
/// the row, and those that depend on such a one. They stay whole.
std::vector<char> reduced_by_clusters(const Graph& graph, const Limits& limits) {
  std::vector<char> whole(graph.nodes.size()), waits(graph.nodes.size());
  if (limits.cluster == 1) return whole;
  const Estimating estimate;
  const auto goes_through_clusters = [&](const Node& node) {
    const Rows rows = rows_of(graph, node.inputs[0], node.axes(), limits);
    return rows.extent > 0 && !rows.columns && blocks_that_keep(limits, rows.bytes) > 1 && !too_few_for_clusters(rows.count, limits);
  };
  const auto spread = spread_reductions(graph);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (is_whole_reduction(node)) whole[id] = waits[static_cast<std::size_t>(node.inputs[0])] && goes_through_clusters(node);
    for (const int reduction : spread[id]) {
      const auto below = static_cast<std::size_t>(reduction);
      whole[below] = whole[below] || goes_through_clusters(graph.nodes[below]);
      waits[id] |= whole[below];
    }
    if (trace::is_elementwise(node.op))
      for (const int input : node.inputs) waits[id] |= waits[static_cast<std::size_t>(input)];
  }
  return whole;
}

}  // namespace

std::vector<std::vector<int>> spread_reductions(const Graph& graph) {
  std::vector<std::vector<int>> spread(graph.nodes.size());
  const Estimating estimate;
  std::vector<int> stack;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op != Op::broadcast) continue;
    stack = node.inputs;
    for (int looked = 0; !stack.empty() && looked < kLookedThrough; ++looked) {
      const int below = stack.back();
      const Node& from = graph.nodes[static_cast<std::size_t>(below)];
      stack.pop_back();
      if (is_whole_reduction(from) && graph.nodes[static_cast<std::size_t>(from.inputs[0])].elements == node.elements) spread[id].push_back(below);
      else if (trace::is_elementwise(from.op) || trace::is_view(from.op)) stack.insert(stack.end(), from.inputs.begin(), from.inputs.end());
    }
  }
  return spread;
}

Rows rows_of(const Graph& graph, int id, const std::vector<int>& axes, const Limits& limits) {
  const Node& node = graph.nodes[static_cast<std::size_t>(id)];
  Rows rows;
  for (const int axis : axes) rows.extent = rows.extent * node.shape[static_cast<std::size_t>(axis)];
  if (rows.extent == 0) return rows;
  rows.count = element_count(node.shape) / rows.extent;
  rows.bytes = rows.extent * static_cast<std::int64_t>(itemsize(node.dtype));
  rows.columns = limits.columns_in_registers && std::find(axes.begin(), axes.end(), contiguous_axis(graph, id)) == axes.end();
  return rows;
}

int blocks_that_keep(const Limits& limits, const Size& bytes) {
  constexpr int kStagedOfRow = 4;
  return blocks_of_row(limits, bytes, kStagedOfRow, limits.cluster);
}

bool too_few_for_clusters(const Size& rows, const Limits& limits) { return rows * (2 * limits.cluster) < limits.units; }

int contiguous_axis(const Graph& graph, int id) {
  const Estimating estimate;
  const Sizes& shape = graph.nodes[static_cast<std::size_t>(id)].shape;
  const Sizes strides = strides_in_memory(graph, id);
  std::size_t best = shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] != 1 && strides[axis] != 0 && (best == shape.size() || strides[axis] <= strides[best])) best = axis;
  return static_cast<int>(best == shape.size() ? shape.size() - 1 : best);
}

std::vector<int> order_in_memory(const Graph& graph, int id, const std::vector<int>& axes) {
  const Estimating estimate;
  const Sizes& shape = graph.nodes[static_cast<std::size_t>(id)].shape;
  const auto reduced = [&](int axis) { return std::binary_search(axes.begin(), axes.end(), axis); };
  const auto runs = [&](const std::vector<int>& order) {
    int count = 0;
    bool before = false;
    for (const int axis : order) {
      if (shape[static_cast<std::size_t>(axis)] == 1) continue;
      count += reduced(axis) && !before;
      before = reduced(axis);
    }
    return count;
  };
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  const int now = runs(order);
  if (now < 2) return {};
  // Axes of size 1 have no position in memory: they come first, the reduced ones before the others.
  const Sizes strides = strides_in_memory(graph, id);
  std::stable_sort(order.begin(), order.end(), [&](int x, int y) {
    const bool one_x = shape[static_cast<std::size_t>(x)] == 1, one_y = shape[static_cast<std::size_t>(y)] == 1;
    if (one_x || one_y) return one_x && (!one_y || (!reduced(x) && reduced(y)));
    return strides[static_cast<std::size_t>(x)] > strides[static_cast<std::size_t>(y)];
  });
  return runs(order) < now ? order : std::vector<int>{};
}

int in_order(Graph& graph, int id, const std::vector<int>& order, int from) {
  if (order.empty()) return id;
  Sizes shape;
  for (const int axis : order) shape.push_back(graph.nodes[static_cast<std::size_t>(id)].shape[static_cast<std::size_t>(axis)]);
  const int view = push_view(graph, Op::permute, id, std::move(shape), from);
  graph.nodes[static_cast<std::size_t>(view)].ints.assign(order.begin(), order.end());
  return view;
}

std::vector<int> axes_in_order(const std::vector<int>& axes, const std::vector<int>& order) {
  if (order.empty()) return axes;
  std::vector<int> places;
  for (std::size_t place = 0; place < order.size(); ++place)
    if (std::binary_search(axes.begin(), axes.end(), order[place])) places.push_back(static_cast<int>(place));
  return places;
}

int out_of_order(Graph& graph, int result, const std::vector<int>& axes, const std::vector<int>& order, int from) {
  std::vector<int> left;  // the axes that are not reduced, at their present positions
  for (const int axis : order)
    if (!std::binary_search(axes.begin(), axes.end(), axis)) left.push_back(axis);
  if (std::is_sorted(left.begin(), left.end())) return result;
  std::vector<int> back(left.size());
  std::iota(back.begin(), back.end(), 0);
  std::sort(back.begin(), back.end(), [&](int x, int y) { return left[static_cast<std::size_t>(x)] < left[static_cast<std::size_t>(y)]; });
  return in_order(graph, result, back, from);
}

Size blocks_of(const Size& results, const Size& row, DType dtype, bool columns) {
  constexpr int kWarp = 32, kWarpsOfBlock = 8, kRowOfWarp = 1024;
  if (columns) {
    // Short columns are computed side by side by up to four times as many threads (choose_columns).
    constexpr int kLongest = longest_column(false);
    if (row <= kLongest) return (results + (kWarp - 1)) / kWarp * (row >= kLongest / 2 ? 4 : row >= kLongest / 4 ? 2 : 1);
    const int wide = kWarp * kVectorBytes / static_cast<int>(std::max<std::size_t>(itemsize(dtype), 4));
    return (results + (wide - 1)) / wide;
  }
  return row <= kRowOfWarp ? (results + (kWarpsOfBlock - 1)) / kWarpsOfBlock : results;
}

Graph fill_multiprocessors(Graph graph, const Limits& limits) {
  const auto reduces = [](const Node& node) { return is_whole_reduction(node); };
  const std::vector<char> whole = reduced_by_clusters(graph, limits);
  std::size_t id = 0;
  return rebuild(std::move(graph), reduces, [&](Graph& out, Node node) {
    return !whole[id++] && reduces(node) ? split_to_fill(out, std::move(node), limits) : push(out, std::move(node));
  });
}

}  // namespace sinter::fuse
