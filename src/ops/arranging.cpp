#include "sinter/arranging.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/creation.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

/// The tensor and the axis; without an axis, the tensor is flattened.
struct Along {
  Along(const Site& site, const Arg& arg, std::optional<std::int64_t> wanted) : x(as_node(site, arg)) {
    if (!wanted) x = reshape(x, {-1});
    axis = checked_axis(site, wanted.value_or(0), x.ndim());
    size = x.shape()[static_cast<std::size_t>(axis)];
  }
  Tensor part(std::int64_t begin, std::int64_t end) const {
    std::vector<Index> index(static_cast<std::size_t>(axis), Slice{});
    index.push_back(Slice{begin, end});
    return x.at(index);
  }
  Tensor x;
  std::int64_t axis, size;
};

std::vector<Tensor> split_at_axis(const char* function, const Arg& arg, std::int64_t sections, std::int64_t axis, std::int64_t min_axes) {
  const Scope scope(function, arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (x.ndim() < min_axes) fail<ShapeError>(scope.site(), fmt::format("shape {} has fewer than {}", to_string(x.shape()), counted(min_axes, "axis", "axes")));
  return split(x, sections, axis == 1 && x.ndim() == 1 ? 0 : axis);
}

}  // namespace

Tensor fliplr(const Arg& x) {
  const Scope scope("fliplr", x.where());
  return flip(x, 1);
}
Tensor flipud(const Arg& x) {
  const Scope scope("flipud", x.where());
  return flip(x, 0);
}
Tensor column_stack(const std::vector<Tensor>& parts, Location where) {
  const Scope scope("column_stack", where);
  std::vector<Tensor> columns;
  for (const Tensor& part : parts) columns.push_back(node_of(scope.site(), part)->shape.size() < 2 ? reshape(part, {-1, 1}) : part);
  return concatenate(columns, 1);
}
std::vector<Tensor> hsplit(const Arg& x, std::int64_t sections) { return split_at_axis("hsplit", x, sections, 1, 1); }
std::vector<Tensor> vsplit(const Arg& x, std::int64_t sections) { return split_at_axis("vsplit", x, sections, 0, 2); }
std::vector<Tensor> dsplit(const Arg& x, std::int64_t sections) { return split_at_axis("dsplit", x, sections, 2, 3); }

Tensor append(const Arg& x, const Arg& values, std::optional<std::int64_t> axis) {
  const Scope scope("append", x.where());
  if (axis) return concatenate({Tensor(as_node(scope.site(), x)), Tensor(as_node(scope.site(), values))}, *axis);
  return concatenate({reshape(x, {-1}), reshape(values, {-1})});
}
Tensor insert(const Arg& arg, std::int64_t at, const Arg& values, std::optional<std::int64_t> axis) {
  const Scope scope("insert", arg.where());
  const Site& site = scope.site();
  const Along along(site, arg, axis);
  const std::int64_t place = at < 0 ? at + along.size : at;
  if (place < 0 || place > along.size) fail<IndexError>(site, fmt::format("index {} is out of bounds for axis {} with size {}", at, along.axis, along.size));
  // As in NumPy, the values are broadcast with x from the right; the number of slices is their size along the axis.
  Tensor block = astype(values, along.x.dtype());
  if (block.ndim() > along.x.ndim())
    fail<ShapeError>(site, fmt::format("values of shape {} have more axes than shape {}", to_string(block.shape()), to_string(along.x.shape())));
  Shape shape(static_cast<std::size_t>(along.x.ndim() - block.ndim()), 1);
  shape.insert(shape.end(), block.shape().begin(), block.shape().end());
  if (axis && block.ndim() > 0 && block.ndim() < along.x.ndim()) {  // one slice: it has all axes but this one
    shape = Shape(static_cast<std::size_t>(along.x.ndim() - 1 - block.ndim()), 1);
    shape.insert(shape.end(), block.shape().begin(), block.shape().end());
    shape.insert(shape.begin() + along.axis, 1);
  }
  block = reshape(block, shape);
  Shape whole = along.x.shape();
  whole[static_cast<std::size_t>(along.axis)] = shape[static_cast<std::size_t>(along.axis)];
  return concatenate({along.part(0, place), broadcast_to(block, whole), along.part(place, along.size)}, along.axis);
}
Tensor erase(const Arg& arg, std::int64_t at, std::optional<std::int64_t> axis) {
  const Scope scope("delete", arg.where());
  const Along along(scope.site(), arg, axis);
  const std::int64_t place = at < 0 ? at + along.size : at;
  if (place < 0 || place >= along.size)
    fail<IndexError>(scope.site(), fmt::format("index {} is out of bounds for axis {} with size {}", at, along.axis, along.size));
  return concatenate({along.part(0, place), along.part(place + 1, along.size)}, along.axis);
}
Tensor cycle_to(const Arg& arg, const Shape& shape) {
  const Scope scope("resize", arg.where());
  const Tensor flat = reshape(arg, {-1});
  check_shape(scope.site(), shape, flat.dtype());
  const std::int64_t size = element_count(shape);
  if (flat.size() == 0) return zeros(shape, flat.dtype());
  const std::int64_t times = (size + flat.size() - 1) / flat.size();
  return reshape((times > 1 ? tile(flat, {times}) : flat)(Slice{0, size}), shape);
}
Tensor as_strided(const Arg& arg, const Shape& shape, const std::vector<std::int64_t>& strides, std::int64_t offset) {
  const Scope scope("as_strided", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  check_shape(scope.site(), shape, DType::int64);
  if (strides.size() != shape.size()) fail<ShapeError>(scope.site(), fmt::format("{} for shape {}", counted(strides.size(), "stride"), to_string(shape)));
  if (element_count(shape) == 0) return zeros(shape, x.dtype());
  std::int64_t smallest = offset, largest = offset;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(shape[k] - 1, strides[k], &reach) ||
        __builtin_add_overflow(reach < 0 ? smallest : largest, reach, reach < 0 ? &smallest : &largest))
      fail<ShapeError>(scope.site(), fmt::format("stride {} leads beyond 64 bits", strides[k]));
  }
  if (smallest < 0 || largest >= x.size())
    fail<ShapeError>(scope.site(),
                     fmt::format("the strides reach elements {} to {} of the {} that shape {} has", smallest, largest, x.size(), to_string(x.shape())));
  Tensor places = full(Shape(shape.size(), 1), offset, DType::int64);
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Shape along(shape.size(), 1);
    along[k] = shape[k];
    places = places + reshape(arange(shape[k]) * strides[k], along);
  }
  return take(x, places);
}
Tensor diagflat(const Arg& x, std::int64_t k) {
  const Scope scope("diagflat", x.where());
  return diag(reshape(x, {-1}), k);
}
Tensor identity(std::int64_t n, DType dtype, Location where) {
  const Scope scope("identity", where);
  return eye(n, {}, 0, dtype);
}
Tensor tri(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t k, DType dtype, Location where) {
  const Scope scope("tri", where);
  return tril(ones({rows, columns.value_or(rows)}, dtype), k);
}
Tensor vander(const Arg& arg, std::optional<std::int64_t> count, bool increasing) {
  const Scope scope("vander", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (x.ndim() != 1) fail<ShapeError>(scope.site(), fmt::format("x must be a vector, not of shape {}", to_string(x.shape())));
  const std::int64_t n = count.value_or(x.size());
  if (n < 0) fail<ValueError>(scope.site(), counted(n, "power"));
  const DType type = promote(scope.site(), x.dtype(), DType::int64);  // as in NumPy
  if (n == 0 || x.size() == 0) return zeros({x.size(), n}, type);
  // As in NumPy, products are computed one after another.
  const Tensor column = broadcast_to(expand_dims(astype(x, type), 1), {x.size(), n - 1});
  const Tensor powers = cumprod(concatenate({ones({x.size(), 1}, type), column}, 1), 1, type);
  return increasing ? powers : flip(powers, 1);
}
Tensor indices(const Shape& shape, Location where) {
  const Scope scope("indices", where);
  check_shape(scope.site(), shape, DType::int64);
  std::vector<Tensor> axes;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    Shape alone(shape.size(), 1);
    alone[k] = shape[k];
    axes.push_back(broadcast_to(reshape(arange(shape[k]), alone), shape));
  }
  return axes.empty() ? zeros({0}, DType::int64) : stack(axes);
}
Tensor logspace(const Arg& start, const Arg& stop, std::int64_t count, bool endpoint, double base) {
  const Scope scope("logspace", start.where());
  return power(base, linspace(start, stop, count, endpoint, DType::float64));
}
Tensor geomspace(double start, double stop, std::int64_t count, bool endpoint, Location where) {
  const Scope scope("geomspace", where);
  if (!(start * stop != 0) || std::signbit(start) != std::signbit(stop))
    fail<ValueError>(scope.site(), fmt::format("there is no geometric sequence from {} to {}", start, stop));
  const double sign = start < 0 ? -1 : 1;
  const Tensor between = sign * power(10.0, linspace(std::log10(start * sign), std::log10(stop * sign), count, endpoint, DType::float64));
  // The first and the last value are exactly the given ones.
  const Tensor k = arange(count);
  const Tensor from_start = sinter::where(k == 0, start, between);
  return endpoint && count > 1 ? sinter::where(k == count - 1, stop, from_start) : from_start;
}
Tensor geomspace(const Arg& start, const Arg& stop, std::int64_t count, bool endpoint) {
  const Scope scope("geomspace", start.where());
  const Tensor first = start * ones_like(stop), last = stop * ones_like(start), sign = where(first < 0, -1.0, 1.0);
  const Tensor exponents = linspace(log10(first * sign), log10(last * sign), count, endpoint);
  Shape along(static_cast<std::size_t>(exponents.ndim()), 1);
  along[0] = count;
  const Tensor k = reshape(arange(count), along), defined = isfinite(log10(first * sign)) & isfinite(log10(last * sign));
  const Tensor between = where(defined, sign * power(10.0, exponents), std::numeric_limits<double>::quiet_NaN());
  const Tensor from_start = where((k == 0) & defined, first, between);
  const Tensor all = endpoint && count > 1 ? where((k == count - 1) & defined, last, from_start) : from_start;
  return astype(all, is_floating(first.dtype()) ? first.dtype() : exponents.dtype());
}

}  // namespace sinter
