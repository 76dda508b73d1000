#include "trace/build.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/pool.hpp"
#include "sinter/adopt.hpp"
#include "trace/known_shapes.hpp"
#include "trace/library.hpp"
#include "trace/loops.hpp"

namespace sinter::trace {
namespace {

RecordedPtr new_node(const Site& site, Op op, DType dtype, ShapePtr shape) {
  auto node = std::allocate_shared<Recorded>(PoolAllocator<Recorded>(), std::move(shape));
  node->op = op;
  node->dtype = dtype;
  node->called = site.op;
  node->where = site.where;
  return node;
}

RecordedPtr new_node(const Site& site, Op op, DType dtype, const Shape& shape) { return new_node(site, op, dtype, shared_shape(shape)); }

/// Returns the operand of a one-operand node of this op that is not evaluated yet; null otherwise.
RecordedPtr operand_of(const RecordedPtr& x, Op op) {
  if (x->op != op) return nullptr;
  const Operands inputs = x->inputs();
  return inputs.empty() ? nullptr : inputs.front();
}

/// If a slice of a pad reads only one of the pad's operands, returns that operand, and start_step becomes its slice. So a loop that assigns to the rows of x
/// one by one reads only the row before, and not all of x.
RecordedPtr seen_through(RecordedPtr x, std::vector<std::int64_t>& start_step, const Shape& shape) {
  while (x->op == Op::pad) {
    const Operands inputs = x->inputs();
    if (inputs.empty()) break;  // the node was evaluated, so its elements are in memory
    bool within = true, apart = false;
    for (std::size_t k = 0; k < shape.size(); ++k) {
      const std::int64_t first = start_step[2 * k], last = first + (shape[k] - 1) * start_step[2 * k + 1];
      const std::int64_t begin = x->ints[2 * k], end = x->shape[k] - x->ints[2 * k + 1];
      within &= std::min(first, last) >= begin && std::max(first, last) < end;
      apart |= std::max(first, last) < begin || std::min(first, last) >= end;
    }
    if (!within && !apart) break;
    if (within)
      for (std::size_t k = 0; k < shape.size(); ++k) start_step[2 * k] -= x->ints[2 * k];
    x = inputs[within ? 0 : 1];
  }
  return x;
}

/// Returns a literal for a node without elements, so that no kernel has an empty operand; null for a node with elements.
RecordedPtr empty(const Site& site, DType dtype, std::span<const std::int64_t> shape) {
  return std::find(shape.begin(), shape.end(), 0) == shape.end() ? nullptr : make_constant(site, make_scalar_int(dtype, 0), shared_shape(shape));
}

bool is_constant(const RecordedPtr& x) { return x->op == Op::constant; }

bool is_zero(const RecordedPtr& x) {
  if (!is_constant(x)) return false;
  return is_floating(x->dtype) ? std::bit_cast<std::uint64_t>(x->scalar.f) == 0 : x->scalar.i == 0;  // +0.0 only
}
bool is_one(const RecordedPtr& x) { return is_constant(x) && x->scalar.as_double() == 1; }

/// Returns the operand that the op returns unchanged because the other one is its identity; null when there is none.
RecordedPtr identity(const Primitive& row, const Operands& x) {
  if (x.size() != 2) return nullptr;
  const bool integral = !is_floating(x[0]->dtype);
  switch (row.identity) {
    case Identity::none: return nullptr;
    case Identity::int_zero:
      if (integral && is_zero(x[1])) return x[0];
      return integral && is_zero(x[0]) ? x[1] : nullptr;
    case Identity::right_zero: return is_zero(x[1]) ? x[0] : nullptr;
    case Identity::right_one: return is_one(x[1]) ? x[0] : nullptr;
    case Identity::both_one:
      if (is_one(x[1])) return x[0];
      return is_one(x[0]) ? x[1] : nullptr;
    case Identity::right_one_int: return integral && is_one(x[1]) ? x[0] : nullptr;
  }
  return nullptr;
}

/// Returns a simpler node with the same value as the op on these operands, or null.
RecordedPtr simplified(const Site& site, Op op, const Operands& x) {
  if (RecordedPtr same = identity(primitive(op), x)) return same;
  if (op == Op::negative || op == Op::bitwise_not) {
    if (RecordedPtr inner = operand_of(x[0], op)) return inner;
  }
  if (op == Op::absolute && x[0]->op == op) return x[0];
  if (op == Op::where) return is_constant(x[0]) ? x[x[0]->scalar.i != 0 ? 1 : 2] : nullptr;
  if (!std::all_of(x.begin(), x.end(), is_constant)) return nullptr;
  std::array<Scalar, 3> literals;
  for (std::size_t i = 0; i < x.size(); ++i) literals[i] = x[i]->scalar;
  Scalar value;
  if (!fold(op, std::span(literals.data(), x.size()), value)) return nullptr;
  return make_constant(site, value, x[0]->shape_owner);
}

}  // namespace

StoragePtr host_storage(const Site& site, std::size_t bytes) {
  auto storage = std::make_shared<Storage>();
  try {
    storage->host = allocate_host(bytes);
  } catch (const DeviceError& error) {
    fail_on_device(site, error, error.what());
  }
  storage->bytes = bytes;
  storage->own = true;
  return storage;
}

RecordedPtr with_operands(const Recorded& node, Operands&& inputs) {
  RecordedPtr same = new_node({node.called, node.where}, node.op, is_view(node.op) ? inputs[0]->dtype : node.dtype, node.shape_owner);
  same->ints = node.ints;
  same->scalar = node.scalar;
  same->label = node.label.load();
  return record(std::move(same), std::move(inputs));
}

RecordedPtr make_data(const Site& site, DType dtype, Shape shape, StoragePtr storage, std::shared_ptr<void> history) {
  RecordedPtr node = new_node(site, Op::data, dtype, std::move(shape));
  node->symbolic = storage == nullptr;
  node->known = storage != nullptr;
  node->storage = std::move(storage);
  node->made_by = std::move(history);
  return node;
}

RecordedPtr make_constant(const Site& site, const Scalar& value, const Shape& shape) { return make_constant(site, value, shared_shape(shape)); }

RecordedPtr make_constant(const Site& site, const Scalar& value, ShapePtr shape) {
  RecordedPtr node = new_node(site, Op::constant, value.dtype, std::move(shape));
  node->scalar = value;
  return node;
}

RecordedPtr make_iota(const Site& site, std::int64_t count) { return new_node(site, Op::iota, DType::int64, Shape{count}); }

RecordedPtr make_elementwise(const Site& site, Op op, Operands&& inputs) {
  if (RecordedPtr simpler = simplified(site, op, inputs)) return simpler;
  const RecordedPtr& typed = op == Op::where ? inputs[1] : inputs[0];
  const DType dtype = primitive(op).result == Result::boolean ? DType::bool_ : typed->dtype;
  if (RecordedPtr nothing = empty(site, dtype, typed->shape)) return nothing;
  RecordedPtr node = new_node(site, op, dtype, typed->shape_owner);
  return record(std::move(node), std::move(inputs));
}

RecordedPtr make_cast(const Site& site, const RecordedPtr& x, DType dtype) {
  if (x->dtype == dtype) return x;
  if (RecordedPtr nothing = empty(site, dtype, x->shape)) return nothing;
  if (is_constant(x)) {
    Scalar value;
    if (fold_cast(x->scalar, dtype, value)) return make_constant(site, value, x->shape_owner);
  }
  // A lossless cast preserves the value, so casting the value before it gives the same result. An exception is a cast from integer to integer over a floating
  // type, which may wrap in another way than the direct cast.
  const bool detour = is_floating(x->dtype) && is_integer(dtype);
  if (const RecordedPtr inner = operand_of(x, Op::cast);
      inner && lossless(inner->dtype, x->dtype) && (!detour || !is_integer(inner->dtype) || lossless(inner->dtype, dtype))) {
    return make_cast(site, inner, dtype);
  }
  return record(new_node(site, Op::cast, dtype, x->shape_owner), {x});
}

RecordedPtr make_reshape(const Site& site, const RecordedPtr& x, std::span<const std::int64_t> shape) {
  if (std::equal(x->shape.begin(), x->shape.end(), shape.begin(), shape.end())) return x;
  if (is_constant(x)) return make_constant(site, x->scalar, shared_shape(shape));
  if (RecordedPtr nothing = empty(site, x->dtype, shape)) return nothing;
  if (const RecordedPtr inner = operand_of(x, Op::reshape)) return make_reshape(site, inner, shape);
  return record(new_node(site, Op::reshape, x->dtype, shared_shape(shape)), {x});
}

RecordedPtr make_permute(const Site& site, const RecordedPtr& x, const std::vector<std::int64_t>& axes) {
  Shape shape(axes.size(), 0);
  bool identity = true;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    shape[k] = x->shape[static_cast<std::size_t>(axes[k])];
    identity &= axes[k] == static_cast<std::int64_t>(k);
  }
  if (identity) return x;
  if (is_constant(x)) return make_constant(site, x->scalar, shape);
  if (RecordedPtr nothing = empty(site, x->dtype, shape)) return nothing;
  if (const RecordedPtr inner = operand_of(x, Op::permute)) {
    std::vector<std::int64_t> both(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) both[k] = x->ints[static_cast<std::size_t>(axes[k])];
    return make_permute(site, inner, both);
  }
  RecordedPtr node = new_node(site, Op::permute, x->dtype, std::move(shape));
  node->ints = axes;
  return record(std::move(node), {x});
}

RecordedPtr make_broadcast(const Site& site, const RecordedPtr& x, const Shape& shape) {
  return x->shape == shape ? x : make_broadcast(site, x, shared_shape(shape));
}

RecordedPtr make_broadcast(const Site& site, const RecordedPtr& x, const ShapePtr& shape) {
  if (x->shape == *shape) return x;
  if (is_constant(x)) return make_constant(site, x->scalar, shape);
  if (RecordedPtr nothing = empty(site, x->dtype, *shape)) return nothing;
  if (const RecordedPtr inner = operand_of(x, Op::broadcast)) return make_broadcast(site, inner, shape);
  return record(new_node(site, Op::broadcast, x->dtype, shape), {x});
}

RecordedPtr make_slice(const Site& site, const RecordedPtr& x, std::vector<std::int64_t> start_step, Shape shape, bool keep_whole) {
  bool full = true;
  for (std::size_t k = 0; k < shape.size(); ++k) {  // gives each slice a unique form
    if (shape[k] == 0) start_step[2 * k] = 0;
    if (shape[k] <= 1) start_step[2 * k + 1] = 1;
    full &= shape[k] == x->shape[k] && start_step[2 * k] == 0 && start_step[2 * k + 1] == 1;
  }
  if (full && !keep_whole) return x;
  if (is_constant(x)) return make_constant(site, x->scalar, std::move(shape));
  if (RecordedPtr nothing = empty(site, x->dtype, shape)) return nothing;
  if (x->op == Op::pad) {
    look_through(*x);
    if (const RecordedPtr read = seen_through(x, start_step, shape); read != x) return make_slice(site, read, std::move(start_step), std::move(shape));
  }
  if (const RecordedPtr inner = operand_of(x, Op::slice)) {
    for (std::size_t k = 0; k < shape.size(); ++k) {
      start_step[2 * k] = x->ints[2 * k] + start_step[2 * k] * x->ints[2 * k + 1];
      start_step[2 * k + 1] *= x->ints[2 * k + 1];
    }
    return make_slice(site, inner, std::move(start_step), std::move(shape));
  }
  RecordedPtr node = new_node(site, Op::slice, x->dtype, std::move(shape));
  node->ints = std::move(start_step);
  return record(std::move(node), {x});
}

RecordedPtr make_pad(const Site& site, const RecordedPtr& x, const RecordedPtr& fill, std::vector<std::int64_t> before_after) {
  if (x->shape == fill->shape) return x;
  if (element_count(x->shape) == 0) return fill;
  if (is_constant(x) && is_constant(fill) && x->scalar.bits() == fill->scalar.bits()) return fill;
  RecordedPtr node = new_node(site, Op::pad, fill->dtype, fill->shape_owner);
  node->ints = std::move(before_after);
  return record(std::move(node), {x, fill});
}

RecordedPtr make_windows(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t count, std::int64_t stride, std::int64_t width,
                         std::int64_t dilation) {
  Shape shape = x->shape;
  shape[axis] = count;
  shape.push_back(width);
  check_shape(site, shape, x->dtype);
  if (is_constant(x)) return make_constant(site, x->scalar, std::move(shape));
  if (RecordedPtr nothing = empty(site, x->dtype, shape)) return nothing;
  RecordedPtr node = new_node(site, Op::windows, x->dtype, std::move(shape));
  node->ints = {static_cast<std::int64_t>(axis), count == 1 ? 1 : stride, width == 1 ? 1 : dilation};
  return record(std::move(node), {x});
}

RecordedPtr make_contiguous(const Site& site, const RecordedPtr& x) {
  if (x->op == Op::contiguous || x->op == Op::data) return x;
  if (RecordedPtr nothing = empty(site, x->dtype, x->shape)) return nothing;
  return record(new_node(site, Op::contiguous, x->dtype, x->shape_owner), {x});
}

RecordedPtr make_reduction(const Site& site, Op op, const RecordedPtr& x, std::vector<std::int64_t> axes) {
  FewSizes shape(x->shape.size() - axes.size());
  for (std::size_t k = 0, next = 0; k < x->shape.size(); ++k) {
    if (next < axes.size() && axes[next] == static_cast<std::int64_t>(k)) {
      ++next;
    } else {
      shape[k - next] = x->shape[k];
    }
  }
  if (RecordedPtr nothing = empty(site, x->dtype, shape)) return nothing;
  if (element_count(x->shape) == 0) return make_constant(site, make_scalar_int(x->dtype, op == Op::reduce_prod ? 1 : 0), shared_shape(shape));
  RecordedPtr node = new_node(site, op, x->dtype, shared_shape(shape));
  node->ints = std::move(axes);
  return record(std::move(node), {x});
}

RecordedPtr make_gather(const Site& site, const RecordedPtr& x, const RecordedPtr& index, std::int64_t axis) {
  RecordedPtr node = new_node(site, Op::gather, x->dtype, index->shape_owner);
  node->ints = {axis};
  return record(std::move(node), {x, index});
}

RecordedPtr make_scan(const Site& site, Op reduction, const RecordedPtr& x, std::int64_t axis) {
  if (x->shape[static_cast<std::size_t>(axis)] <= 1 || element_count(x->shape) == 0) return x;
  RecordedPtr node = new_node(site, Op::scan, x->dtype, x->shape_owner);
  node->ints = {axis, static_cast<std::int64_t>(reduction)};
  return record(std::move(node), {x});
}

RecordedPtr make_library(const Site& site, Op op, Operands operands, std::vector<std::int64_t> ints) {
  thread_local std::array<Shape, kMaxArity> room;  // its memory is kept, because recording a small product would spend much of its time on allocating it
  std::array<DType, kMaxArity> dtypes;
  std::size_t count = 0;
  for (const RecordedPtr& operand : operands) {
    dtypes[count] = operand->dtype;
    room[count++].assign(operand->shape.begin(), operand->shape.end());
  }
  const std::span<const Shape> shapes(room.data(), count);
  if (!library_takes(op, {shapes, std::span(dtypes).first(count), ints})) throw InternalError(fmt::format("{}: not recorded as its record says", name(op)));
  const DType dtype = library_dtype(op, operands[0]->dtype);
  Shape shape = library_shape(op, shapes, ints);
  check_shape(site, shape, dtype);
  if (RecordedPtr nothing = empty(site, dtype, shape)) return nothing;
  RecordedPtr node = new_node(site, op, dtype, std::move(shape));
  node->ints = std::move(ints);
  return record(std::move(node), std::move(operands));
}

}  // namespace sinter::trace
