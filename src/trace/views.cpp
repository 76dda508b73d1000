// Views: reshape, permute, broadcast, flip and indexing, down to the four view primitives.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/gathers.hpp"
#include "trace/promote.hpp"

namespace sinter {
namespace {

using namespace trace;

Shape completed(const Site& site, const Shape& from, Shape shape) {
  const std::int64_t count = element_count(from);
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  for (std::int64_t& size : shape) {
    if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else if (size < 0) {
      fail<ShapeError>(site, fmt::format("shape {}: {}", to_string(shape),
                                         size == -1 ? "only one size may be -1" : "sizes are not negative (one may be -1)"));
    } else if (size != 0 && known > (std::int64_t{1} << 62) / size) {
      fail<ShapeError>(site, fmt::format("shape {} is too large", to_string(shape)));
    } else {
      known *= size;
    }
  }
  if (unknown != nullptr && known != 0 && count % known == 0) {
    *unknown = count / known;
    known = count;
  } else if (unknown != nullptr) {
    fail<ShapeError>(site, fmt::format("cannot reshape {} ({} elements) into {}: the -1 has no size that fits", to_string(from),
                                       count, to_string(shape)));
  }
  if (known != count) {
    fail<ShapeError>(site, fmt::format("cannot reshape {} ({} elements) into {} ({} elements)", to_string(from), count,
                                       to_string(shape), known));
  }
  return shape;
}

Tensor permuted(const Site& site, const Arg& x, const std::vector<std::int64_t>& axes) {
  const RecordedPtr node = as_node(site, x);
  const auto ndim = static_cast<std::int64_t>(node->shape.size());
  if (static_cast<std::int64_t>(axes.size()) != ndim) {
    fail<AxisError>(site, fmt::format("{} axes were given for shape {}; name each axis once", axes.size(), to_string(node->shape)));
  }
  checked_axes(site, Axes(axes), ndim);
  std::vector<std::int64_t> order;
  for (const std::int64_t axis : axes) order.push_back(checked_axis(site, axis, ndim));
  return Tensor(make_permute(site, node, order));
}

/// Python's slice.indices(): start, step and count for an axis of `size` elements.
struct Range {
  std::int64_t start, step, count;
};
Range clamped(const Site& site, const Slice& slice, std::int64_t size) {
  const std::int64_t step = slice.step.value_or(1);
  if (step == 0) fail<ValueError>(site, "a slice step cannot be zero");
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, low, high); };
  const std::int64_t start = slice.start ? clamp(*slice.start) : (step < 0 ? high : low);
  const std::int64_t stop = slice.stop ? clamp(*slice.stop) : (step < 0 ? low : high);
  const std::int64_t length = step < 0 ? start - stop : stop - start;
  if (length <= 0) return {0, 1, 0};
  // |step| beyond the length takes one element; this way -step cannot overflow either.
  if (step >= length || step <= -length) return {start, 1, 1};
  return {start, step, (length - 1) / (step < 0 ? -step : step) + 1};
}

Tensor indexed(const Site& site, const Tensor& x, std::span<const Index* const> index) {
  const RecordedPtr node = as_node(site, x);
  const Shape& shape = node->shape;
  std::size_t used = 0, ellipses = 0;
  for (const Index* i : index) {
    used += i->kind() == Index::Kind::integer || i->kind() == Index::Kind::slice || i->kind() == Index::Kind::places;
    ellipses += i->kind() == Index::Kind::rest;
  }
  if (used > shape.size()) {
    fail<AxisError>(site, fmt::format("{} indices for shape {} with {} axes", used, to_string(shape), shape.size()));
  }
  if (ellipses > 1) fail<AxisError>(site, "only one ellipsis may be used");

  std::vector<std::int64_t> start_step;
  Shape sliced, result;  // after slicing; after dropping and inserting axes
  const auto keep = [&](Range r) {
    start_step.insert(start_step.end(), {r.start, r.step});
    sliced.push_back(r.count);
  };
  const auto whole = [&](std::size_t count) {
    for (; count > 0; --count) {
      result.push_back(shape[sliced.size()]);
      keep({0, 1, shape[sliced.size()]});
    }
  };
  const Index* looked_up = nullptr;  // by a tensor, once the rest is done
  std::size_t looked_up_axis = 0;
  for (const Index* i : index) {
    switch (i->kind()) {
      case Index::Kind::places:
        if (looked_up) fail<ValueError>(site, "one position of an index may be a tensor; look up one axis after the other, or use take_along_axis()");
        looked_up = i;
        looked_up_axis = result.size();
        whole(1);
        break;
      case Index::Kind::inserted: result.push_back(1); break;
      case Index::Kind::rest: whole(shape.size() - used); break;
      case Index::Kind::slice:
        keep(clamped(site, i->slice(), shape[sliced.size()]));
        result.push_back(sliced.back());
        break;
      case Index::Kind::integer: {
        const std::int64_t size = shape[sliced.size()], at = i->integer();
        if (at < -size || at >= size) {
          fail<AxisError>(site, fmt::format("index {} is out of bounds for axis {} with size {}", at, sliced.size(), size));
        }
        keep({at < 0 ? at + size : at, 1, 1});
        break;
      }
    }
  }
  whole(shape.size() - sliced.size());
  const RecordedPtr view = make_reshape(site, make_slice(site, node, std::move(start_step), std::move(sliced)), result);
  if (!looked_up) return Tensor(view);
  // NumPy takes an integer beside a tensor for a place too, and moves the axes of both to the front where a slice lies between.
  if (std::any_of(index.begin(), index.end(), [](const Index* i) { return i->kind() == Index::Kind::integer; }))
    fail<ValueError>(site, "an integer and a tensor in one index: index with the one, then with the other");
  const auto axis = static_cast<std::int64_t>(looked_up_axis);
  node_of(site, looked_up->places());
  return Tensor(make_take(site, view, checked_places(site, looked_up->places(), result[looked_up_axis], axis), axis));
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
  return Tensor(make_reshape(site, node, completed(site, node->shape, shape)));
}

Tensor transpose(const Arg& x) {
  const Site site = site_of("transpose", x.where());
  const RecordedPtr node = as_node(site, x);
  std::vector<std::int64_t> axes(node->shape.size());
  for (std::size_t k = 0; k < axes.size(); ++k) axes[k] = static_cast<std::int64_t>(axes.size() - 1 - k);
  return Tensor(make_permute(site, node, axes));
}
Tensor transpose(const Arg& x, const std::vector<std::int64_t>& axes) {
  return permuted(site_of("transpose", x.where()), x, axes);
}
Tensor permute(const Arg& x, const std::vector<std::int64_t>& axes) { return permuted(site_of("permute", x.where()), x, axes); }

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
    fail<ShapeError>(site, fmt::format("shape {} does not broadcast to {}: sizes match from the last axis on, or are 1",
                                       to_string(from), to_string(shape)));
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

Tensor Tensor::operator()(const Index& a) const { return indexed_by(*this, a); }
Tensor Tensor::operator()(const Index& a, const Index& b) const { return indexed_by(*this, a, b); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c) const { return indexed_by(*this, a, b, c); }
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d) const {
  return indexed_by(*this, a, b, c, d);
}
Tensor Tensor::operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e) const {
  return indexed_by(*this, a, b, c, d, e);
}
Tensor Tensor::at(const std::vector<Index>& index, Location where) const {
  return indexed_by(site_of("index", where), *this, index);
}

Tensor Tensor::T(Location where) const { return transpose(Arg(*this, where)); }
Tensor Tensor::reshape(const Shape& shape, Location where) const { return sinter::reshape(Arg(*this, where), shape); }

}  // namespace sinter
