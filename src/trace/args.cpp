// Converts the user's arguments to nodes: literals, broadcasting and axes, with the errors for invalid ones.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sinter/counted.hpp"
#include "sinter/types.hpp"
#include "sinter/whole.hpp"
#include "trace/build.hpp"

namespace sinter::trace {

void refuse_empty_handle(const Site& site) { fail<ValueError>(site, "an empty Tensor handle was passed; assign it a value first"); }

namespace {
/// This object exists from the start and is never destroyed, because static objects may still record, and a child of fork must not see it half constructed.
union Scalar0d {
  constexpr Scalar0d() : shape{} {}
  constexpr ~Scalar0d() {}
  Shape shape;
};
constinit const Scalar0d scalar;
}  // namespace

const Shape& shape_of(const Site& site, const Arg& arg) { return arg.is_tensor() ? node_of(site, arg.tensor())->shape : scalar.shape; }

bool fits(const Arg& arg, DType dtype) {
  if (!is_integer(dtype)) return true;
  return visit_storage(dtype, [&]<class T>() {
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) return true;
    else if (arg.kind() == Arg::Kind::too_large) return std::in_range<T>(static_cast<std::uint64_t>(arg.integer()));
    else return std::in_range<T>(arg.integer());
  });
}

bool holds(DType dtype, double whole) {
  return visit_storage(dtype, [&]<class T>() {  // one above the largest value is a power of two, and so a double
    return whole >= static_cast<double>(std::numeric_limits<T>::lowest()) && whole < 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  });
}

Scalar literal(const Site& site, const Arg& arg, DType dtype) {
  const bool too_large = arg.kind() == Arg::Kind::too_large;
  if (arg.kind() == Arg::Kind::floating) {
    if (is_integer(dtype) && !holds(dtype, std::trunc(arg.floating()))) {
      fail<OverflowError>(site, fmt::format("{} does not fit in {}; choose a floating dtype", arg.floating(), name(dtype)));
    }
    return make_scalar(dtype, arg.floating());
  }
  if (!fits(arg, dtype)) {
    const auto value = too_large ? std::to_string(static_cast<std::uint64_t>(arg.integer())) : std::to_string(arg.integer());
    fail<OverflowError>(site, fmt::format("integer literal {} is out of bounds for {}; convert the tensor with astype({}) first", value, name(dtype),
                                          too_large ? "uint64" : "int64"));
  }
  return too_large && is_floating(dtype) ? make_scalar(dtype, arg.as_double()) : make_scalar_int(dtype, arg.integer());
}

RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const Shape& shape) {
  if (!arg.is_tensor()) return make_constant(site, literal(site, arg, dtype), shape);
  const RecordedPtr& x = node_of(site, arg.tensor());
  if (x->dtype == dtype && x->shape == shape) return x;
  return make_broadcast(site, make_cast(site, x, dtype), shape);
}

RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const ShapePtr& shape) {
  if (!arg.is_tensor()) return make_constant(site, literal(site, arg, dtype), shape);
  const RecordedPtr& x = node_of(site, arg.tensor());
  if (x->dtype == dtype && x->shape_owner == shape) return x;  // the common case
  return make_broadcast(site, make_cast(site, x, dtype), shape);
}

RecordedPtr as_node(const Site& site, const Arg& arg) {
  switch (arg.kind()) {
    case Arg::Kind::tensor: return node_of(site, arg.tensor());
    case Arg::Kind::boolean: return make_constant(site, literal(site, arg, DType::bool_), Shape());
    case Arg::Kind::floating: return make_constant(site, literal(site, arg, arg.native()), Shape());
    case Arg::Kind::too_large: return make_constant(site, literal(site, arg, DType::uint64), Shape());
    case Arg::Kind::integer: break;
  }
  return make_constant(site, literal(site, arg, DType::int64), Shape());
}

const Shape* broader(const Shape& a, const Shape& b) {
  const auto holds = [](const Shape& wide, const Shape& narrow) {
    if (narrow.size() > wide.size()) return false;
    const std::size_t skip = wide.size() - narrow.size();
    for (std::size_t k = 0; k < narrow.size(); ++k)
      if (narrow[k] != wide[skip + k] && narrow[k] != 1) return false;
    return true;
  };
  return &a == &b || holds(a, b) ? &a : holds(b, a) ? &b : nullptr;
}

Shape broadcast_shape(const Site& site, std::span<const Shape* const> shapes, std::span<const Shape* const> whole) {
  const Shape* longest = shapes.front();
  for (const Shape* s : shapes) {
    if (s->size() > longest->size()) longest = s;
  }
  Shape result = *longest;
  for (const Shape* s : shapes) {
    const std::size_t skip = result.size() - s->size();
    for (std::size_t k = 0; k < s->size(); ++k) {
      std::int64_t& size = result[skip + k];
      const std::int64_t mine = (*s)[k];
      if (mine == size || mine == 1) continue;
      if (size == 1) {
        size = mine;
        continue;
      }
      const auto listed = [](std::span<const Shape* const> list) {
        std::string all;
        for (std::size_t i = 0; i < list.size(); ++i) all += (i == 0 ? "" : i + 1 == list.size() ? " and " : ", ") + to_string(*list[i]);
        return all;
      };
      const std::string which = whole.empty() ? listed(shapes) : fmt::format("{}: the axes before the last two, {},", listed(whole), listed(shapes));
      fail<ShapeError>(site, fmt::format("shapes {} do not broadcast (axis {}: {} against {})", which,
                                         static_cast<std::int64_t>(skip + k) - static_cast<std::int64_t>(result.size()), size, mine));
    }
  }
  check_shape(site, result, DType::float64);
  return result;
}

Shape completed_shape(const Site& site, const Shape& from, Shape shape) {
  const std::int64_t count = element_count(from);
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  for (std::int64_t& size : shape) {
    if (size == -1 && unknown == nullptr) {
      unknown = &size;
    } else if (size < 0) {
      fail<ShapeError>(site, fmt::format("shape {}: {}", to_string(shape), size == -1 ? "only one size may be -1" : "sizes are not negative (one may be -1)"));
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
    fail<ShapeError>(site,
                     fmt::format("cannot reshape {} ({}) into {}: the -1 has no size that fits", to_string(from), counted(count, "element"), to_string(shape)));
  }
  if (known != count) {
    fail<ShapeError>(
        site, fmt::format("cannot reshape {} ({}) into {} ({})", to_string(from), counted(count, "element"), to_string(shape), counted(known, "element")));
  }
  return shape;
}

std::int64_t checked_axis(const Site& site, std::int64_t axis, std::int64_t ndim) {
  if (axis < -ndim || axis >= ndim) {
    fail<AxisError>(site, ndim == 0 ? fmt::format("axis {} is out of bounds: the tensor is 0-d", axis)
                                    : fmt::format("axis {} is out of bounds for {} (use {} to {})", axis, counted(ndim, "axis", "axes"), -ndim, ndim - 1));
  }
  return axis < 0 ? axis + ndim : axis;
}

std::vector<std::int64_t> checked_axes(const Site& site, const Axes& axes, std::int64_t ndim) {
  std::vector<std::int64_t> list;
  if (axes.all()) {
    for (std::int64_t k = 0; k < ndim; ++k) list.push_back(k);
    return list;
  }
  for (const std::int64_t axis : axes.list()) list.push_back(checked_axis(site, axis, ndim));
  std::sort(list.begin(), list.end());
  if (const auto twice = std::adjacent_find(list.begin(), list.end()); twice != list.end()) {
    fail<AxisError>(site, fmt::format("axis {} is given twice", *twice));
  }
  return list;
}

std::vector<std::int64_t> reduced_axes(const Site& site, const Axes& axes, std::int64_t ndim) {
  if (ndim == 0 && axes.list().size() == 1 && (axes.list()[0] == 0 || axes.list()[0] == -1)) return {};
  return checked_axes(site, axes, ndim);
}

void check_shape(const Site& site, const Shape& shape, DType dtype) {
  std::int64_t bytes = static_cast<std::int64_t>(itemsize(dtype));
  for (const std::int64_t size : shape) {
    if (size < 0) fail<ShapeError>(site, fmt::format("shape {} has a negative size", to_string(shape)));
    if (size > (std::int64_t{1} << 62) / bytes) fail<ShapeError>(site, fmt::format("shape {} of {} is more than 2^62 bytes", to_string(shape), name(dtype)));
    bytes *= std::max<std::int64_t>(size, 1);  // as in NumPy, the sizes are multiplied even if there is no element
  }
}

void check_parts(const Site& site, std::int64_t count, std::string_view what, std::int64_t limit) {
  if (count > limit) fail<ValueError>(site, fmt::format("{} {}; one call records at most {}", count, what, limit));
}

std::int64_t size_product(const Site& site, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail<ShapeError>(site, fmt::format("a size of {} times {} is more than 64 bits hold", a, b));
  return product;
}

std::int64_t whole(const Site& site, double number, std::string_view argument) {
  if (const auto result = detail::whole(number)) return *result;
  fail<ValueError>(site, fmt::format("{} is {}, which is not a 64-bit integer", argument, number));
}

}  // namespace sinter::trace
