// Views: reshape, permute, broadcast, flip and indexing, expressed by the four view primitives.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>

#include <fmt/format.h>

#include "ops/gathers.hpp"
#include "ops/masks.hpp"
#include "ops/recording.hpp"
#include "ops/selection.hpp"
#include "sinter/control.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "trace/for_any_size.hpp"

namespace sinter {
namespace {

using namespace ops;

Tensor permuted(const Site& site, const Arg& x, const std::vector<std::int64_t>& axes) {
  const RecordedPtr node = as_node(site, x);
  const auto ndim = static_cast<std::int64_t>(node->shape.size());
  if (static_cast<std::int64_t>(axes.size()) != ndim) {
    fail<AxisError>(site, fmt::format("{} given for shape {}; name each axis once", counted(axes.size(), "axis was", "axes were"), to_string(node->shape)));
  }
  checked_axes(site, Axes(axes), ndim);
  std::vector<std::int64_t> order;
  for (const std::int64_t axis : axes) order.push_back(checked_axis(site, axis, ndim));
  return Tensor(make_permute(site, node, order));
}

/// Returns a copy of one element of a large evaluated array in host memory; null otherwise. A view would keep the array's elements in use, so that the next
/// assignment to another element copied them all, and a loop over elements would record ever longer chains.
RecordedPtr copied_element(const Site& site, const RecordedPtr& node, const std::vector<std::int64_t>& start_step) {
  constexpr std::int64_t kSmall = 256;  // parts of smaller arrays, such as the parameters of a model, stay views, so that they are one operand
  if (!node->evaluated() || node->symbolic || ForAnySize::recording() || element_count(node->shape) <= kSmall) return nullptr;
  std::int64_t place = 0;
  for (std::size_t k = 0; k < node->shape.size(); ++k) place = place * node->shape[k] + start_step[2 * k];
  const StoragePtr storage = node->storage;
  std::shared_ptr<void> elements;
  {
    const std::lock_guard lock(storage->lock);
    if (storage->device || !storage->host) return nullptr;
    elements = storage->host;
  }
  const std::size_t size = itemsize(node->dtype);
  StoragePtr copy = host_storage(site, size);
  std::memcpy(copy->host.get(), static_cast<const std::byte*>(elements.get()) + static_cast<std::size_t>(place) * size, size);
  return make_data(site, node->dtype, Shape{}, std::move(copy));
}

Tensor indexed(const Site& site, const Tensor& x, std::span<const Index* const> index) {
  const RecordedPtr& node = node_of(site, x);
  const bool masked =
      std::any_of(index.begin(), index.end(), [&](const Index* i) { return i->kind() == Index::Kind::places && is_bool(node_of(site, i->places())->dtype); });
  if (masked && index.size() == 1) return Tensor(selected_by(site, node, index[0]->places().node()));
  if (masked) {
    const std::vector<Index> unmasked = without_masks(site, node->shape, index);
    std::vector<const Index*> list;
    for (const Index& i : unmasked) list.push_back(&i);
    return indexed(site, x, list);
  }
  Selection selection = selected(site, node->shape, index);
  const Shape& result = selection.result;
  if (result.empty() && selection.places.empty())
    if (const RecordedPtr element = copied_element(site, node, selection.start_step)) return Tensor(element);
  const bool keep_whole = ForAnySize::recording() && node->evaluated() && std::any_of(index.begin(), index.end(), [](const Index* i) {
                            return i->kind() == Index::Kind::slice && (i->slice().start || i->slice().stop);
                          });
  const RecordedPtr view = make_reshape(site, make_slice(site, node, std::move(selection.start_step), std::move(selection.sliced), keep_whole), result);
  if (selection.places.empty()) return Tensor(view);
  const std::vector<std::int64_t>& axes = selection.places_axes;
  if (!selection.places_in_front) return Tensor(make_lookup(site, view, selection.places, axes.front()));
  std::vector<std::int64_t> order = axes;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(result.size()); ++axis)
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) order.push_back(axis);
  return Tensor(make_lookup(site, make_permute(site, view, order), selection.places, 0));
}

template <class... I> Tensor indexed_by(const Tensor& x, const I&... index) {
  const std::array<const Index*, sizeof...(I)> list{&index...};
  return indexed(site_of("index", list[0]->where()), x, list);
}

Tensor indexed_by(const Site& site, const Tensor& x, const std::vector<Index>& index) {
  std::vector<const Index*> list;
  for (const Index& i : index) list.push_back(&i);
  return indexed(site, x, list);
}

}  // namespace

Tensor reshape(const Arg& x, const Shape& shape) {
  const Site site = site_of("reshape", x.where());
  const RecordedPtr node = as_node(site, x);
  return Tensor(make_reshape(site, node, completed_shape(site, node->shape, shape)));
}

Tensor transpose(const Arg& x) {
  const Site site = site_of("transpose", x.where());
  const RecordedPtr node = as_node(site, x);
  std::vector<std::int64_t> axes(node->shape.size());
  for (std::size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<std::int64_t>(axes.size() - 1 - k);
  return Tensor(make_permute(site, node, axes));
}
Tensor transpose(const Arg& x, const std::vector<std::int64_t>& axes) { return permuted(site_of("transpose", x.where()), x, axes); }
Tensor permute(const Arg& x, const std::vector<std::int64_t>& axes) { return permuted(site_of("permute", x.where()), x, axes); }

Tensor swapaxes(const Arg& x, std::int64_t axis1, std::int64_t axis2) {
  const Site site = site_of("swapaxes", x.where());
  const RecordedPtr node = as_node(site, x);
  const auto rank = static_cast<std::int64_t>(node->shape.size());
  std::vector<std::int64_t> axes(node->shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(checked_axis(site, axis1, rank))], axes[static_cast<std::size_t>(checked_axis(site, axis2, rank))]);
  return Tensor(make_permute(site, node, axes));
}

Tensor expand_dims(const Arg& x, const Axes& axes) {
  const Site site = site_of("expand_dims", x.where());
  const RecordedPtr node = as_node(site, x);
  if (axes.all()) fail<AxisError>(site, "name the axes to insert");
  const std::size_t ndim = node->shape.size() + axes.list().size();
  const auto inserted = checked_axes(site, axes, static_cast<std::int64_t>(ndim));
  Shape shape = node->shape;
  for (const std::int64_t axis : inserted) shape.insert(shape.begin() + axis, 1);
  return Tensor(make_reshape(site, node, shape));
}

Tensor squeeze(const Arg& x, const Axes& axes) {
  const Site site = site_of("squeeze", x.where());
  const RecordedPtr node = as_node(site, x);
  Shape shape = node->shape;
  const auto dropped = checked_axes(site, axes, static_cast<std::int64_t>(shape.size()));
  for (std::size_t k = dropped.size(); k-- > 0;) {
    const std::int64_t size = shape[static_cast<std::size_t>(dropped[k])];
    if (size == 1) {
      shape.erase(shape.begin() + dropped[k]);
    } else if (!axes.all()) {
      fail<ShapeError>(site, fmt::format("axis {} of shape {} has size {}, not 1", dropped[k], to_string(node->shape), size));
    }
  }
  return Tensor(make_reshape(site, node, shape));
}

Tensor broadcast_to(const Arg& x, const Shape& shape) {
  const Site site = site_of("broadcast_to", x.where());
  const RecordedPtr node = as_node(site, x);
  check_shape(site, shape, node->dtype);
  const Shape& from = node->shape;
  bool fits = from.size() <= shape.size();
  for (std::size_t k = 0; fits && k < from.size(); ++k) {
    fits = from[k] == 1 || from[k] == shape[shape.size() - from.size() + k];
  }
  if (!fits) {
    fail<ShapeError>(site, fmt::format("shape {} does not broadcast to {}: sizes match from the last axis on, or are 1", to_string(from), to_string(shape)));
  }
  return Tensor(make_broadcast(site, node, shape));
}

Tensor flip(const Arg& x, const Axes& axes) {
  const Site site = site_of("flip", x.where());
  const RecordedPtr node = as_node(site, x);
  const Shape& shape = node->shape;
  std::vector<std::int64_t> start_step(2 * shape.size(), 0);
  for (std::size_t k = 0; k < shape.size(); ++k) start_step[2 * k + 1] = 1;
  for (const std::int64_t axis : checked_axes(site, axes, static_cast<std::int64_t>(shape.size()))) {
    const auto k = static_cast<std::size_t>(axis);
    start_step[2 * k] = shape[k] - 1;
    start_step[2 * k + 1] = -1;
  }
  return Tensor(make_slice(site, node, std::move(start_step), shape));
}

Tensor slice(const Arg& x, const std::vector<Index>& index) {
  const Site site = site_of("slice", x.where());
  return indexed_by(site, Tensor(as_node(site, x)), index);
}

Tensor contiguous(const Arg& x) {
  const Site site = site_of("contiguous", x.where());
  return Tensor(make_contiguous(site, as_node(site, x)));
}

Tensor materialize(const Arg& x) {
  const Site site = site_of("materialize", x.where());
  return Tensor(make_contiguous(site, as_node(site, x)));
}

Tensor Tensor::operator()(const Index& a) const& { return indexed_by(*this, a); }
Tensor Tensor::operator()(const Index& a, const Index& b) const& { return indexed_by(*this, a, b); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c) const& { return indexed_by(*this, a, b, c); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d) const& { return indexed_by(*this, a, b, c, d); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e) const& { return indexed_by(*this, a, b, c, d, e); }
Tensor Tensor::operator[](const Index& a) const& { return indexed_by(*this, a); }
Tensor Tensor::at(const std::vector<Index>& index, Location where) const& { return indexed_by(site_of("index", where), *this, index); }

Rows Tensor::begin(Location where) const { return {*this, 0, where}; }
Rows Tensor::end(Location where) const {
  const Site site = site_of("begin", where);
  const Shape& shape = node_of(site, *this)->shape;
  if (shape.empty()) fail<ShapeError>(site, "a 0-d tensor has no axis to go along");
  return {{}, shape.front(), where};
}

}  // namespace sinter
