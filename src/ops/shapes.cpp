#include "sinter/shapes.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Returns elements [begin, end) along an axis.
RecordedPtr part_of(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> start_step;
  for (std::size_t k = 0; k < x->shape.size(); ++k) start_step.insert(start_step.end(), {k == axis ? begin : 0, 1});
  Shape shape = x->shape;
  shape[axis] = end - begin;
  return make_slice(site, x, std::move(start_step), std::move(shape));
}

std::size_t axis_of(const Site& site, const RecordedPtr& x, std::int64_t axis) {
  return static_cast<std::size_t>(checked_axis(site, axis, static_cast<std::int64_t>(x->shape.size())));
}

/// Splits into parts that end at these positions, which are clamped like those of slices; the last part ends at the end of the axis.
std::vector<Tensor> parts_until(const Site& site, const RecordedPtr& x, std::size_t axis, std::vector<std::int64_t> ends) {
  const std::int64_t size = x->shape[axis];
  ends.push_back(size);
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (std::int64_t end : ends) {
    end = std::clamp<std::int64_t>(end < 0 ? end + size : end, 0, size);
    parts.emplace_back(part_of(site, x, axis, std::min(begin, end), end));
    begin = end;
  }
  return parts;
}

Tensor stacked(const char* name, const std::vector<Tensor>& parts, Location where, Tensor (*widened)(const Arg&), std::int64_t axis) {
  const Scope scope(name, where);
  std::vector<Tensor> wide;
  for (const Tensor& part : parts) wide.push_back(widened(part));
  const bool vectors = axis == 1 && !wide.empty() && wide.front().ndim() == 1;
  return concatenate(wide, vectors ? 0 : axis, where);
}

}  // namespace

Tensor atleast_1d(const Arg& x) {
  const Site site = site_of("atleast_1d", x.where());
  const RecordedPtr node = as_node(site, x);
  return Tensor(node->shape.empty() ? make_reshape(site, node, {1}) : node);
}
Tensor atleast_2d(const Arg& x) {
  const Site site = site_of("atleast_2d", x.where());
  const RecordedPtr node = as_node(site, x);
  return Tensor(node->shape.size() < 2 ? make_reshape(site, node, {1, element_count(node->shape)}) : node);
}
Tensor atleast_3d(const Arg& x) {
  const Site site = site_of("atleast_3d", x.where());
  const RecordedPtr node = as_node(site, x);
  const Shape& shape = node->shape;
  if (shape.size() > 2) return Tensor(node);
  return Tensor(make_reshape(site, node, shape.size() == 2 ? Shape{shape[0], shape[1], 1} : Shape{1, element_count(shape), 1}));
}

Tensor hstack(const std::vector<Tensor>& parts, Location where) { return stacked("hstack", parts, where, atleast_1d, 1); }
Tensor vstack(const std::vector<Tensor>& parts, Location where) { return stacked("vstack", parts, where, atleast_2d, 0); }
Tensor dstack(const std::vector<Tensor>& parts, Location where) { return stacked("dstack", parts, where, atleast_3d, 2); }

std::vector<Tensor> split(const Arg& x, std::int64_t sections, std::int64_t axis) {
  const Scope scope("split", x.where());
  const RecordedPtr node = as_node(scope.site(), x);
  const std::int64_t size = node->shape[axis_of(scope.site(), node, axis)];
  if (sections < 1 || size % sections != 0)
    fail<ShapeError>(scope.site(), fmt::format("axis {} of shape {} is not {} equal parts; array_split() gives parts that differ by one", axis,
                                               to_string(node->shape), sections));
  return array_split(Tensor(node), sections, axis);
}
std::vector<Tensor> split(const Arg& x, const std::vector<std::int64_t>& places, std::int64_t axis) {
  const Site site = site_of("split", x.where());
  const RecordedPtr node = as_node(site, x);
  return parts_until(site, node, axis_of(site, node, axis), places);
}
std::vector<Tensor> array_split(const Arg& x, std::int64_t sections, std::int64_t axis) {
  const Site site = site_of("array_split", x.where());
  const RecordedPtr node = as_node(site, x);
  const std::size_t along = axis_of(site, node, axis);
  if (sections < 1) fail<ValueError>(site, fmt::format("{}: at least one is needed", counted(sections, "section")));
  check_parts(site, sections, "sections");
  const std::int64_t length = node->shape[along] / sections, longer = node->shape[along] % sections;
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 1; k < sections; ++k) ends.push_back(k * length + std::min(k, longer));
  return parts_until(site, node, along, std::move(ends));
}

std::vector<Tensor> unstack(const Arg& x, std::int64_t axis, Location where) {
  const Site site = site_of("unstack", where);
  const RecordedPtr node = as_node(site, x);
  const std::size_t along = axis_of(site, node, axis);
  Shape without = node->shape;
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(along));
  check_parts(site, node->shape[along], "slices");
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < node->shape[along]; ++i) parts.emplace_back(make_reshape(site, part_of(site, node, along, i, i + 1), without));
  return parts;
}

Tensor moveaxis(const Arg& x, std::int64_t source, std::int64_t destination) {
  return moveaxis(x, std::vector<std::int64_t>{source}, std::vector<std::int64_t>{destination});
}
Tensor moveaxis(const Arg& x, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& destination) {
  const Site site = site_of("moveaxis", x.where());
  const RecordedPtr node = as_node(site, x);
  const auto rank = static_cast<std::int64_t>(node->shape.size());
  if (source.size() != destination.size())
    fail<AxisError>(site, fmt::format("{} moved to {}", counted(source.size(), "axis is", "axes are"), counted(destination.size(), "place")));
  checked_axes(site, Axes(source), rank);  // throws for a repeated axis
  checked_axes(site, Axes(destination), rank);
  std::vector<std::int64_t> order(node->shape.size(), -1);
  std::vector<bool> moved(node->shape.size(), false);
  for (std::size_t k = 0; k < source.size(); ++k) {
    const std::int64_t from = checked_axis(site, source[k], rank);
    order[static_cast<std::size_t>(checked_axis(site, destination[k], rank))] = from;
    moved[static_cast<std::size_t>(from)] = true;
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis != -1) continue;
    while (moved[static_cast<std::size_t>(next)]) ++next;
    axis = next++;
  }
  return Tensor(make_permute(site, node, order));
}

Tensor rot90(const Arg& x, std::int64_t k, std::pair<std::int64_t, std::int64_t> axes) {
  const Scope scope("rot90", x.where());
  const Site& site = scope.site();
  const Tensor m(as_node(site, x));
  const std::int64_t first = checked_axis(site, axes.first, m.ndim()), second = checked_axis(site, axes.second, m.ndim());
  if (first == second) fail<AxisError>(site, fmt::format("axis {} is given twice", first));
  switch ((k % 4 + 4) % 4) {
    case 1: return swapaxes(flip(m, second), first, second);
    case 2: return flip(m, {first, second});
    case 3: return flip(swapaxes(m, first, second), second);
    default: return m;
  }
}

std::vector<Tensor> broadcast_arrays(const std::vector<Tensor>& tensors, Location where) {
  const Site site = site_of("broadcast_arrays", where);
  if (tensors.empty()) return {};
  std::vector<const Shape*> shapes;
  for (const Tensor& tensor : tensors) shapes.push_back(&node_of(site, tensor)->shape);
  const Shape shape = broadcast_shape(site, shapes);
  std::vector<Tensor> wide;
  for (const Tensor& tensor : tensors) wide.emplace_back(make_broadcast(site, tensor.node(), shape));
  return wide;
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, Indexing indexing, Location where) {
  const Site site = site_of("meshgrid", where);
  const auto place = [&](std::size_t k) { return indexing == Indexing::xy && vectors.size() > 1 && k < 2 ? 1 - k : k; };
  Shape shape(vectors.size(), 0);
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    const Shape& given = node_of(site, vectors[k])->shape;
    if (given.size() > 1) fail<ShapeError>(site, fmt::format("shape {} is not that of a vector", to_string(given)));
    shape[place(k)] = element_count(given);
  }
  check_shape(site, shape, DType::float64);
  std::vector<Tensor> grids;
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    Shape narrow(vectors.size(), 1);
    narrow[place(k)] = element_count(vectors[k].shape());
    grids.emplace_back(make_broadcast(site, make_reshape(site, vectors[k].node(), narrow), shape));
  }
  return grids;
}

Tensor sliding_window_view(const Arg& x, const Shape& window, const Axes& axes) {
  const Site site = site_of("sliding_window_view", x.where());
  RecordedPtr node = as_node(site, x);
  const auto rank = static_cast<std::int64_t>(node->shape.size());
  std::vector<std::int64_t> along;
  for (std::int64_t k = 0; axes.all() && k < rank; ++k) along.push_back(k);
  for (const std::int64_t axis : axes.list()) along.push_back(checked_axis(site, axis, rank));
  if (along.size() != window.size())
    fail<ShapeError>(site, fmt::format("a window of shape {} for {}", to_string(window), counted(along.size(), "axis", "axes")));
  for (std::size_t n = 0; n < window.size(); ++n) {
    const auto k = static_cast<std::size_t>(along[n]);
    const std::int64_t size = node->shape[k], width = window[n];
    if (width < 1 || width > size)
      fail<ShapeError>(site, fmt::format("a window of {} does not fit into axis {} of shape {}", width, k, to_string(node->shape)));
    node = make_windows(site, node, k, size - width + 1, 1, width, 1);
  }
  return Tensor(node);
}

}  // namespace sinter
