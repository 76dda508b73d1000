#include "fuse/in_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/blocked.hpp"

namespace sinter::fuse {
namespace {

constexpr std::int64_t kBlock = kChannelBlock;

std::int64_t blocks_of(std::int64_t channels) { return up_to_blocks(channels) / kBlock; }

Shape blocked_shape(Shape shape, const InBlocks& like) {
  shape[like.axis] = blocks_of(shape[like.axis]);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(like.lane), kBlock);
  return shape;
}

/// Returns the node's axis that corresponds to this axis of the value.
std::size_t moved(std::size_t axis, const InBlocks& value) { return axis < value.lane ? axis : axis + 1; }

Filling zeros(DType dtype) { return {true, trace::make_scalar_int(dtype, 0)}; }
bool is_zero(const Filling& filling) { return filling.number && filling.number->as_double() == 0; }
Filling of_number(const Scalar& number) { return {!is_floating(number.dtype) || std::abs(number.as_double()) < 1e30, number}; }

// --- element by element ------------------------------------------------------------------------------------------------

/// Returns whether the op's result is finite for finite operands: bounded functions, and selections among operands.
bool stays_finite(Op op) {
  switch (op) {
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::ndtr:
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::rint:
    case Op::trunc:
    case Op::maximum:
    case Op::minimum:
    case Op::where:
    case Op::absolute:
    case Op::negative: return true;
    default: return trace::primitive(op).result == trace::Result::boolean;
  }
}

Filling filling_of(const Recorded& node, std::span<const Filling> operands) {
  const bool finite = std::all_of(operands.begin(), operands.end(), [](const Filling& one) { return one.finite; });
  if (std::all_of(operands.begin(), operands.end(), [](const Filling& one) { return one.number.has_value(); })) {
    std::array<Scalar, 3> numbers;
    for (std::size_t k = 0; k < operands.size(); ++k) numbers[k] = *operands[k].number;
    Scalar result;
    result.dtype = node.dtype;
    if (node.op == Op::cast ? trace::fold_cast(numbers[0], node.dtype, result) : trace::fold(node.op, std::span(numbers.data(), operands.size()), result))
      return of_number(result);
  }
  if (finite && node.op == Op::multiply && (is_zero(operands[0]) || is_zero(operands[1]))) return zeros(node.dtype);
  if (node.op == Op::cast && (itemsize(node.dtype) >= 8 || node.dtype == DType::float32)) return {operands[0].finite, {}};
  return {finite && (stays_finite(node.op) || !is_floating(node.dtype)), {}};
}

/// Prepares the other operand of an operation on blocks: one number, or one for each channel, is put in blocks before it is broadcast.
std::pair<RecordedPtr, Filling> beside(const Site& site, const RecordedPtr& x, const InBlocks& like) {
  const Shape whole = blocked_shape(x->shape, like);
  if (x->op == Op::constant) return {trace::make_constant(site, x->scalar, whole), of_number(x->scalar)};
  RecordedPtr narrow = x;
  if (x->op == Op::broadcast)
    if (const Operands inputs = x->inputs(); !inputs.empty()) {
      Shape shape(x->shape.size() - inputs[0]->shape.size(), 1);
      shape.insert(shape.end(), inputs[0]->shape.begin(), inputs[0]->shape.end());
      narrow = trace::make_reshape(site, inputs[0], shape);
    }
  const bool one_for_all = narrow->shape[like.axis] == 1 && like.channels != 1;
  return {trace::make_broadcast(site, block(site, narrow, like), whole), one_for_all ? Filling{!is_floating(x->dtype), {}} : zeros(x->dtype)};
}

RecordedPtr plain_of(const Site& site, const BlockedOperand& operand) { return operand.plain ? operand.plain : unblock(site, *operand.blocked); }

RecordedPtr computed(const Site& site, const Recorded& node, const std::vector<RecordedPtr>& x) {
  if (node.op == Op::cast) return trace::make_cast(site, x[0], node.dtype);
  switch (x.size()) {
    case 1: return trace::make_elementwise(site, node.op, Operands(x[0]));
    case 2: return trace::make_elementwise(site, node.op, Operands(x[0], x[1]));
    default: return trace::make_elementwise(site, node.op, Operands(x[0], x[1], x[2]));
  }
}

std::optional<InBlocks> elementwise(const Site& site, const Recorded& node, std::span<const BlockedOperand> operands) {
  const InBlocks* like = nullptr;
  for (const BlockedOperand& operand : operands)
    if (operand.blocked && !like) like = operand.blocked;
  std::vector<RecordedPtr> x;
  std::vector<Filling> fillings;
  for (const BlockedOperand& operand : operands) {
    if (operand.blocked && operand.blocked->lie_like(*like)) {
      x.push_back(operand.blocked->node);
      fillings.push_back(operand.blocked->filling);
      continue;
    }
    auto [other, filling] = beside(site, plain_of(site, operand), *like);
    x.push_back(std::move(other));
    fillings.push_back(filling);
  }
  return InBlocks{computed(site, node, x), like->channels, like->axis, like->lane, filling_of(node, fillings)};
}

// --- views and reductions ------------------------------------------------------------------------------------------------

std::optional<InBlocks> reshaped(const Site& site, const Recorded& node, const InBlocks& x, const Shape& from) {
  const Shape& to = node.shape;
  if (x.lane != from.size()) return {};  // the elements of a block are neighbours
  const auto product = [](const Shape& shape, std::size_t begin, std::size_t end) {
    std::int64_t all = 1;
    for (std::size_t k = begin; k < end; ++k) all *= shape[k];
    return all;
  };
  const std::int64_t behind = product(from, x.axis + 1, from.size());
  // Finds the axis after which both shapes have equally many elements: it is the axis of channels, or a part of it in whole blocks.
  for (std::size_t axis = to.size(); axis-- > 0;) {
    const std::int64_t rest = product(to, axis + 1, to.size());
    if (rest > behind) return {};
    if (rest != behind || to[axis] == 1) continue;
    const bool same = to[axis] == x.channels;
    if (!same && (x.channels % to[axis] != 0 || to[axis] % kBlock != 0)) return {};
    InBlocks result{nullptr, to[axis], axis, to.size(), x.filling};
    result.node = trace::make_reshape(site, x.node, blocked_shape(to, result));
    return result;
  }
  return {};
}

std::optional<InBlocks> permuted(const Site& site, const Recorded& node, const InBlocks& x) {
  if (x.lane != node.shape.size()) return {};
  std::vector<std::int64_t> axes = node.ints;
  const auto at = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(x.axis)) - axes.begin();
  axes.push_back(static_cast<std::int64_t>(x.lane));
  return InBlocks{trace::make_permute(site, x.node, axes), x.channels, static_cast<std::size_t>(at), x.lane, x.filling};
}

std::optional<InBlocks> sliced(const Site& site, const Recorded& node, const InBlocks& x) {
  std::int64_t first = node.ints[2 * x.axis];
  const std::int64_t step = node.ints[2 * x.axis + 1], channels = node.shape[x.axis];
  const bool to_the_end = first + channels == x.channels;
  if (step != 1 || first % kBlock != 0 || (channels % kBlock != 0 && !to_the_end)) return {};
  InBlocks result{nullptr, channels, x.axis, x.lane, x.filling};
  std::vector<std::int64_t> start_step = node.ints;
  start_step[2 * x.axis] = first / kBlock;
  start_step.insert(start_step.begin() + static_cast<std::ptrdiff_t>(2 * x.lane), {0, 1});
  result.node = trace::make_slice(site, x.node, std::move(start_step), blocked_shape(node.shape, result), true);
  return result;
}

std::optional<InBlocks> padded(const Site& site, const Recorded& node, std::span<const BlockedOperand> operands) {
  const InBlocks* like = operands[0].blocked ? operands[0].blocked : operands[1].blocked;
  const std::int64_t before = node.ints[2 * like->axis], after = node.ints[2 * like->axis + 1];
  const std::int64_t channels = operands[0].shape[like->axis];
  if (before % kBlock != 0 || (after != 0 && (after % kBlock != 0 || channels % kBlock != 0))) return {};
  InBlocks result{nullptr, node.shape[like->axis], like->axis, like->lane, {}};
  std::array<RecordedPtr, 2> x;
  std::array<Filling, 2> fillings;
  for (std::size_t k = 0; k < 2; ++k) {
    InBlocks each = result;
    each.channels = operands[k].shape[like->axis];
    if (operands[k].blocked && operands[k].blocked->lie_like(each)) {
      x[k] = operands[k].blocked->node;
      fillings[k] = operands[k].blocked->filling;
    } else {
      std::tie(x[k], fillings[k]) = beside(site, plain_of(site, operands[k]), each);
    }
  }
  std::vector<std::int64_t> widths = node.ints;
  widths[2 * like->axis] = before / kBlock;
  widths[2 * like->axis + 1] = blocks_of(result.channels) - before / kBlock - blocks_of(channels);
  widths.insert(widths.begin() + static_cast<std::ptrdiff_t>(2 * like->lane), {0, 0});
  result.node = trace::make_pad(site, x[0], x[1], std::move(widths));
  const bool equal = fillings[0].number && fillings[1].number && *fillings[0].number == *fillings[1].number;
  result.filling = equal ? fillings[0] : Filling{fillings[0].finite && fillings[1].finite, {}};
  return result;
}

std::optional<InBlocks> spread(const Site& site, const Recorded& node, const InBlocks& x, const Shape& from) {
  if (from.size() != node.shape.size() || node.shape[x.axis] != x.channels) return {};
  return InBlocks{trace::make_broadcast(site, x.node, blocked_shape(node.shape, x)), x.channels, x.axis, x.lane, x.filling};
}

std::optional<InBlocks> windowed(const Site& site, const Recorded& node, const InBlocks& x) {
  const auto axis = static_cast<std::size_t>(node.ints[0]);
  if (axis == x.axis) return {};
  return InBlocks{trace::make_windows(site, x.node, moved(axis, x), node.shape[axis], node.ints[1], node.shape.back(), node.ints[2]), x.channels, x.axis,
                  x.lane, x.filling};
}

std::optional<InBlocks> reduced(const Site& site, const Recorded& node, const InBlocks& x) {
  std::vector<std::int64_t> axes;
  InBlocks result{nullptr, x.channels, x.axis, x.lane, x.filling};
  for (const std::int64_t axis : node.ints) {
    if (axis == static_cast<std::int64_t>(x.axis)) return {};
    const std::size_t to = moved(static_cast<std::size_t>(axis), x);
    axes.push_back(static_cast<std::int64_t>(to));
    result.axis -= to < x.axis ? 1 : 0;
    result.lane -= to < x.lane ? 1 : 0;
  }
  result.node = trace::make_reduction(site, node.op, x.node, std::move(axes));
  const bool same = node.op == Op::reduce_max || node.op == Op::reduce_min || is_zero(x.filling);
  if (!same) result.filling = {!is_floating(node.dtype), {}};
  return result;
}

}  // namespace

bool wastes(std::int64_t filters, std::int64_t channels, bool behind_blocks) { return filled_up(filters) * filled_up(channels) > (behind_blocks ? 6 : 3); }

RecordedPtr block(const Site& site, const RecordedPtr& x, const InBlocks& like) {
  Shape shape = x->shape;
  const auto lane = static_cast<std::ptrdiff_t>(like.lane), axis = static_cast<std::ptrdiff_t>(like.axis);
  if (shape[like.axis] == 1 && like.channels != 1) {
    shape.insert(shape.begin() + lane, 1);
    return trace::make_reshape(site, x, shape);
  }
  RecordedPtr whole = x;
  const std::int64_t channels = shape[like.axis], more = blocks_of(channels) * kBlock - channels;
  if (more > 0) {
    std::vector<std::int64_t> widths(2 * shape.size(), 0);
    widths[2 * like.axis + 1] = more;
    shape[like.axis] += more;
    whole = trace::make_pad(site, x, trace::make_constant(site, trace::make_scalar_int(x->dtype, 0), shape), std::move(widths));
  }
  shape[like.axis] /= kBlock;
  shape.insert(shape.begin() + axis + 1, kBlock);
  std::vector<std::int64_t> order;
  for (std::ptrdiff_t k = 0; k < std::ssize(shape); ++k) order.push_back(k <= axis || k > lane ? k : k == lane ? axis + 1 : k + 1);
  return trace::make_permute(site, trace::make_reshape(site, whole, shape), order);
}

RecordedPtr unblock(const Site& site, const InBlocks& value) {
  const auto lane = static_cast<std::ptrdiff_t>(value.lane), axis = static_cast<std::ptrdiff_t>(value.axis);
  std::vector<std::int64_t> order;
  for (std::ptrdiff_t k = 0; k < std::ssize(value.node->shape); ++k) order.push_back(k <= axis || k > lane ? k : k == axis + 1 ? lane : k - 1);
  const RecordedPtr apart = trace::make_permute(site, value.node, order);
  Shape shape = apart->shape;
  shape[value.axis] *= kBlock;
  shape.erase(shape.begin() + axis + 1);
  const RecordedPtr whole = trace::make_reshape(site, apart, shape);
  std::vector<std::int64_t> start_step(2 * shape.size(), 0);
  for (std::size_t k = 0; k < shape.size(); ++k) start_step[2 * k + 1] = 1;
  shape[value.axis] = value.channels;
  return trace::make_slice(site, whole, std::move(start_step), shape);
}

RecordedPtr with_zeros(const Site& site, const InBlocks& value) {
  if (value.channels % kBlock == 0 || value.filling.finite) return value.node;
  const Shape& shape = value.node->shape;
  Shape apart(shape.size(), 1);
  apart[value.axis] = shape[value.axis];
  apart[value.lane] = kBlock;
  const std::int64_t all = shape[value.axis] * kBlock;
  const RecordedPtr number = trace::make_iota(site, all), count = trace::make_constant(site, trace::make_scalar_int(DType::int64, value.channels), Shape{all});
  const RecordedPtr there = trace::make_elementwise(site, Op::less, Operands(number, count));
  return trace::make_elementwise(site, Op::where,
                                 Operands(trace::make_broadcast(site, trace::make_reshape(site, there, apart), shape), value.node,
                                          trace::make_constant(site, trace::make_scalar_int(value.node->dtype, 0), shape)));
}

RecordedPtr with_rows(const Site& site, const RecordedPtr& x) {
  Shape shape = x->shape;
  shape.insert(shape.begin() + 2, 1);
  return trace::make_reshape(site, x, shape);
}

trace::Convolution with_rows(trace::Convolution how) {
  for (auto* list : {&how.stride, &how.dilation}) list->insert(list->begin(), 1);
  for (auto* list : {&how.before, &how.after}) list->insert(list->begin(), 0);
  return how;
}

RecordedPtr without_rows(const Site& site, const RecordedPtr& y) {
  Shape shape = y->shape;
  shape.erase(shape.begin() + 2);
  return trace::make_reshape(site, y, shape);
}

RecordedPtr min_or_max(const Recorded& node, const InBlocks& x) {
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : node.ints) axes.push_back(static_cast<std::int64_t>(moved(static_cast<std::size_t>(axis), x)));
  if (x.channels % kBlock != 0 || std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(x.axis)) == axes.end()) return nullptr;
  axes.push_back(static_cast<std::int64_t>(x.lane));
  std::sort(axes.begin(), axes.end());
  return trace::make_reduction({node.called, node.where}, node.op, x.node, std::move(axes));
}

RecordedPtr numbers_of_filters(const Site& site, const RecordedPtr& value, std::int64_t filters) {
  if (value->op == Op::constant) return trace::make_constant(site, value->scalar, Shape{1});
  const Operands operands = value->op == Op::broadcast ? value->inputs() : Operands(value);  // with one place there is no broadcast
  if (operands.empty()) return nullptr;
  const Shape& shape = operands[0]->shape;
  const std::size_t axes = value->shape.size() - 1;  // number of axes from the filters on
  const std::int64_t count = element_count(shape);
  const bool along = shape.size() >= axes && shape[shape.size() - axes] == filters && count == filters;
  return count == 1 || along ? trace::make_reshape(site, operands[0], Shape{count}) : nullptr;
}

std::optional<InBlocks> in_blocks(const Recorded& node, std::span<const BlockedOperand> operands) {
  const Site site{node.called, node.where};
  if (trace::is_elementwise(node.op)) return elementwise(site, node, operands);
  if (node.op == Op::pad) return padded(site, node, operands);
  if (operands.size() != 1) return {};
  const InBlocks& x = *operands[0].blocked;
  if (trace::is_reduction(node.op)) return reduced(site, node, x);
  switch (node.op) {
    case Op::reshape: return reshaped(site, node, x, operands[0].shape);
    case Op::permute: return permuted(site, node, x);
    case Op::slice: return sliced(site, node, x);
    case Op::broadcast: return spread(site, node, x, operands[0].shape);
    case Op::windows: return windowed(site, node, x);
    default: return {};
  }
}

}  // namespace sinter::fuse
