// Reductions that depend on another reduction of the same row: the sum of squares about a mean, the sum of exponentials relative to a maximum, the first
// position of an extremum. If a row does not fit on chip, each of the two reductions would read all of it from memory. Instead the row is divided into pieces
// that fit. Each piece is reduced relative to its own statistic (its mean or maximum), and the partial results are then converted to the row's statistic and
// merged. So memory is read once. A row that the blocks of a cluster stage together stays whole.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "fuse/blocks.hpp"
#include "fuse/costs.hpp"
#include "fuse/rebuild.hpp"
#include "fuse/rewrite.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

/// Adds nodes; their shapes and types follow from the operands.
class Maker {
 public:
  Maker(Graph& graph, int from) : graph_(graph), from_(from) {}
  const Sizes& shape(int id) const { return graph_.nodes[id].shape; }
  DType dtype(int id) const { return graph_.nodes[id].dtype; }

  int op(Op op, std::vector<int> inputs) {
    Node node = like(op, inputs.back());
    if (trace::primitive(op).result == trace::Result::boolean) node.dtype = DType::bool_;
    node.inputs = std::move(inputs);
    return push(graph_, std::move(node));
  }
  int cast(int id, DType dtype) {
    if (this->dtype(id) == dtype) return id;
    Node node = like(Op::cast, id);
    node.dtype = dtype;
    node.inputs = {id};
    return push(graph_, std::move(node));
  }
  int literal(const trace::Scalar& value, const Sizes& shape) { return broadcast(push_constant(graph_, value, from_), shape); }
  int real(double value, int as) { return literal(trace::make_scalar(dtype(as), value), Sizes(shape(as))); }
  int reshape(int id, Sizes shape) { return push_view(graph_, Op::reshape, id, std::move(shape), from_); }
  int broadcast(int id, Sizes shape) { return push_view(graph_, Op::broadcast, id, std::move(shape), from_); }
  int slice(int id, std::vector<Size> start_step, Sizes shape) {
    const int view = push_view(graph_, Op::slice, id, std::move(shape), from_);
    graph_.nodes[view].ints = std::move(start_step);
    return view;
  }
  /// Repeats a constant in another shape.
  int repeated(int constant, const Sizes& shape) {
    const Sizes one(this->shape(constant).size(), 1);
    std::vector<Size> start_step;
    for (std::size_t axis = 0; axis < one.size(); ++axis) start_step.insert(start_step.end(), {0, 1});
    return broadcast(reshape(slice(constant, std::move(start_step), one), {}), shape);
  }
  /// 0, 1, 2, ...
  int iota(Size count) {
    Node node;
    node.op = Op::iota;
    node.dtype = DType::int64;
    node.shape = {std::move(count)};
    node.from = from_;
    return push(graph_, std::move(node));
  }
  int reduce(Op op, int id, const std::vector<int>& axes) {
    Node node = like(op, id);
    node.inputs = {id};
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) node.shape.erase(node.shape.begin() + *axis);
    node.ints.assign(axes.begin(), axes.end());
    return push(graph_, std::move(node));
  }
  int reduce_chunks(Op op, int id, int axis, const Size& chunk, bool first) { return push(graph_, in_chunks(graph_, like(op, id), id, axis, chunk, first)); }
  /// Moves the first axis to position `to`.
  int first_to(int id, std::size_t to) {
    if (to == 0) return id;
    Node node = like(Op::permute, id);
    node.inputs = {id};
    for (std::size_t axis = 0; axis < node.shape.size(); ++axis) node.ints.push_back(static_cast<std::int64_t>(axis < to ? axis + 1 : axis == to ? 0 : axis));
    const Sizes from = node.shape;
    for (std::size_t axis = 0; axis < from.size(); ++axis) node.shape[axis] = from[static_cast<std::size_t>(node.axis(axis))];
    return push(graph_, std::move(node));
  }

 private:
  Node like(Op op, int id) const {
    Node node;
    node.op = op;
    node.dtype = dtype(id);
    node.shape = shape(id);
    node.from = from_;
    return node;
  }

  Graph& graph_;
  const int from_;
};

// ---- the table of combiners

/// A reduction of f(x, b), where b has one value for each row and is computed from another reduction of x.
struct Found {
  const struct Combiner* combiner = nullptr;
  int x = -1, spread = -1;       // spread: b at each element
  int place = -1, nowhere = -1;  // for a position: each element's position, and the value that means "none"
  int statistic = -1;            // the reduction of x on which b depends
};
/// The order of the axes of x (blocks.hpp); empty: the present order.
using Order = std::vector<int>;

/// The values that are known for each piece of a row; all have one shape.
struct Piece {
  int statistic;  // reduction of x by Combiner::statistic
  int count;      // number of elements
  int centre;     // takes the place of b
  int result;     // f(x, centre), reduced
};

/// Describes a kind of such reductions: the values of a piece (its statistic, and the result relative to it), and the formula that converts the result to
/// another statistic b without reading x again. The reduction itself then combines the pieces.
struct Combiner {
  Op reduction, statistic;
  bool places;  // b is the statistic itself, which may be the minimum or the maximum
  bool (*matches)(const Graph&, const Node& f, Found&);
  int (*f)(Maker&, const Found&, int x, int b);
  int (*centre)(Maker&, const Piece&);
  int (*moved)(Maker&, const Found&, const Piece&, int b);
};

bool is_difference(const Graph& graph, int id, Found& found) {
  const Node& node = graph.nodes[id];
  if (node.op != Op::subtract) return false;
  found.x = node.inputs[0];
  found.spread = node.inputs[1];
  return true;
}

/// Returns whether x equals b or, for floating-point numbers, is NaN.
int is_wanted(Maker& m, int x, int b) {
  const int same = m.op(Op::equal, {x, b});
  return is_floating(m.dtype(x)) ? m.op(Op::bitwise_or, {same, m.op(Op::isnan, {x})}) : same;
}
bool is_wanted(const Graph& graph, int id, Found& found) {
  const Node* node = &graph.nodes[id];
  int nan = -1;
  if (node->op == Op::bitwise_or) {
    const int other = node->inputs[1];
    if (graph.nodes[other].op != Op::isnan) return false;
    nan = graph.nodes[other].inputs[0];
    node = &graph.nodes[node->inputs[0]];
  }
  if (node->op != Op::equal) return false;
  found.x = node->inputs[0];
  found.spread = node->inputs[1];
  return is_floating(graph.nodes[found.x].dtype) ? nan == found.x : nan < 0;
}

const Combiner kCombiners[] = {
    // sum (x-b)^2 = sum (x-c)^2 + n (c-b)^2, where c is the mean (Chan, Golub and LeVeque).
    {Op::reduce_sum, Op::reduce_sum, false,
     [](const Graph& graph, const Node& f, Found& found) {
       return f.op == Op::multiply && f.inputs[0] == f.inputs[1] && is_difference(graph, f.inputs[0], found);
     },
     [](Maker& m, const Found&, int x, int b) {
       const int difference = m.op(Op::subtract, {x, b});
       return m.op(Op::multiply, {difference, difference});
     },
     [](Maker& m, const Piece& piece) { return m.op(Op::divide, {piece.statistic, piece.count}); },
     [](Maker& m, const Found&, const Piece& piece, int b) {
       const int shift = m.op(Op::subtract, {piece.centre, b});
       return m.op(Op::add, {piece.result, m.op(Op::multiply, {piece.count, m.op(Op::multiply, {shift, shift})})});
     }},
    // sum exp(x-b) = sum exp(x-c) * exp(c-b); c is the maximum, or 0 if that is not finite (Milakov and Gimelshein). In a piece that is all -inf each term is
    // exp(-inf - b).
    {Op::reduce_sum, Op::reduce_max, false,
     [](const Graph& graph, const Node& f, Found& found) { return f.op == Op::exp && is_difference(graph, f.inputs[0], found); },
     [](Maker& m, const Found&, int x, int b) { return m.op(Op::exp, {m.op(Op::subtract, {x, b})}); },
     [](Maker& m, const Piece& piece) { return m.op(Op::where, {m.op(Op::isfinite, {piece.statistic}), piece.statistic, m.real(0, piece.statistic)}); },
     [](Maker& m, const Found&, const Piece& piece, int b) {
       const int nothing = m.op(Op::equal, {piece.statistic, m.real(-std::numeric_limits<double>::infinity(), b)});
       const int moved = m.op(Op::multiply, {piece.result, m.op(Op::exp, {m.op(Op::subtract, {piece.centre, b})})});
       return m.op(Op::where, {nothing, m.op(Op::exp, {m.op(Op::subtract, {piece.statistic, b})}), moved});
     }},
    // The first position of b, or of a NaN, among the pieces whose extremum equals b.
    {Op::reduce_min, Op::reduce_max, true,
     [](const Graph& graph, const Node& f, Found& found) {
       if (f.op != Op::where || !is_wanted(graph, f.inputs[0], found)) return false;
       found.place = f.inputs[1];
       found.nowhere = f.inputs[2];
       return graph.nodes[found.nowhere].op == Op::constant;
     },
     [](Maker& m, const Found& found, int x, int b) {
       const Sizes shape = m.shape(x);
       return m.op(Op::where, {is_wanted(m, x, b), m.reshape(found.place, shape), m.repeated(found.nowhere, shape)});
     },
     [](Maker&, const Piece& piece) { return piece.statistic; },
     [](Maker& m, const Found& found, const Piece& piece, int b) {
       return m.op(Op::where, {is_wanted(m, piece.statistic, b), piece.result, m.repeated(found.nowhere, Sizes(m.shape(b)))});
     }},
};

// ---- finding such reductions

/// Returns the reduction of x on which the node depends.
int statistic_of(const Graph& graph, int from, const Combiner& combiner, int x, const std::vector<int>& axes) {
  std::vector<int> stack{from};
  std::set<int> seen;
  while (!stack.empty() && seen.size() < kMaxLookedAt) {
    const int id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const Node& node = graph.nodes[id];
    const bool fits = node.op == combiner.statistic || (combiner.places && node.op == Op::reduce_min);
    if (fits && node.inputs[0] == x && node.chunk == 0 && node.axes() == axes) return id;
    if ((trace::is_elementwise(node.op) && !combiner.places) || trace::is_view(node.op)) stack.insert(stack.end(), node.inputs.begin(), node.inputs.end());
  }
  return -1;
}

std::optional<Found> find(const Graph& graph, const Node& node) {
  if (!trace::is_reduction(node.op) || node.chunk != 0 || node.has_range()) return std::nullopt;
  for (const Combiner& combiner : kCombiners) {
    Found found;
    if (combiner.reduction != node.op || !combiner.matches(graph, graph.nodes[node.inputs[0]], found)) continue;
    const Node& spread = graph.nodes[found.spread];
    if (spread.op != Op::broadcast) continue;
    const Sizes& narrow = graph.nodes[spread.inputs[0]].shape;
    const auto missing = spread.shape.size() - narrow.size();
    const auto axes = node.axes();
    const bool one_a_row = std::all_of(
        axes.begin(), axes.end(), [&](int axis) { return static_cast<std::size_t>(axis) < missing || narrow[static_cast<std::size_t>(axis) - missing] == 1; });
    if (!one_a_row) continue;
    found.combiner = &combiner;
    found.statistic = statistic_of(graph, spread.inputs[0], combiner, found.x, axes);
    if (found.statistic >= 0) return found;
  }
  return std::nullopt;
}

// ---- pieces

/// The division of rows into chunks, along the last run of their axes, merged to one axis (chunk 0: whole rows). Columns, whose elements are not adjacent in
/// memory, are divided along the longest run of adjacent axes. Their chunks are the first axis of the pieces, so that adjacent columns stay adjacent.
struct Split {
  std::size_t lead = 0;  // number of axes before the run
  std::size_t axes = 0;
  Size inner = 1;  // elements of the run
  Size chunk = 0;
  bool columns = false;
  bool has(int axis) const { return static_cast<std::size_t>(axis) >= lead && static_cast<std::size_t>(axis) < lead + axes; }
};

/// Returns the run of neighbouring axes before `end`, which begins at the last of `axes` that starts it.
Split run_before(const Sizes& shape, const std::vector<int>& axes, std::size_t end) {
  Split run{end, 0, 1, 0};
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (static_cast<std::size_t>(*axis) + 1 != run.lead) continue;
    --run.lead;
    ++run.axes;
    run.inner = run.inner * shape[static_cast<std::size_t>(*axis)];
  }
  return run;
}

/// `stored`: another pass over the row follows the reductions.
std::optional<Split> split_of(const Graph& graph, int x, const std::vector<int>& given_axes, const Order& order, bool stored, const Limits& limits) {
  const auto [extent, count, bytes, columns] = rows_of(graph, x, given_axes, limits);
  const std::vector<int> axes = axes_in_order(given_axes, order);
  Sizes shape = graph.nodes[x].shape;
  for (std::size_t axis = 0; axis < order.size(); ++axis) shape[axis] = graph.nodes[x].shape[static_cast<std::size_t>(order[axis])];
  if (extent == 0) return std::nullopt;
  const Estimating estimate;
  const int blocks = columns ? 1 : blocks_that_keep(limits, bytes);
  const bool few = (blocks > 1 ? too_few_for_clusters(count, limits) : count < limits.units) && extent >= kSplitFrom;
  // If the row fits in a cache, the same kernel reads it again at no cost, unless each reduction would be two kernels anyway.
  const Size filled = blocks_of(count, extent, graph.nodes[x].dtype, columns);
  const bool one_kernel = filled >= limits.units * kBlocksWanted || count * extent < filled * kMinWork;
  const bool in_cache = limits.cache_bytes > 0 && count * bytes <= limits.cache_bytes && one_kernel;
  const bool on_chip = columns ? extent <= longest_column(stored) : blocks > 0;
  if (!few && (on_chip || in_cache)) return std::nullopt;
  if (columns) {
    Split longest;
    for (const int axis : axes) {
      const Split run = run_before(shape, axes, static_cast<std::size_t>(axis) + 1);
      if (run.inner > longest.inner) longest = run;
    }
    if (longest.inner < 2 * kColumnPiece) return std::nullopt;
    longest.chunk = kColumnPiece;
    longest.columns = true;
    return longest;
  }
  Split split = run_before(shape, axes, shape.size());
  if (split.inner >= 2 * kMinChunk) {
    split.chunk = kMinChunk;
    return split;
  }
  if (split.axes == axes.size() || split.inner < kShortPiece) return std::nullopt;
  return split;
}

class Rewriter {
 public:
  Rewriter(const Graph& graph, const Limits& limits) : graph_(graph) {
    std::vector<char> stored;  // for each reduction: its result is broadcast again
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.nodes[id];
      const auto found = find(graph, node);
      if (!found) continue;
      if (stored.empty()) {
        stored.resize(graph.nodes.size());
        for (const auto& reductions : spread_reductions(graph))
          for (const int reduction : reductions) stored[static_cast<std::size_t>(reduction)] = 1;
      }
      Order order;
      if (limits.columns_in_registers) order = order_in_memory(graph, found->x, node.axes());
      const auto split = split_of(graph, found->x, node.axes(), order, stored[id] != 0, limits);
      if (!split) continue;
      if (!order.empty()) orders_[found->statistic] = orders_[static_cast<int>(id)] = order;
      found_.emplace(id, *found);
      splits_.emplace(id, *split);
      splits_.emplace(found->statistic, *split);
    }
  }

  bool finds() const { return !found_.empty(); }

  Graph run() {
    std::size_t id = 0;
    return rebuild(
        graph_, [](const Node&) { return true; },
        [&](Graph& out, Node node) {
          const std::size_t here = id++;
          now_.push_back(-1);
          const auto known = splits_.find(here);
          if (known == splits_.end()) return now_[here] = push(out, std::move(node));
          Maker make(out, node.from);
          const auto met = found_.find(here);
          const auto ordered = orders_.find(static_cast<int>(here));
          const Order order = ordered == orders_.end() ? Order() : ordered->second;
          const int pieces = met == found_.end() ? statistic(make, node.op, in_this(out, node.inputs[0], order), known->second)
                                                 : moved(out, make, met->second, order, known->second);
          const Split& split = known->second;
          std::vector<int> left;  // axes along which the pieces are merged
          if (split.columns) left.push_back(0);
          for (int axis : axes_in_order(node.axes(), order))
            if (!split.has(axis))
              left.push_back(split.columns ? axis + 1 - (static_cast<std::size_t>(axis) < split.lead ? 0 : static_cast<int>(split.axes)) : axis);
          if (split.chunk > 0 && !split.columns) left.push_back(static_cast<int>(split.lead));
          return now_[here] = out_of_order(out, make.reduce(node.op, pieces, left), node.axes(), order, node.from);
        });
  }

 private:
  /// Returns a value in this order, as one node for all users.
  int in_this(Graph& out, int x, const Order& order) {
    if (order.empty()) return x;
    const auto [found, fresh] = ordered_.try_emplace({x, order}, -1);
    if (fresh) found->second = in_order(out, x, order, out.nodes[static_cast<std::size_t>(x)].from);
    return found->second;
  }

  /// Returns the shape with `instead` in place of the merged axes.
  static Sizes with(const Sizes& shape, const Split& split, std::initializer_list<Size> instead) {
    const auto first = shape.begin() + static_cast<std::ptrdiff_t>(split.lead);
    Sizes sizes(shape.begin(), first);
    sizes.insert(sizes.end(), instead);
    sizes.insert(sizes.end(), first + static_cast<std::ptrdiff_t>(split.axes), shape.end());
    return sizes;
  }

  /// Merges these axes to one.
  int rows(Maker& make, int x, const Split& split) {
    if (split.axes == 1) return x;
    const auto [found, fresh] = rows_.try_emplace({x, split.lead}, -1);
    if (fresh) found->second = make.reshape(x, with(make.shape(x), split, {split.inner}));
    return found->second;
  }

  /// Reduces each piece of x, once for all users.
  int statistic(Maker& make, Op op, int x, const Split& split) {
    const auto [found, fresh] = statistics_.try_emplace({op, x, split.lead}, -1);
    if (fresh) found->second = reduce(make, op, rows(make, x, split), split);
    return found->second;
  }
  static int reduce(Maker& make, Op op, int x, const Split& split) {
    const int axis = static_cast<int>(split.lead);
    return split.chunk > 0 ? make.reduce_chunks(op, x, axis, split.chunk, split.columns) : make.reduce(op, x, {axis});
  }

  /// Broadcasts a value of each piece over the piece's elements; x has the merged axes.
  static int spread(Maker& make, int pieces, int x, const Split& split) {
    const Sizes whole = make.shape(x), shape = make.shape(pieces);
    const std::size_t chunks = split.columns ? 0 : shape.size() - 1;  // the axis of the pieces that counts them
    Sizes narrow = shape, wide = shape, flat = shape, ends = shape;
    const auto behind = static_cast<std::ptrdiff_t>(chunks + 1);
    narrow.insert(narrow.begin() + (split.chunk == 0 ? static_cast<std::ptrdiff_t>(shape.size()) : behind), 1);
    if (split.chunk == 0) return make.broadcast(make.reshape(pieces, narrow), whole);
    wide.insert(wide.begin() + behind, split.chunk);
    flat[chunks] = shape[chunks] * split.chunk;
    ends[chunks] = split.inner;
    std::vector<Size> start_step;
    for (std::size_t axis = 0; axis < flat.size(); ++axis) start_step.insert(start_step.end(), {0, 1});
    const int spread = make.slice(make.reshape(make.broadcast(make.reshape(pieces, narrow), wide), flat), std::move(start_step), ends);
    return split.columns ? make.first_to(spread, split.lead) : spread;
  }

  /// Returns the number of elements of each piece, with the type and shape of `pieces`.
  static int count(Maker& make, int pieces, const Split& split) {
    const Sizes shape = make.shape(pieces);
    const DType dtype = make.dtype(pieces);
    // If all pieces have one length, the number is a literal, by which a kernel divides cheaply.
    if (split.columns && trace::is_known_multiple(split.inner, split.chunk))
      return make.literal(trace::make_scalar(dtype, static_cast<double>(split.chunk.hint())), shape);
    const int all = make.slice(make.iota(split.inner + 1), {split.inner, 1}, {1});
    if (split.chunk == 0) return make.broadcast(make.cast(all, dtype), shape);
    const Sizes chunks{split.columns ? shape.front() : shape.back()};
    const int first = make.slice(make.iota(chunks[0] * split.chunk), {0, split.chunk}, chunks);
    const int left = make.op(Op::subtract, {make.broadcast(all, chunks), first});
    const int full = make.literal(trace::make_scalar_int(DType::int64, split.chunk.hint()), chunks);
    int counted = make.cast(make.op(Op::minimum, {left, full}), dtype);
    if (split.columns) {
      Sizes along(shape.size(), 1);
      along[0] = chunks[0];
      counted = make.reshape(counted, along);
    }
    return make.broadcast(counted, shape);
  }

  /// Returns each piece's result about b.
  int moved(Graph& out, Maker& make, Found found, const Order& order, const Split& split) {
    const Op op = graph_.nodes[static_cast<std::size_t>(found.statistic)].op;
    const int b = now_[static_cast<std::size_t>(graph_.nodes[static_cast<std::size_t>(found.spread)].inputs[0])];
    for (int* id : {&found.x, &found.place, &found.nowhere})
      if (*id >= 0) *id = now_[static_cast<std::size_t>(*id)];
    const std::size_t rank = make.shape(found.x).size();
    for (int* id : {&found.x, &found.place})
      if (*id >= 0) *id = in_this(out, *id, order);
    const int x = rows(make, found.x, split);
    Piece piece{};
    piece.statistic = statistic(make, op, found.x, split);
    if (found.combiner->statistic == Op::reduce_sum) piece.count = count(make, piece.statistic, split);
    piece.centre = found.combiner->centre(make, piece);
    const Op reduction = found.combiner->reduction;
    piece.result = reduce(make, reduction, found.combiner->f(make, found, x, spread(make, piece.centre, x, split)), split);
    // Broadcasts b, which has one value for each row, over the row's pieces.
    const Sizes shape = make.shape(piece.statistic), given = make.shape(b);
    Sizes aligned(rank, 1);
    for (std::size_t axis = 0; axis < rank; ++axis)
      if (axis + given.size() >= rank) aligned[axis] = given[axis + given.size() - rank];
    const int beside = in_order(out, make.reshape(b, aligned), order, graph_.nodes[static_cast<std::size_t>(found.statistic)].from);
    Sizes narrow = with(make.shape(beside), split, {});
    if (split.chunk > 0) narrow.insert(split.columns ? narrow.begin() : narrow.end(), 1);
    return found.combiner->moved(make, found, piece, make.broadcast(make.reshape(beside, narrow), shape));
  }

  const Graph& graph_;
  std::map<std::size_t, Found> found_;   // by reduction
  std::map<std::size_t, Split> splits_;  // divisions of these reductions, and of the reductions on which they depend
  std::map<int, Order> orders_;          // orders of these reductions, if another order is better than their own
  std::vector<int> now_;                 // old node -> new node
  std::map<std::pair<int, Order>, int> ordered_;
  std::map<std::pair<int, std::size_t>, int> rows_;
  std::map<std::tuple<Op, int, std::size_t>, int> statistics_;
};

}  // namespace

Graph merge_dependent_reductions(Graph graph, const Limits& limits) {
  if (!limits.fuse) return graph;
  Rewriter rewriter(graph, limits);
  if (rewriter.finds()) return rewriter.run();
  return graph;  // returns the graph itself, not a copy
}

}  // namespace sinter::fuse
