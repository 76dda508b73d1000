#include "sinter/statistics.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/promote.hpp"

namespace sinter {
namespace {

using namespace trace;

/// The argument with another number for NaN; integers have none.
Tensor without_nan(const Tensor& x, double number) { return is_floating(x.dtype()) ? where(isnan(x), number, x) : x; }

Tensor count_of_numbers(const Tensor& x, const Axes& axes, bool keepdims) { return sum(logical_not(isnan(x)), axes, keepdims); }

Tensor nan_extreme(const char* name, const Arg& arg, const Axes& axes, bool keepdims, bool largest) {
  const Scope scope(name, arg.where());
  const Tensor x(as_node(scope.site(), arg));
  const auto extreme = largest ? static_cast<Tensor (*)(const Arg&, const Axes&, bool)>(max) : static_cast<Tensor (*)(const Arg&, const Axes&, bool)>(min);
  if (!is_floating(x.dtype())) return extreme(x, axes, keepdims);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor found = extreme(without_nan(x, largest ? -kInfinity : kInfinity), axes, keepdims);
  return where(all(isnan(x), axes, keepdims), std::numeric_limits<double>::quiet_NaN(), found);
}

/// Integers and bool as float64.
Tensor as_floating(const Tensor& x) { return is_floating(x.dtype()) ? x : astype(x, DType::float64); }

/// A vector along the axis of a shape, or what broadcasts to it.
Tensor along_axis(const Tensor& vector, std::int64_t axis, std::size_t rank) {
  if (vector.ndim() != 1) return vector;
  Shape shape(rank, 1);
  shape[static_cast<std::size_t>(axis)] = vector.size();
  return reshape(vector, shape);
}

Tensor between(const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  std::vector<Index> index(static_cast<std::size_t>(x.ndim()), Slice{});
  index[static_cast<std::size_t>(axis)] = Slice{begin, end};
  return std::as_const(x).at(index);
}

}  // namespace

Tensor diff(const Arg& arg, std::int64_t n, std::int64_t axis) {
  const Scope scope("diff", arg.where());
  Tensor x(as_node(scope.site(), arg));
  if (n < 0) fail<ValueError>(scope.site(), fmt::format("a difference cannot be taken {} times", n));
  if (x.ndim() == 0) fail<ShapeError>(scope.site(), "a 0-d tensor has no differences");
  const std::int64_t along = checked_axis(scope.site(), axis, x.ndim());
  for (n = std::min(n, x.size(static_cast<int>(along))); n > 0; --n) {  // then nothing is left
    const std::int64_t size = x.size(static_cast<int>(along));
    const Tensor after = between(x, along, 1, size), before = between(x, along, 0, std::max<std::int64_t>(0, size - 1));
    x = is_bool(x.dtype()) ? not_equal(after, before) : subtract(after, before);
  }
  return x;
}

Tensor ptp(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("ptp", x.where());
  return subtract(max(x, axes, keepdims), min(x, axes, keepdims));
}
Tensor count_nonzero(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("count_nonzero", x.where());
  return sum(astype(x, DType::bool_), axes, keepdims);
}

Tensor nansum(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("nansum", x.where());
  return sum(without_nan(Tensor(as_node(scope.site(), x)), 0), axes, keepdims);
}
Tensor nanprod(const Arg& x, const Axes& axes, bool keepdims) {
  const Scope scope("nanprod", x.where());
  return prod(without_nan(Tensor(as_node(scope.site(), x)), 1), axes, keepdims);
}
Tensor nanmin(const Arg& x, const Axes& axes, bool keepdims) { return nan_extreme("nanmin", x, axes, keepdims, false); }
Tensor nanmax(const Arg& x, const Axes& axes, bool keepdims) { return nan_extreme("nanmax", x, axes, keepdims, true); }

Tensor nanmean(const Arg& arg, const Axes& axes, bool keepdims) {
  const Scope scope("nanmean", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (!is_floating(x.dtype())) return mean(x, axes, keepdims);
  const DType wide = traits(x.dtype()).compute;
  return astype(divide(sum(astype(without_nan(x, 0), wide), axes, keepdims), astype(count_of_numbers(x, axes, keepdims), wide)), x.dtype());
}
Tensor nanvar(const Arg& arg, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("nanvar", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (!is_floating(x.dtype())) return var(x, axes, keepdims, ddof);
  const Tensor values = astype(x, traits(x.dtype()).compute);
  // Only what is no number itself is left out: an infinite element has no distance from an infinite mean, as in var.
  const Tensor apart = square(where(isnan(values), 0, values - nanmean(values, axes, true)));
  const Tensor count = count_of_numbers(x, axes, keepdims) - ddof;
  return astype(where(count > 0, divide(sum(apart, axes, keepdims), astype(count, values.dtype())), std::numeric_limits<double>::quiet_NaN()), x.dtype());
}
Tensor nanstd(const Arg& arg, const Axes& axes, bool keepdims, int ddof) {
  const Scope scope("nanstd", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (!is_floating(x.dtype())) return stddev(x, axes, keepdims, ddof);
  return astype(sqrt(nanvar(astype(x, traits(x.dtype()).compute), axes, keepdims, ddof)), x.dtype());
}

Tensor average(const Arg& arg, const Axes& axes, const Tensor& weights, bool keepdims) {
  const Scope scope("average", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (weights.empty_handle()) return mean(x, axes, keepdims);
  const auto list = checked_axes(scope.site(), axes, x.ndim());
  Tensor weight = weights;
  if (weights.shape() != x.shape()) {
    if (list.size() != 1 || weights.ndim() != 1 || weights.size() != x.size(static_cast<int>(list[0])))
      fail<ShapeError>(scope.site(), fmt::format("weights of shape {} for shape {}: give one for each element, or a vector along the one axis", to_string(weights.shape()), to_string(x.shape())));
    weight = broadcast_to(along_axis(weights, list[0], x.shape().size()), x.shape());
  }
  const DType type = promote(as_floating(x).dtype(), weight.dtype()), wide = traits(type).compute;
  weight = astype(weight, wide);
  return astype(divide(sum(astype(x, wide) * weight, axes, keepdims), sum(weight, axes, keepdims)), type);
}

Tensor trapezoid(const Arg& arg, double dx, std::int64_t axis) {
  const Scope scope("trapezoid", arg.where());
  const Tensor y = as_floating(Tensor(as_node(scope.site(), arg)));
  const std::int64_t along = checked_axis(scope.site(), axis, y.ndim());
  const std::int64_t size = y.size(static_cast<int>(along));
  return sum((between(y, along, 1, size) + between(y, along, 0, std::max<std::int64_t>(0, size - 1))) * (dx / 2), along);
}
Tensor trapezoid(const Arg& arg, const Tensor& x, std::int64_t axis) {
  const Scope scope("trapezoid", arg.where());
  const Tensor y = as_floating(Tensor(as_node(scope.site(), arg)));
  const std::int64_t along = checked_axis(scope.site(), axis, y.ndim());
  const std::int64_t size = y.size(static_cast<int>(along));
  const Tensor distances = along_axis(diff(x, 1, x.ndim() == 1 ? 0 : along), along, y.shape().size());
  return sum(distances * (between(y, along, 1, size) + between(y, along, 0, std::max<std::int64_t>(0, size - 1))) / 2, along);
}

namespace {
std::int64_t only_axis(const Site& site, const Tensor& x, std::optional<std::int64_t> axis) {
  if (!axis && x.ndim() != 1) fail<AxisError>(site, fmt::format("name the axis for shape {}", to_string(x.shape())));
  return axis.value_or(0);
}
}  // namespace

Tensor cumulative_sum(const Arg& arg, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Scope scope("cumulative_sum", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  return cumsum(x, only_axis(scope.site(), x, axis), dtype);
}
Tensor cumulative_prod(const Arg& arg, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Scope scope("cumulative_prod", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  return cumprod(x, only_axis(scope.site(), x, axis), dtype);
}

}  // namespace sinter
