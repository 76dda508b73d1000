#include "fuse/rewrite.hpp"

#include <algorithm>
#include <limits>

namespace sinter::fuse {
namespace {

using trace::Op;

constexpr std::int64_t kSplitFrom = 131072;  // shorter reductions are over before a second kernel would start
constexpr std::int64_t kMinChunk = 16384;
constexpr std::int64_t kMaxChunks = 1024;

// Copies a graph node by node; `emit` may add further nodes and returns the number that stands for the old one.
template <class Emit> Graph rebuild(const Graph& graph, Emit emit) {
  Graph result;
  result.leaves = graph.leaves;
  result.space = graph.space;
  std::vector<int> moved(graph.nodes.size());
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    Node node = graph.nodes[id];
    for (int& input : node.inputs) input = moved[input];
    moved[id] = emit(result, std::move(node));
  }
  for (int output : graph.outputs) result.outputs.push_back(moved[output]);
  return result;
}

int push(Graph& graph, Node node) {
  graph.nodes.push_back(std::move(node));
  return static_cast<int>(graph.nodes.size()) - 1;
}

int push_view(Graph& graph, Op op, int input, Sizes shape, const Location& where) {
  Node view;
  view.op = op;
  view.dtype = graph.nodes[input].dtype;
  view.shape = std::move(shape);
  view.inputs = {input};
  view.where = where;
  return push(graph, std::move(view));
}

}  // namespace

Graph drop_unit_reductions(const Graph& graph) {
  return rebuild(graph, [](Graph& out, Node node) {
    if (!trace::is_reduction(node.op) || node.chunk != 0) return push(out, std::move(node));
    const Sizes& shape = out.nodes[node.inputs[0]].shape;
    const auto axes = node.axes();
    if (!std::all_of(axes.begin(), axes.end(), [&](int axis) { return shape[axis] == 1; })) return push(out, std::move(node));
    node.op = Op::reshape;
    node.ints.clear();
    return push(out, std::move(node));
  });
}

Graph split_reductions(const Graph& graph, const Limits& limits) {
  return rebuild(graph, [&](Graph& out, Node node) {
    if (!trace::is_reduction(node.op) || node.chunk != 0) return push(out, std::move(node));
    const int input = node.inputs[0];
    const Sizes shape = out.nodes[input].shape;
    const Size results = element_count(node.shape);
    const Size extent = results != 0 ? element_count(shape) / results : 0;
    if (results >= limits.units || extent < kSplitFrom) return push(out, std::move(node));

    Node first = node;
    // A reduction over everything runs over the flat elements; else the longest reduced axis is cut.
    if (node.shape.empty()) {
      if (shape.size() > 1) first.inputs = {push_view(out, Op::reshape, input, {element_count(shape)}, node.where)};
      first.ints = {0};
    } else {
      int longest = node.axis(0);
      for (int axis : node.axes())
        if (shape[axis] > shape[longest]) longest = axis;
      if (shape[longest] < kMinChunk) return push(out, std::move(node));
      first.ints = {longest};
    }
    const Sizes& from = out.nodes[first.inputs[0]].shape;
    const int cut_axis = first.axis(0);
    const Size length = from[cut_axis];
    // Up to kMaxChunks pieces of kMinChunk; then longer pieces.
    first.chunk = length <= kMinChunk * kMaxChunks ? Size(kMinChunk) : ((length + kMaxChunks - 1) / kMaxChunks + 1023) / 1024 * 1024;
    first.shape = from;
    first.shape.erase(first.shape.begin() + cut_axis);
    first.shape.push_back((length + first.chunk - 1) / first.chunk);
    const std::size_t rank = first.shape.size();
    const int partial = push(out, std::move(first));

    // The second stage reduces the chunk axis and whatever axes the first left.
    Node second = node;
    second.inputs = {partial};
    second.ints.clear();
    if (!node.shape.empty())
      for (int axis : node.axes())
        if (axis != cut_axis) second.ints.push_back(axis < cut_axis ? axis : axis - 1);
    second.ints.push_back(static_cast<std::int64_t>(rank) - 1);
    return push(out, std::move(second));
  });
}

namespace {

// The `expansion` column of the table of primitives: the node that stands for the call.

/// (..., m, k) x (..., k, n) as a product over broadcast views, summed over k.
int multiply_and_sum(Graph& out, const Node& node) {
  // (..., m, k) and (..., k, n): a as (..., m, n, k) and b as (..., m, n, k), multiplied, summed over k.
  const int a = node.inputs[0], b = node.inputs[1];
  const Sizes a_shape = out.nodes[a].shape, b_shape = out.nodes[b].shape;
  const std::size_t rank = node.shape.size();
  const Size k = a_shape[rank - 1];
  Sizes full = node.shape;
  full.push_back(k);
  Sizes a_wide(a_shape.begin(), a_shape.end() - 1);
  a_wide.push_back(1);
  a_wide.push_back(k);
  const int a_view = push_view(out, Op::broadcast, push_view(out, Op::reshape, a, a_wide, node.where), full, node.where);
  Node turned;
  turned.op = Op::permute;
  turned.dtype = out.nodes[b].dtype;
  turned.inputs = {b};
  turned.where = node.where;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) turned.ints.push_back(static_cast<std::int64_t>(axis));
  turned.ints.push_back(static_cast<std::int64_t>(rank) - 1);
  turned.ints.push_back(static_cast<std::int64_t>(rank) - 2);
  for (int axis : turned.axes()) turned.shape.push_back(b_shape[axis]);
  Sizes b_wide(b_shape.begin(), b_shape.end() - 2);
  b_wide.insert(b_wide.end(), {1, node.shape[rank - 1], k});
  const int b_view = push_view(out, Op::broadcast, push_view(out, Op::reshape, push(out, turned), b_wide, node.where), full, node.where);
  Node product;
  product.op = Op::multiply;
  product.dtype = node.dtype;
  product.shape = full;
  product.inputs = {a_view, b_view};
  product.where = node.where;
  Node sum = node;
  sum.op = Op::reduce_sum;
  sum.inputs = {push(out, product)};
  sum.ints = {static_cast<std::int64_t>(rank)};
  return push(out, sum);
}

/// Every element of the last axis goes where as many come before it: two kernels of n^2 comparisons a row. Equal elements keep their
/// order, NaN comes last.
int by_rank(Graph& out, const Node& node) {
  const int x = node.inputs[0];
  const Sizes shape = out.nodes[x].shape;
  const Size n = shape.back();
  Sizes square = shape, columns(shape.begin(), shape.end() - 1);
  square.push_back(n);
  columns.insert(columns.end(), {n, 1});
  Sizes rows = columns;
  std::swap(rows[rows.size() - 1], rows[rows.size() - 2]);
  const auto spread = [&](int input, const Sizes& as) {
    return push_view(out, Op::broadcast, push_view(out, Op::reshape, input, as, node.where), square, node.where);
  };
  const auto compute = [&](Op op, DType dtype, std::vector<int> inputs) {
    Node made;
    made.op = op;
    made.dtype = dtype;
    made.shape = square;
    made.inputs = std::move(inputs);
    made.where = node.where;
    return push(out, std::move(made));
  };
  const auto reduced = [&](Op op, int input) {
    Node made = node;
    made.op = op;
    made.dtype = out.nodes[input].dtype;
    made.inputs = {input};
    made.ints = {static_cast<std::int64_t>(square.size()) - 1};
    return push(out, std::move(made));
  };
  Node count;
  count.op = Op::iota;
  count.dtype = DType::int64;
  count.shape = {n};
  count.where = node.where;
  const int numbers = push(out, std::move(count));
  Sizes one(square.size(), 1), other = one;
  one[one.size() - 2] = other[other.size() - 1] = n;
  const int i = spread(numbers, one), j = spread(numbers, other);

  const int a = spread(x, columns), b = spread(x, rows);
  int before = compute(Op::less, DType::bool_, {b, a}), same = compute(Op::equal, DType::bool_, {a, b});
  if (is_floating(node.dtype)) {
    const int last = compute(Op::isnan, DType::bool_, {a}), other_last = compute(Op::isnan, DType::bool_, {b});
    const int overtaken = compute(Op::bitwise_and, DType::bool_, {last, compute(Op::bitwise_not, DType::bool_, {other_last})});
    before = compute(Op::bitwise_or, DType::bool_, {before, overtaken});
    same = compute(Op::bitwise_or, DType::bool_, {same, compute(Op::bitwise_and, DType::bool_, {last, other_last})});
  }
  const int earlier = compute(Op::bitwise_and, DType::bool_, {same, compute(Op::less, DType::bool_, {j, i})});
  const int rank = reduced(Op::reduce_sum, compute(Op::cast, DType::int64, {compute(Op::bitwise_or, DType::bool_, {before, earlier})}));

  Node least;
  least.op = Op::constant;
  least.dtype = node.dtype;
  visit_storage(node.dtype, [&]<class T>() {
    least.scalar = is_floating(node.dtype) ? trace::make_scalar(node.dtype, -std::numeric_limits<double>::infinity())
                                           : trace::make_scalar_int(node.dtype, static_cast<std::int64_t>(std::numeric_limits<T>::lowest()));
  });
  least.shape = square;
  least.where = node.where;
  const int nothing = push(out, std::move(least));
  const int here = compute(Op::equal, DType::bool_, {spread(rank, rows), i});
  return reduced(Op::reduce_max, compute(Op::where, node.dtype, {here, spread(x, rows), nothing}));
}

int expanded(Graph& out, Node node) {
  switch (node.op) {
#define SINTER_ELEMENTWISE(id, ...)
#define SINTER_REDUCTION(id, ...)
#define SINTER_STRUCTURAL(id, ...)
#define SINTER_LIBRARY(id, arity, shape, layout, expansion) \
  case Op::id: return expansion(out, node);
#include "trace/primitives.def"
#undef SINTER_ELEMENTWISE
#undef SINTER_REDUCTION
#undef SINTER_STRUCTURAL
#undef SINTER_LIBRARY
    default: return push(out, std::move(node));
  }
}

}  // namespace

Graph expand_library_calls(const Graph& graph) { return rebuild(graph, expanded); }

}  // namespace sinter::fuse
