#include "ops/scatter.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ops/gathers.hpp"
#include "ops/in_place.hpp"
#include "ops/masks.hpp"
#include "ops/selection.hpp"
#include "sinter/counted.hpp"
#include "sinter/indexing.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace ops {
namespace {

/// Returns the dtype of sums: bools are counted and the count is compared with 0; 16-bit floats are rounded once, at the end.
DType sum_type(DType type) { return is_bool(type) ? DType::int64 : traits(type).compute; }

/// Writes rows to a matrix view of `whole`, or combines them with its rows, in the order of the values. Indices out of range were refused before.
RecordedPtr scattered(const Site& site, Op op, const RecordedPtr& whole, const RecordedPtr& places, const RecordedPtr& value, std::int64_t columns) {
  const std::int64_t count = element_count(places->shape);
  if (count == 0 || element_count(whole->shape) == 0) return whole;
  const DType type = op == Op::scatter ? whole->dtype : op == Op::scatter_add ? sum_type(whole->dtype) : traits(whole->dtype).compute;
  const auto matrix = [&](const RecordedPtr& x, std::int64_t rows) { return make_reshape(site, make_cast(site, x, type), {rows, columns}); };
  const RecordedPtr made =
      make_library(site, op, {matrix(whole, element_count(whole->shape) / columns), make_reshape(site, places, {count}), matrix(value, count)});
  return make_reshape(site, make_cast(site, made, whole->dtype), whole->shape);
}

/// Returns whether an index is 0, 1, 2, ... up to a size, along one axis of its shape.
bool counts_to(RecordedPtr index, std::int64_t size) {
  if (element_count(index->shape) != size) return false;
  const auto keeps_numbers = [](const Recorded& node) {
    return node.op == Op::reshape || node.op == Op::broadcast || (node.op == Op::cast && is_integer(node.dtype) && itemsize(node.dtype) >= 4);
  };
  while (keeps_numbers(*index)) {
    const Operands from = index->inputs();
    if (from.empty()) return false;  // it is evaluated
    index = from[0];
  }
  return index->op == Op::iota && index->shape == Shape{size};
}

/// Axes of `whole` along which an index selects all elements in order, independently of the other indices: x(reshape(arange(n), {n, 1}), i). They become
/// columns of the matrix that is written.
struct Beside {
  std::vector<std::int64_t> axes, part_axes;  // orders of the axes of the whole and of the part, in which these axes come after all other indexed axes
  std::vector<Index> others;                  // the other indices, whose shapes lack these axes of the part
  Shape part;
};

std::optional<Beside> beside(const Site& site, const Shape& whole, const std::vector<Index>& index) {
  std::vector<RecordedPtr> nodes;
  std::vector<const Shape*> shapes;
  for (const Index& i : index)
    if (i.kind() == Index::Kind::places) shapes.push_back(&nodes.emplace_back(node_of(site, i.places()))->shape);
  if (nodes.size() != index.size()) return {};
  const Shape common = broadcast_shape(site, shapes);
  const auto along = [&](const RecordedPtr& node, std::size_t axis) {
    const std::size_t missing = common.size() - node->shape.size();
    return axis < missing ? 1 : node->shape[axis - missing];
  };
  Beside found;
  std::vector<std::int64_t> moved, moved_of_part;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    std::size_t axis = 0;
    while (axis < common.size() && along(nodes[k], axis) == 1) ++axis;
    const auto changes = [&](const RecordedPtr& node) { return along(node, axis) != 1; };
    if (axis == common.size() || !counts_to(nodes[k], whole[k]) || std::count_if(nodes.begin(), nodes.end(), changes) > 1) {
      found.axes.push_back(static_cast<std::int64_t>(k));
      continue;
    }
    moved.push_back(static_cast<std::int64_t>(k));
    moved_of_part.push_back(static_cast<std::int64_t>(axis));
  }
  if (moved.empty() || found.axes.empty()) return {};
  const auto stays = [&](std::size_t axis) { return std::find(moved_of_part.begin(), moved_of_part.end(), axis) == moved_of_part.end(); };
  for (const std::int64_t k : found.axes) {
    const RecordedPtr& node = nodes[static_cast<std::size_t>(k)];
    Shape shape;
    for (std::size_t axis = 0; axis < common.size(); ++axis)
      if (stays(axis)) shape.push_back(along(node, axis));
    found.others.emplace_back(Tensor(make_reshape(site, node, shape)), site.where);
  }
  for (std::size_t axis = 0; axis < common.size(); ++axis)
    if (stays(axis)) found.part_axes.push_back(static_cast<std::int64_t>(axis));
  found.axes.insert(found.axes.end(), moved.begin(), moved.end());
  found.part_axes.insert(found.part_axes.end(), moved_of_part.begin(), moved_of_part.end());
  found.part = common;
  for (std::size_t k = index.size(); k < whole.size(); ++k) {
    found.axes.push_back(static_cast<std::int64_t>(k));
    found.part_axes.push_back(static_cast<std::int64_t>(found.part.size()));
    found.part.push_back(whole[k]);
  }
  return found;
}

}  // namespace

namespace {

/// Returns whether the index selects only on leading axes, and then selects whole slices.
bool is_leading(const std::vector<Index>& index) {
  return std::all_of(index.begin(), index.end(), [](const Index& i) { return i.kind() == Index::Kind::integer || i.kind() == Index::Kind::places; });
}

/// Where an index selects: the numbers of the rows, each of `columns` elements, and the shape of the part.
struct Selected {
  RecordedPtr places;
  Shape part;
  std::int64_t columns;
};
/// The index selects from an array of numbers: from the numbers of all elements, or of whole slices.
Selected selected_rows(const Site& site, const Shape& whole, const std::vector<Index>& index) {
  const auto used = static_cast<std::ptrdiff_t>(is_leading(index) ? index.size() : whole.size());
  const Shape rows(whole.begin(), whole.begin() + used), row(whole.begin() + used, whole.end());
  const Tensor numbers(make_reshape(site, make_iota(site, element_count(rows)), rows));
  const RecordedPtr places = numbers.at(index, site.where).node();
  Shape part = places->shape;
  part.insert(part.end(), row.begin(), row.end());
  return {places, std::move(part), element_count(row)};
}

}  // namespace

bool scatter_in_place(const Site& site, Tensor& whole, const std::vector<Index>& index, const Arg& value) {
  const Shape shape = whole.shape();
  settle(whole.node());
  const bool has_elements = whole.node()->evaluated() || whole.node()->op == Op::constant;
  if (!has_elements || !is_worth_evaluating(*whole.node()) || index.size() > shape.size() || (is_leading(index) && beside(site, shape, index))) return false;
  const Selected rows = selected_rows(site, shape, index);
  return write_rows_in_place(site, whole, rows.places, fitted(site, value, whole.dtype(), rows.part), rows.columns);
}

RecordedPtr make_scatter(const Site& site, Op op, const RecordedPtr& whole, const std::vector<Index>& index, const Arg& value) {
  const Scope scope(site.op, site.where);
  const bool leading = is_leading(index);
  const std::size_t used = leading ? index.size() : whole->shape.size();
  if (used > whole->shape.size())
    fail<AxisError>(
        site, fmt::format("{} for shape {} with {}", counted(used, "index", "indices"), to_string(whole->shape), counted(whole->shape.size(), "axis", "axes")));
  if (leading)
    if (const auto columns = beside(site, whole->shape, index)) {
      const RecordedPtr given = make_permute(site, fitted(site, value, whole->dtype, columns->part), columns->part_axes);
      const RecordedPtr made = make_scatter(site, op, make_permute(site, whole, columns->axes), columns->others, Arg(Tensor(given), site.where));
      std::vector<std::int64_t> back(columns->axes.size());
      for (std::size_t k = 0; k < back.size(); ++k) back[static_cast<std::size_t>(columns->axes[k])] = static_cast<std::int64_t>(k);
      return make_permute(site, made, back);
    }
  const Selected rows = selected_rows(site, whole->shape, index);
  return scattered(site, op, whole, rows.places, fitted(site, value, whole->dtype, rows.part), rows.columns);
}

}  // namespace ops

using namespace ops;

Tensor add_at(const Arg& x, const Index& index, const Arg& values) { return add_at(x, std::vector<Index>{index}, values); }

namespace {

Tensor combined_at(const char* name, Op op, const Arg& x, const std::vector<Index>& index, const Arg& values) {
  const Scope scope(name, x.where());
  const Site& site = scope.site();
  const RecordedPtr whole = as_node(site, x);
  std::vector<const Index*> list;
  for (const Index& i : index) list.push_back(&i);
  return Tensor(make_scatter(site, op, whole, without_masks(site, whole->shape, list), values));
}

}  // namespace

Tensor add_at(const Arg& x, const std::vector<Index>& index, const Arg& values) { return combined_at("add_at", Op::scatter_add, x, index, values); }
Tensor multiply_at(const Arg& x, const std::vector<Index>& index, const Arg& values) { return combined_at("multiply_at", Op::scatter_prod, x, index, values); }
Tensor minimum_at(const Arg& x, const std::vector<Index>& index, const Arg& values) { return combined_at("minimum_at", Op::scatter_min, x, index, values); }
Tensor maximum_at(const Arg& x, const std::vector<Index>& index, const Arg& values) { return combined_at("maximum_at", Op::scatter_max, x, index, values); }

namespace {

/// Writes or adds the values at one index of each row along an axis.
Tensor scattered_along(const Scope& scope, Op op, const Arg& x, const Arg& indices, const Arg& values, std::optional<std::int64_t> axis) {
  const Site& site = scope.site();
  const RecordedPtr node = as_node(site, x);
  const RecordedPtr whole = axis ? node : make_reshape(site, node, {element_count(node->shape)});
  const RecordedPtr index = as_node(site, indices);
  if (whole->shape.size() != index->shape.size())
    fail<ShapeError>(site,
                     fmt::format("shape {} is written with indices of shape {}: both need as many axes", to_string(whole->shape), to_string(index->shape)));
  const std::int64_t along = checked_axis(site, axis.value_or(0), static_cast<std::int64_t>(whole->shape.size()));
  // All axes except the written one are broadcast. Each index selects from the numbers of the elements.
  Shape wide = whole->shape;
  wide[static_cast<std::size_t>(along)] = index->shape[static_cast<std::size_t>(along)];
  const Tensor numbers(make_reshape(site, make_iota(site, element_count(whole->shape)), whole->shape));
  const RecordedPtr places = take_along_axis(numbers, broadcast_to(Tensor(index), wide), along).node();
  return Tensor(make_reshape(site, scattered(site, op, whole, places, fitted(site, values, whole->dtype, places->shape), 1), node->shape));
}

}  // namespace

Tensor add_along_axis(const Arg& x, const Arg& indices, const Arg& values, std::optional<std::int64_t> axis) {
  return scattered_along(Scope("add_along_axis", x.where()), Op::scatter_add, x, indices, values, axis);
}
Tensor put_along_axis(const Arg& x, const Arg& indices, const Arg& values, std::optional<std::int64_t> axis) {
  return scattered_along(Scope("put_along_axis", x.where()), Op::scatter, x, indices, values, axis);
}

namespace {

/// Repeats the flat values cyclically to `count` elements.
Tensor repeated(const Site& site, const Arg& values, std::int64_t count) {
  const RecordedPtr node = as_node(site, values);
  const std::int64_t given = element_count(node->shape);
  if (given == 0 && count > 0) fail<ValueError>(site, "there are no values to put");
  const Tensor flat(make_reshape(site, node, {given}));
  if (given == count) return flat;
  if (given > count) return flat(Slice{0, count});
  const Tensor enough = tile(flat, {(count + given - 1) / given});
  return enough(Slice{0, count});
}

Tensor put_at(const Site& site, const RecordedPtr& whole, const Tensor& places, const Arg& values) {
  const std::int64_t count = places.size();
  if (count == 0) return Tensor(whole);
  const RecordedPtr flat = make_reshape(site, whole, {element_count(whole->shape)});
  const Tensor given = values.is_tensor() ? repeated(site, values, count) : Tensor();
  const RecordedPtr put =
      make_scatter(site, Op::scatter, flat, {Index(reshape(places, Shape{-1}), site.where)}, values.is_tensor() ? Arg(given, site.where) : values);
  return Tensor(make_reshape(site, put, whole->shape));
}

}  // namespace

Tensor put(const Arg& x, const Arg& indices, const Arg& values) {
  const Scope scope("put", x.where());
  return put_at(scope.site(), as_node(scope.site(), x), Tensor(as_node(scope.site(), indices)), values);
}

Tensor place(const Arg& x, const Arg& mask, const Arg& values) {
  const Scope scope("place", x.where());
  const Site& site = scope.site();
  const RecordedPtr whole = as_node(site, x), chosen = as_node(site, mask);
  if (chosen->shape != whole->shape)
    fail<ShapeError>(site, fmt::format("a mask of shape {} does not fit shape {}", to_string(chosen->shape), to_string(whole->shape)));
  return put_at(site, whole, Tensor(places_of_trues(site, chosen)), values);
}

}  // namespace sinter
