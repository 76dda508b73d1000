// Gathers: take and take_along_axis, indexing with integer tensors, and the positions of the largest and smallest elements.
#include <limits>

#include <fmt/format.h>

#include "ops/gathers.hpp"
#include "ops/recording.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Converts indices to int64 that count from the front, and treats those out of range by the mode.
RecordedPtr places(const Site& site, const Tensor& indices, std::int64_t size, std::int64_t axis, IndexMode mode) {
  if (is_bool(indices.dtype())) fail<DTypeError>(site, "indices are integers, not bool; x(mask) and compress() read where a mask is true");
  if (!is_integer(indices.dtype())) fail<DTypeError>(site, fmt::format("indices are integers, not {}", name(indices.dtype())));
  if (size == 0 && element_count(indices.shape()) != 0) fail<IndexError>(site, fmt::format("axis {} is empty: there is nothing to take from it", axis));
  const Scope scope(site.op, site.where);
  // A number that int64 cannot hold is out of range, not negative.
  const Tensor held = indices.dtype() == DType::uint64 ? minimum(indices, std::numeric_limits<std::int64_t>::max()) : indices;
  const Tensor wide = astype(held, DType::int64);
  switch (mode) {
    case IndexMode::wrap: return size == 0 ? wide.node() : remainder(wide, size).node();
    case IndexMode::clip: return size == 0 ? wide.node() : clip(wide, 0, size - 1).node();
    case IndexMode::raise: break;
  }
  return where(less(wide, 0), wide + size, wide).node();
}

Tensor extreme_place(const char* name, const Arg& x, std::optional<std::int64_t> axis, bool keepdims, Tensor (*extreme)(const Arg&, const Axes&, bool)) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  RecordedPtr node = as_node(site, x);
  node = make_cast(site, node, traits(node->dtype).compute);
  const std::size_t rank = node->shape.size();
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  const auto along = static_cast<std::size_t>(rank == 0 && axis ? checked_axis(site, *axis, 1)
                                                                : checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(node->shape.size())));
  if (rank == 0 && axis) node = make_reshape(site, node, {1});
  const std::int64_t size = node->shape[along];
  Shape reduced = node->shape;
  reduced[along] = 1;
  if (size == 0 && element_count(reduced) != 0)
    fail<ValueError>(site, fmt::format("shape {} has no elements along axis {} to choose from", to_string(node->shape), along));
  const Tensor values(node);
  Tensor wanted = equal(values, extreme(values, static_cast<std::int64_t>(along), true));
  if (is_floating(node->dtype)) wanted = logical_or(wanted, isnan(values));  // a NaN counts as both the largest and the smallest element
  Shape count(node->shape.size(), 1);
  count[along] = size;
  const Tensor number{make_broadcast(site, make_reshape(site, make_iota(site, size), count), node->shape)};
  const Tensor place =
      min(where(wanted, number, Tensor(make_constant(site, make_scalar_int(DType::int64, size), Shape()))), static_cast<std::int64_t>(along), keepdims && axis);
  return keepdims && !axis ? reshape(place, Shape(rank, 1)) : place;
}

}  // namespace

Tensor take(const Arg& x, const Arg& indices, std::optional<std::int64_t> axis, IndexMode mode) {
  const Scope scope("take", x.where());
  const Site& site = scope.site();
  RecordedPtr node = as_node(site, x);
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  const std::int64_t along = checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(node->shape.size()));
  const std::int64_t size = node->shape[static_cast<std::size_t>(along)];
  return Tensor(make_take(site, node, places(site, Tensor(as_node(site, indices)), size, along, mode), along));
}

Tensor take_along_axis(const Arg& x, const Arg& indices, std::optional<std::int64_t> axis) {
  const Scope scope("take_along_axis", x.where());
  const Site& site = scope.site();
  RecordedPtr node = as_node(site, x), index = as_node(site, indices);
  if (!axis) node = make_reshape(site, node, {element_count(node->shape)});
  if (node->shape.size() != index->shape.size())
    fail<ShapeError>(site,
                     fmt::format("shape {} is looked up with indices of shape {}: both need as many axes", to_string(node->shape), to_string(index->shape)));
  const std::int64_t along = checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(node->shape.size()));
  const auto k = static_cast<std::size_t>(along);
  const std::int64_t size = node->shape[k];
  index = places(site, Tensor(index), size, along, IndexMode::raise);
  // All axes except the indexed one are broadcast together.
  Shape a = node->shape;
  a[k] = 1;
  const Shape* shapes[] = {&a, &index->shape};
  Shape result = broadcast_shape(site, shapes), wide = result;
  result[k] = index->shape[k];
  wide[k] = size;
  return Tensor(make_gather(site, make_broadcast(site, node, wide), make_broadcast(site, index, result), along));
}

Tensor argmax(const Arg& x, std::optional<std::int64_t> axis, bool keepdims) { return extreme_place("argmax", x, axis, keepdims, max); }
Tensor argmin(const Arg& x, std::optional<std::int64_t> axis, bool keepdims) { return extreme_place("argmin", x, axis, keepdims, min); }

}  // namespace sinter

namespace sinter::ops {

RecordedPtr make_take(const Site& site, const RecordedPtr& x, const RecordedPtr& places, std::int64_t axis) {
  const auto k = static_cast<std::ptrdiff_t>(axis);
  if (places->shape.empty()) {  // a single index, whose axis is removed
    const RecordedPtr one = make_take(site, x, make_reshape(site, places, {1}), axis);
    Shape without = one->shape;
    without.erase(without.begin() + k);
    return make_reshape(site, one, without);
  }
  // An operand of shape before + (size,) + after is indexed by a tensor of shape I. The operand becomes before + (size, 1, ..) + after, the indices become (1,
  // ..) + I + (1, ..), and both are broadcast to before + I + after.
  const Shape before(x->shape.begin(), x->shape.begin() + k), after(x->shape.begin() + k + 1, x->shape.end());
  const auto assembled = [&](const Shape& head, const Shape& middle, const Shape& tail) {
    Shape shape = head;
    shape.insert(shape.end(), middle.begin(), middle.end());
    shape.insert(shape.end(), tail.begin(), tail.end());
    return shape;
  };
  const Shape result = assembled(before, places->shape, after);
  check_shape(site, result, x->dtype);
  Shape narrow(places->shape.size(), 1), wide = places->shape;
  narrow[0] = wide[0] = x->shape[static_cast<std::size_t>(axis)];
  const RecordedPtr table = make_broadcast(site, make_reshape(site, x, assembled(before, narrow, after)), assembled(before, wide, after));
  const RecordedPtr index = make_reshape(site, places, assembled(Shape(before.size(), 1), places->shape, Shape(after.size(), 1)));
  return make_gather(site, table, make_broadcast(site, index, result), axis);
}

RecordedPtr checked_places(const Site& site, const Tensor& indices, std::int64_t size, std::int64_t axis) {
  return places(site, indices, size, axis, IndexMode::raise);
}

RecordedPtr make_lookup(const Site& site, const RecordedPtr& x, const std::vector<Tensor>& indices, std::int64_t axis) {
  const auto first = static_cast<std::size_t>(axis);
  if (indices.size() == 1) return make_take(site, x, checked_places(site, indices[0], x->shape[first], axis), axis);
  const Scope scope(site.op, site.where);
  // Adjacent axes become one axis with the product of their sizes. Each index is gathered from the numbers of its own axis, which checks its range.
  std::vector<const Shape*> shapes;
  for (const Tensor& index : indices) shapes.push_back(&index.shape());
  const Shape common = broadcast_shape(site, shapes);
  Tensor place;
  std::int64_t count = 1;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    const std::int64_t size = x->shape[first + k];
    const std::int64_t own = axis + static_cast<std::int64_t>(k);
    const RecordedPtr index = make_broadcast(site, checked_places(site, indices[k], size, own), common);
    Shape along(first + k, 1);  // so that an error names the axis
    along.push_back(size);
    const RecordedPtr numbers = make_reshape(site, make_iota(site, size), along);
    const Tensor checked(make_reshape(site, make_take(site, numbers, index, own), common));
    place = k == 0 ? checked : place * size + checked;
    count *= size;
  }
  Shape merged = x->shape;
  const auto begin = merged.begin() + static_cast<std::ptrdiff_t>(first);
  merged.insert(merged.erase(begin, begin + static_cast<std::ptrdiff_t>(indices.size())), count);
  return make_take(site, make_reshape(site, x, merged), place.node(), axis);
}

}  // namespace sinter::ops
