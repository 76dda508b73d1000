#include "fuse/rewrite.hpp"

#include <algorithm>
#include <limits>

#include "fuse/costs.hpp"
#include "fuse/library_call.hpp"
#include "fuse/rebuild.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

// Up to kMaxChunks chunks have kMinChunk elements; longer reductions have longer chunks. A sum is correct for any chunk length.
Size chunk_length(const Size& length) {
  const Estimating estimate;
  return length <= kMinChunk * kMaxChunks ? Size(kMinChunk) : ((length + kMaxChunks - 1) / kMaxChunks + 1023) / 1024 * 1024;
}

bool reduces_at_once(const Node& node) { return trace::is_reduction(node.op) && node.chunk == 0 && !node.has_range(); }
bool scans_at_once(const Node& node) { return node.op == Op::scan && node.chunk == 0; }

}  // namespace

Graph drop_unit_reductions(Graph graph) {
  return rebuild(std::move(graph), reduces_at_once, [](Graph& out, Node node) {
    if (!reduces_at_once(node)) return push(out, std::move(node));
    const Sizes& shape = out.nodes[node.inputs[0]].shape;
    const auto axes = node.axes();
    if (!std::all_of(axes.begin(), axes.end(), [&](int axis) { return shape[axis] == 1; })) return push(out, std::move(node));
    node.op = Op::reshape;
    node.ints.clear();
    return push(out, std::move(node));
  });
}

Graph split_reductions(Graph graph, const Limits& limits) {
  return rebuild(std::move(graph), reduces_at_once, [&](Graph& out, Node node) {
    if (!reduces_at_once(node)) return push(out, std::move(node));
    const int input = node.inputs[0];
    const Sizes shape = out.nodes[input].shape;
    const Size results = node.elements;
    const Size extent = results != 0 ? out.nodes[input].elements / results : 0;
    const Estimating estimate;
    if (results >= limits.units || extent < kSplitFrom) return push(out, std::move(node));

    Node first = node;
    // A reduction over all axes runs over the flat elements; otherwise the longest reduced axis is divided.
    if (node.shape.empty()) {
      if (shape.size() > 1) first.inputs = {push_view(out, Op::reshape, input, {element_count(shape)}, node.from)};
      first.ints = {0};
    } else {
      int longest = node.axis(0);
      for (int axis : node.axes())
        if (shape[axis] > shape[longest]) longest = axis;
      if (shape[longest] < kMinChunk) return push(out, std::move(node));
      first.ints = {longest};
    }
    const int split_axis = first.axis(0);
    first = in_chunks(out, first, first.inputs[0], split_axis, chunk_length(out.nodes[first.inputs[0]].shape[split_axis]));
    const std::size_t rank = first.shape.size();
    const int partial = push(out, std::move(first));

    // The second stage reduces the chunk axis and the remaining axes.
    Node second = node;
    second.inputs = {partial};
    second.ints.clear();
    if (!node.shape.empty())
      for (int axis : node.axes())
        if (axis != split_axis) second.ints.push_back(axis < split_axis ? axis : axis - 1);
    second.ints.push_back(static_cast<std::int64_t>(rank) - 1);
    return push(out, std::move(second));
  });
}

Graph split_scans(Graph graph, const Limits& limits) {
  return rebuild(std::move(graph), scans_at_once, [&](Graph& out, Node node) {
    if (!scans_at_once(node)) return push(out, std::move(node));
    const int axis = node.axis(0), input = node.inputs[0];
    const auto reduction = static_cast<Op>(node.axis(1));
    const Size length = node.shape[axis];
    const Estimating estimate;
    if (length < kSplitFrom || node.elements / length >= limits.units) return push(out, std::move(node));
    const DType carried = trace::scan_carry(reduction, node.dtype);
    Node wide = node;  // the carried value
    wide.op = Op::cast;
    wide.dtype = carried;
    wide.ints.clear();
    const int values = carried == node.dtype ? input : push(out, std::move(wide));
    Node total = node;
    total.op = reduction;
    total.dtype = carried;
    total = in_chunks(out, std::move(total), values, axis, chunk_length(length));
    node.chunk = total.chunk;
    const std::int64_t last = static_cast<std::int64_t>(total.shape.size()) - 1;
    const Sizes totals = total.shape;
    // A chunk starts from the total of the chunks before it: the scan shifted by one, which begins with the neutral element.
    Node scan = node;
    scan.dtype = carried;
    scan.shape = totals;
    scan.chunk = 0;
    scan.inputs = {push(out, std::move(total))};
    scan.ints = {last, node.ints[1]};
    Node before = scan;
    before.op = Op::slice;
    before.inputs = {push(out, std::move(scan))};
    before.shape.back() -= 1;
    before.ints.clear();
    for (std::size_t k = 0; k < totals.size(); ++k) before.ints.insert(before.ints.end(), {0, 1});
    Node start = before;
    start.op = Op::pad;
    start.shape = totals;
    start.ints.assign(2 * totals.size(), 0);
    start.ints[static_cast<std::size_t>(2 * last)] = 1;
    const int shifted = push(out, std::move(before));
    start.inputs = {shifted, push_view(out, Op::broadcast, push_constant(out, trace::neutral(reduction, carried), node.from), totals, node.from)};
    node.inputs.push_back(push(out, std::move(start)));
    return push(out, std::move(node));
  });
}

namespace {

// The functions of the `expansion` column: each returns the node that replaces the call.

/// Expands (..., m, k) x (..., k, n) to a product of broadcast views, summed over k.
int multiply_and_sum(Graph& out, const Node& node) {
  // Broadcasts (..., m, k) and (..., k, n) to (..., m, n, k), multiplies them and sums over k.
  const int a = node.inputs[0], b = node.inputs[1];
  const Sizes a_shape = out.nodes[a].shape, b_shape = out.nodes[b].shape;
  const std::size_t rank = node.shape.size();
  const Size k = a_shape[rank - 1];
  Sizes full = node.shape;
  full.push_back(k);
  Sizes a_wide(a_shape.begin(), a_shape.end() - 1);
  a_wide.push_back(1);
  a_wide.push_back(k);
  const int a_view = push_view(out, Op::broadcast, push_view(out, Op::reshape, a, a_wide, node.from), full, node.from);
  Node turned;
  turned.op = Op::permute;
  turned.dtype = out.nodes[b].dtype;
  turned.inputs = {b};
  turned.from = node.from;
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) turned.ints.push_back(static_cast<std::int64_t>(axis));
  turned.ints.push_back(static_cast<std::int64_t>(rank) - 1);
  turned.ints.push_back(static_cast<std::int64_t>(rank) - 2);
  for (int axis : turned.axes()) turned.shape.push_back(b_shape[axis]);
  Sizes b_wide(b_shape.begin(), b_shape.end() - 2);
  b_wide.insert(b_wide.end(), {1, node.shape[rank - 1], k});
  const int b_view = push_view(out, Op::broadcast, push_view(out, Op::reshape, push(out, turned), b_wide, node.from), full, node.from);
  Node product;
  product.op = Op::multiply;
  product.dtype = node.dtype;
  product.shape = full;
  product.inputs = {a_view, b_view};
  product.from = node.from;
  Node sum = node;
  sum.op = Op::reduce_sum;
  sum.inputs = {push(out, product)};
  sum.ints = {static_cast<std::int64_t>(rank)};
  return push(out, sum);
}

/// Expands a convolution to a product of windows and weights over (batch, group, filter of the group, channel of the group, positions.., taps..), summed over
/// channels and taps.
int multiply_windows(Graph& out, const Node& node) {
  const trace::Convolution how = trace::Convolution::of(hints(node.ints));
  const std::size_t axes = how.axes();
  int x = node.inputs[0];
  const Sizes weight = out.nodes[node.inputs[1]].shape;
  Sizes shape = out.nodes[x].shape;
  const Size batch = shape[0], groups = how.groups, filters = weight[0] / groups, channels = weight[1];

  Node padded;
  padded.op = Op::pad;
  padded.dtype = node.dtype;
  padded.ints = {0, 0, 0, 0};
  padded.from = node.from;
  bool pads = false;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    padded.ints.insert(padded.ints.end(), {how.before[axis], how.after[axis]});
    shape[axis + 2] = shape[axis + 2] + how.before[axis] + how.after[axis];
    pads |= how.before[axis] + how.after[axis] > 0;
  }
  if (pads) {
    const int zero = push_constant(out, trace::make_scalar_int(node.dtype, 0), node.from);
    padded.inputs = {x, push_view(out, Op::broadcast, zero, shape, node.from)};
    padded.shape = shape;
    x = push(out, padded);
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    shape[axis + 2] = node.shape[axis + 2];
    shape.push_back(weight[axis + 2]);
    x = push_view(out, Op::windows, x, shape, node.from);
    out.nodes[x].ints = {static_cast<std::int64_t>(axis) + 2, how.stride[axis], how.dilation[axis]};
  }
  Sizes full{batch, groups, filters, channels}, of_x{batch, groups, 1, channels}, of_weight{1, groups, filters, channels}, result{batch, groups, filters};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    full.push_back(node.shape[axis + 2]);
    of_x.push_back(node.shape[axis + 2]);
    of_weight.push_back(1);
    result.push_back(node.shape[axis + 2]);
  }
  Node sum = node;
  sum.op = Op::reduce_sum;
  sum.ints = {3};
  for (std::size_t axis = 0; axis < axes; ++axis) {
    sum.ints.push_back(static_cast<std::int64_t>(full.size()));
    for (Sizes* sizes : {&full, &of_x, &of_weight}) sizes->push_back(weight[axis + 2]);
  }
  const auto spread = [&](int input, const Sizes& as) {
    return push_view(out, Op::broadcast, push_view(out, Op::reshape, input, as, node.from), full, node.from);
  };
  Node product;
  product.op = Op::multiply;
  product.dtype = node.dtype;
  product.shape = full;
  product.from = node.from;
  product.inputs = {spread(x, of_x), spread(node.inputs[1], of_weight)};
  sum.inputs = {push(out, std::move(product))};
  sum.shape = result;
  return push_view(out, Op::reshape, push(out, std::move(sum)), node.shape, node.from);
}

/// Builds computations over all pairs of two sets of elements, one of which is along the last axis.
class Pairs {
 public:
  Pairs(Graph& out, const Node& node, Sizes shape) : out_(out), node_(node), shape_(std::move(shape)) {}

  /// Broadcasts a value over all pairs. `as`: its shape, with 1 where it does not change.
  int spread(int input, const Sizes& as) { return push_view(out_, Op::broadcast, push_view(out_, Op::reshape, input, as, node_.from), shape_, node_.from); }
  /// Returns 0, 1, 2, ... along an axis.
  int count(std::size_t axis) {
    Node numbers;
    numbers.op = Op::iota;
    numbers.dtype = DType::int64;
    numbers.shape = {shape_[axis]};
    numbers.from = node_.from;
    Sizes as(shape_.size(), 1);
    as[axis] = shape_[axis];
    return spread(push(out_, std::move(numbers)), as);
  }
  int constant(trace::Scalar value) { return push_view(out_, Op::broadcast, push_constant(out_, value, node_.from), shape_, node_.from); }
  int compute(Op op, DType dtype, std::vector<int> inputs) { return computed(op, dtype, shape_, std::move(inputs)); }
  /// Reduces over the last axis and removes it.
  int reduced(Op op, int input) {
    Node made = node_;
    made.op = op;
    made.dtype = out_.nodes[input].dtype;
    made.shape.assign(shape_.begin(), shape_.end() - 1);
    made.inputs = {input};
    made.ints = {static_cast<std::int64_t>(shape_.size()) - 1};
    return push(out_, std::move(made));
  }
  /// Returns the value of the pair along the last axis for which `chosen` is true (at most one), or the least value if there is none. 16-bit floats are reduced
  /// in the type in which they are computed.
  int picked(int chosen, int value) {
    const DType dtype = out_.nodes[value].dtype, carried = traits(dtype).compute;
    const int wide = dtype == carried ? value : compute(Op::cast, carried, {value});
    const int found = reduced(Op::reduce_max, compute(Op::where, carried, {chosen, wide, constant(trace::neutral(Op::reduce_max, carried))}));
    return dtype == carried ? found : computed(Op::cast, dtype, out_.nodes[found].shape, {found});
  }
  int computed(Op op, DType dtype, Sizes shape, std::vector<int> inputs) {
    Node made;
    made.op = op;
    made.dtype = dtype;
    made.shape = std::move(shape);
    made.inputs = std::move(inputs);
    made.from = node_.from;
    return push(out_, std::move(made));
  }

 protected:
  Graph& out_;
  const Node& node_;
  Sizes shape_;
};

/// Places each element of the last axis at the position given by the number of elements before it in order, if the result has this position: two kernels of n^2
/// comparisons for each row. Equal elements keep their order. NaN comes last, or first with `largest`. Returns the elements or their original positions.
int ranked(Graph& out, const Node& node, bool places, bool largest) {
  const int x = node.inputs[0];
  const DType dtype = out.nodes[x].dtype;
  const Sizes shape = out.nodes[x].shape;
  const Size n = shape.back(), count = node.shape.back();
  Sizes square = shape, columns(shape.begin(), shape.end() - 1);
  square.push_back(n);
  columns.insert(columns.end(), {n, 1});
  Sizes rows = columns;
  std::swap(rows[rows.size() - 1], rows[rows.size() - 2]);
  Pairs pairs(out, node, square);
  const int i = pairs.count(square.size() - 2), j = pairs.count(square.size() - 1);

  const int a = pairs.spread(x, columns), b = pairs.spread(x, rows);
  const auto both = [&](Op op, int left, int right) { return pairs.compute(op, DType::bool_, {left, right}); };
  const int low = largest ? a : b, high = largest ? b : a;  // b comes before a if low < high
  int before = both(Op::less, low, high), same = both(Op::equal, a, b);
  if (is_floating(dtype)) {
    const int high_last = pairs.compute(Op::isnan, DType::bool_, {high}), low_last = pairs.compute(Op::isnan, DType::bool_, {low});
    before = both(Op::bitwise_or, before, both(Op::bitwise_and, high_last, pairs.compute(Op::bitwise_not, DType::bool_, {low_last})));
    same = both(Op::bitwise_or, same, both(Op::bitwise_and, high_last, low_last));
  }
  const int earlier = both(Op::bitwise_or, before, both(Op::bitwise_and, same, both(Op::less, j, i)));
  const int rank = pairs.reduced(Op::reduce_sum, pairs.compute(Op::cast, DType::int64, {earlier}));

  Sizes result = columns;
  result[result.size() - 2] = count;
  result.back() = n;
  Pairs picks(out, node, result);
  const int here = picks.compute(Op::equal, DType::bool_, {picks.spread(rank, rows), picks.count(result.size() - 2)});
  return picks.picked(here, places ? picks.count(result.size() - 1) : picks.spread(x, rows));
}
int by_rank(Graph& out, const Node& node) { return ranked(out, node, false, false); }
int places_by_rank(Graph& out, const Node& node) { return ranked(out, node, true, !node.ints.empty() && node.ints[1].hint() != 0); }

/// Each element of the result compares all k indices with its row: n * m * k comparisons.
struct Matches {
  Matches(Graph& out, const Node& node)
      : shape(node.shape),
        k(out.nodes[node.inputs[1]].shape[0]),
        pairs(out, node, {shape[0], shape[1], k}),
        hit(pairs.compute(Op::equal, DType::bool_, {pairs.spread(node.inputs[1], {1, 1, k}), pairs.count(0)})) {}
  /// Returns the third operand, rows of k, transposed so that k is last.
  int values(Graph& out, const Node& node) {
    Node turned;
    turned.op = Op::permute;
    turned.dtype = node.dtype;
    turned.shape = {shape[1], k};
    turned.inputs = {node.inputs[2]};
    turned.ints = {1, 0};
    turned.from = node.from;
    return pairs.spread(push(out, std::move(turned)), {1, shape[1], k});
  }
  const Sizes shape;
  const Size k;
  Pairs pairs;
  const int hit;
};
int last_match(Graph& out, const Node& node) {
  Matches matches(out, node);
  Pairs& pairs = matches.pairs;
  const int number = pairs.count(2);
  const auto none = trace::make_scalar_int(DType::int64, -1);
  const int last = pairs.reduced(Op::reduce_max, pairs.compute(Op::where, DType::int64, {matches.hit, number, pairs.constant(none)}));
  const Sizes wide{matches.shape[0], matches.shape[1], 1};
  const int value = pairs.picked(pairs.compute(Op::equal, DType::bool_, {pairs.spread(last, wide), number}), matches.values(out, node));
  const int untouched = push_view(out, Op::broadcast, push_constant(out, none, node.from), matches.shape, node.from);
  const int left = pairs.computed(Op::equal, DType::bool_, matches.shape, {last, untouched});
  return pairs.computed(Op::where, node.dtype, matches.shape, {left, node.inputs[0], value});
}
/// Returns the reduction that combines the values of a row; a scatter that replaces has none.
std::optional<Op> reduction_of(Op scatter) {
  switch (scatter) {
    case Op::scatter_add: return Op::reduce_sum;
    case Op::scatter_prod: return Op::reduce_prod;
    case Op::scatter_min: return Op::reduce_min;
    case Op::scatter_max: return Op::reduce_max;
    default: return {};
  }
}
int combined_matches(Graph& out, const Node& node) {
  const Op reduction = *reduction_of(node.op);
  Matches matches(out, node);
  Pairs& pairs = matches.pairs;
  const int neutral = pairs.constant(trace::neutral(reduction, node.dtype));
  const int all = pairs.reduced(reduction, pairs.compute(Op::where, node.dtype, {matches.hit, matches.values(out, node), neutral}));
  return pairs.computed(trace::primitive(reduction).combine, node.dtype, matches.shape, {node.inputs[0], all});
}

// ---- sorts and scatters by digits, where comparing all pairs takes longer

/// The positions of the values that a scatter writes to each row, in order, as int64: those of row r are order[first[r]] up to order[end[r]].
struct Inverted {
  int index;
  Size rows;
  int first, end, order;
};

/// Builds the operations that add such values or select one of them.
class Places : public Pairs {
 public:
  Places(Graph& out, const Node& node, Sizes all) : Pairs(out, node, std::move(all)) {}

  /// Inverts the index of a scatter, or returns it from `known`.
  Inverted inverted(std::vector<Inverted>& known) {
    const int index = node_.inputs[1];
    const Size rows = node_.shape[0], k = out_.nodes[index].shape[0];
    for (const Inverted& each : known)
      if (each.index == index && each.rows.same(rows)) return each;
    // Only the length of the call's second operand counts.
    const int one = part(index, 0, 1);
    const int call = computed(Op::invert_index, DType::int32, {rows + 1 + k}, {index, push_view(out_, Op::broadcast, one, {rows}, node_.from)});
    out_.nodes[call].call = node_.call;
    const auto wide = [&](const Size& first, const Size& count) { return computed(Op::cast, DType::int64, {count}, {part(call, first, count)}); };
    known.push_back({index, rows, wide(0, rows), wide(1, rows), wide(rows + 1, k)});
    return known.back();
  }
  int view(int input, const Sizes& as, const Sizes& shape) {
    return push_view(out_, Op::broadcast, push_view(out_, Op::reshape, input, as, node_.from), shape, node_.from);
  }
  /// Gathers elements of x along its first axis at positions that are in range.
  int gathered(int x, int places) {
    const int gather = computed(Op::gather, out_.nodes[x].dtype, out_.nodes[places].shape, {x, places});
    out_.nodes[gather].ints = {0};
    out_.nodes[gather].made = true;
    return gather;
  }

 private:
  int part(int input, const Size& first, const Size& count) {
    const int slice = push_view(out_, Op::slice, input, {count}, node_.from);
    out_.nodes[slice].ints = {first, 1};
    return slice;
  }
};

/// Combines each row's values with it, from the first to the last.
int combined_in_order(Graph& out, const Node& node, std::vector<Inverted>& known) {
  const Op reduction = *reduction_of(node.op);
  const Size rows = node.shape[0], columns = node.shape[1], k = out.nodes[node.inputs[1]].shape[0];
  Places places(out, node, {rows, columns, k});
  const Inverted by = places.inverted(known);
  const int given = places.gathered(node.inputs[2], places.view(by.order, {k, 1}, {k, columns}));
  const int turned = places.computed(Op::permute, node.dtype, {columns, k}, {given});
  out.nodes[turned].ints = {1, 0};
  const int place = places.count(2);
  const auto both = [&](Op op, int a, int b) { return places.compute(op, DType::bool_, {a, b}); };
  const int inside =
      both(Op::bitwise_and, both(Op::less_equal, places.spread(by.first, {rows, 1, 1}), place), both(Op::less, place, places.spread(by.end, {rows, 1, 1})));
  const int neutral = places.constant(trace::neutral(reduction, node.dtype)), first = places.view(by.first, {rows, 1}, node.shape),
            end = places.view(by.end, {rows, 1}, node.shape);
  const int all = places.reduced(reduction, places.compute(Op::where, node.dtype, {inside, places.spread(turned, {1, columns, k}), neutral}));
  out.nodes[all].inputs.insert(out.nodes[all].inputs.end(), {first, end});
  out.nodes[all].taken = (k + rows - 1) / rows;
  return places.computed(trace::primitive(reduction).combine, node.dtype, node.shape, {node.inputs[0], all});
}

/// Replaces each row by its last value.
int last_in_order(Graph& out, const Node& node, std::vector<Inverted>& known) {
  const Sizes rows{node.shape[0]}, column{node.shape[0], 1};
  Places places(out, node, rows);
  const Inverted by = places.inverted(known);
  const auto literal = [&](std::int64_t value) { return places.constant(trace::make_scalar_int(DType::int64, value)); };
  const int last = places.compute(Op::maximum, DType::int64, {places.compute(Op::subtract, DType::int64, {by.end, literal(1)}), literal(0)});
  const int given = places.gathered(node.inputs[2], places.view(places.gathered(by.order, last), column, node.shape));
  const int any = places.view(places.compute(Op::less, DType::bool_, {by.first, by.end}), column, node.shape);
  return places.computed(Op::where, node.dtype, node.shape, {any, given, node.inputs[0]});
}

/// The call that would sort a sort's operand, or invert a scatter's index, with the present sizes.
LibraryCall call_by_digits(const Graph& graph, const Node& node) {
  LibraryCall call;
  const auto operand = [&](int input) {
    LibraryOperand& one = call.operands.emplace_back();
    one.dtype = graph.nodes[input].dtype;
    one.shape = hints(graph.nodes[input].shape);
  };
  if (node.op == Op::sort || node.op == Op::argsort) {
    call.op = node.op;
    call.shape = hints(node.shape);
    operand(node.inputs[0]);
    return call;
  }
  call.op = Op::invert_index;
  operand(node.inputs[1]);
  operand(node.inputs[1]);
  call.operands[1].shape = {node.shape[0].hint()};
  call.shape = {node.shape[0].hint() + 1 + call.operands[0].shape[0]};
  return call;
}

/// Returns whether kernels that sort by digits compute a sort or scatter. They do unless comparing all pairs takes at most twice as long, because the kernels
/// that compare can fuse with others.
bool goes_by_digits(const Graph& graph, const Node& node, const Limits& limits) {
  const bool sorts = node.op == Op::sort || node.op == Op::argsort;
  if (!limits.sorts_by_digits || (!sorts && node.op != Op::scatter && !reduction_of(node.op))) return false;
  const Node& compared = graph.nodes[node.inputs[sorts ? 0 : 1]];
  if (compared.elements == 0 || node.elements == 0) return false;
  const double each = sorts ? kSortedPair : kMatchedPair;
  const double ops = each * as_double(sorts ? compared.elements : node.elements) * as_double(compared.shape.back());
  const LibraryCall call = call_by_digits(graph, node);
  const double items = as_double(compared.elements), combined = sorts ? 0 : 2 * as_double(node.elements) * static_cast<double>(itemsize(node.dtype));
  const double linear = (3 * passes_by_digits(call) + 4) * limits.launch_seconds +
                        (bytes_by_digits(call) + combined + items * static_cast<double>(itemsize(compared.dtype))) / limits.bandwidth;
  const Estimating estimate;
  // The result is correct for either choice at other sizes, so this is only an estimate. But positions have 32 bits.
  return ops / limits.throughput > 2 * linear;
}

/// Returns whether the numbers of the items fit into 32 bits; this leaves a guard on the sizes.
bool numbers_fit(const Graph& graph, const Node& node) {
  constexpr std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  if (node.op == Op::sort || node.op == Op::argsort) return graph.nodes[node.inputs[0]].elements <= largest;
  return node.shape[0] + 1 + graph.nodes[node.inputs[1]].elements <= largest;
}

int by_digits_of(Graph& out, Node node, std::vector<Inverted>& known) {
  switch (node.op) {
    case Op::scatter: return last_in_order(out, node, known);
    case Op::sort:
    case Op::argsort: return push(out, std::move(node));
    default: return combined_in_order(out, node, known);
  }
}

/// There is no useful expansion, so the call stays.
int on_host(Graph& out, const Node& node) { return push(out, node); }

int expanded(Graph& out, Node node) {
  switch (node.op) {
#define SINTER_LIBRARY(id, arity, sharding, takes, shape, result, layout, pieces, gpu, expansion, ...) \
  case Op::id: return expansion(out, node);
#include "trace/primitives.def"
    default: return push(out, std::move(node));
  }
}

}  // namespace

Graph expand_library_calls(Graph graph, const Limits& limits) {
  // A call that the device sorts by digits stays, or is expanded into such a call.
  const auto needed = [&](const Node& node) {
    return trace::is_library(node.op) && (!has_library(limits, node.op, node.dtype) || node.op == Op::sort || node.op == Op::argsort);
  };
  std::vector<Inverted> inverted;
  return rebuild(std::move(graph), needed, [&](Graph& out, Node node) {
    if (!needed(node)) return push(out, std::move(node));
    if (goes_by_digits(out, node, limits) && numbers_fit(out, node)) return by_digits_of(out, std::move(node), inverted);
    return expanded(out, std::move(node));
  });
}

}  // namespace sinter::fuse
