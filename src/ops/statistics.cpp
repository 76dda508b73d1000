#include "sinter/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/gathers.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "sinter/sorting.hpp"

namespace sinter {
namespace {

using namespace ops;

Tensor count_of_numbers(const Tensor& x, const Axes& axes, bool keepdims) { return sum(logical_not(isnan(x)), axes, keepdims); }

Tensor nan_extreme(const char* name, const Arg& arg, const Axes& axes, bool keepdims, bool largest) {
  const Scope scope(name, arg.where());
  const Tensor x(as_node(scope.site(), arg));
  const auto extreme = largest ? static_cast<Tensor (*)(const Arg&, const Axes&, bool)>(max) : static_cast<Tensor (*)(const Arg&, const Axes&, bool)>(min);
  if (!is_floating(x.dtype())) return extreme(x, axes, keepdims);
  const Scalar lowest = neutral(largest ? Op::reduce_max : Op::reduce_min, x.dtype());
  const Tensor found = extreme(without_nan(x, lowest.as_double()), axes, keepdims);
  return where(all(isnan(x), axes, keepdims), std::numeric_limits<double>::quiet_NaN(), found);
}

/// Converts integers and bool to float64.
Tensor as_floating(const Tensor& x) { return is_floating(x.dtype()) ? x : astype(x, DType::float64); }

/// Reshapes a vector so that it is along the axis, or returns a tensor that already broadcasts.
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
  n = std::min(n, x.size(static_cast<int>(along)));  // after more steps no elements are left
  check_parts(scope.site(), n, "differences of differences", 4096);
  for (; n > 0; --n) {
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
  // Only NaN itself is skipped: an infinite element has no distance from an infinite mean, as in var.
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
      fail<ShapeError>(scope.site(), fmt::format("weights of shape {} for shape {}: give one for each element, or a vector along the one axis",
                                                 to_string(weights.shape()), to_string(x.shape())));
    weight = broadcast_to(along_axis(weights, list[0], x.shape().size()), x.shape());
  }
  const DType type = promote(scope.site(), as_floating(x).dtype(), weight.dtype()), wide = traits(type).compute;
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

Tensor ediff1d(const Arg& x) {
  const Scope scope("ediff1d", x.where());
  return diff(reshape(x, Shape{-1}));
}

namespace {

/// Scans by the Array API's rules: a vector needs no axis, and the initial value may come first.
Tensor cumulative(const Site& site, const Arg& arg, std::optional<std::int64_t> axis, std::optional<DType> dtype, bool include_initial,
                  Tensor (*scan)(const Arg&, std::optional<std::int64_t>, std::optional<DType>), int initial) {
  const Tensor x(as_node(site, arg));
  if (!axis && x.ndim() != 1) fail<AxisError>(site, fmt::format("name the axis for shape {}", to_string(x.shape())));
  const std::int64_t along = checked_axis(site, axis.value_or(0), x.ndim());
  const Tensor result = scan(x, along, dtype);
  if (!include_initial) return result;
  Shape front = x.shape();
  front[static_cast<std::size_t>(along)] = 1;
  return concatenate({full(front, Arg(initial, site.where), result.dtype()), result}, along);
}

}  // namespace

Tensor cumulative_sum(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype, bool include_initial) {
  const Scope scope("cumulative_sum", x.where());
  return cumulative(scope.site(), x, axis, dtype, include_initial, cumsum, 0);
}
Tensor cumulative_prod(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype, bool include_initial) {
  const Scope scope("cumulative_prod", x.where());
  return cumulative(scope.site(), x, axis, dtype, include_initial, cumprod, 1);
}
Tensor nancumsum(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Scope scope("nancumsum", x.where());
  return cumsum(without_nan(Tensor(as_node(scope.site(), x)), 0), axis, dtype);
}
Tensor nancumprod(const Arg& x, std::optional<std::int64_t> axis, std::optional<DType> dtype) {
  const Scope scope("nancumprod", x.where());
  return cumprod(without_nan(Tensor(as_node(scope.site(), x)), 1), axis, dtype);
}

Tensor logcumsumexp(const Arg& arg, std::optional<std::int64_t> axis) {
  const Scope scope("logcumsumexp", arg.where());
  Composed x = floating(scope.site(), arg);
  Tensor sum = axis ? x.values : reshape(x.values, Shape{-1});
  const std::int64_t along = checked_axis(scope.site(), axis.value_or(0), sum.ndim()), n = sum.size(static_cast<int>(along));
  for (std::int64_t distance = 1; distance < n; distance *= 2) {
    std::vector<std::pair<std::int64_t, std::int64_t>> widths(sum.shape().size());
    widths[static_cast<std::size_t>(along)].first = distance;
    const Tensor before = pad(between(sum, along, 0, n - distance), widths, PadMode::constant, -std::numeric_limits<double>::infinity());
    sum = logaddexp(sum, before);
  }
  return x(sum);
}

Tensor cov(const Arg& arg, const Tensor& y, bool rowvar, bool bias, std::optional<int> ddof, const Tensor& frequencies, const Tensor& weights) {
  const Scope scope("cov", arg.where());
  const Site& site = scope.site();
  const auto variables = [&](const Tensor& t, bool turned) {
    if (t.ndim() > 2) fail<ShapeError>(site, fmt::format("variables are a vector or the rows of a matrix, not of shape {}", to_string(t.shape())));
    const Tensor rows = t.ndim() == 2 ? t : reshape(t, {1, t.size()});
    return turned && t.ndim() == 2 ? transpose(rows) : rows;
  };
  const Tensor given(as_node(site, arg));
  Tensor x = variables(given, !rowvar);
  if (!y.empty_handle()) x = concatenate({x, variables(Tensor(node_of(site, y)), !rowvar && y.ndim() == 2 && y.size(0) != 1)});
  x = astype(x, DType::float64);
  const double correction = ddof.value_or(bias ? 0 : 1);
  const std::int64_t n = x.size(1);
  Tensor weight;
  for (const Tensor* factor : {&frequencies, &weights}) {
    if (factor->empty_handle()) continue;
    if (factor->shape() != Shape{n}) fail<ShapeError>(site, fmt::format("weights of shape {} for {}", to_string(factor->shape()), counted(n, "observation")));
    const Tensor typed = astype(*factor, x.dtype());
    weight = weight.empty_handle() ? typed : weight * typed;
  }
  const bool weighed = !weight.empty_handle();
  const Tensor mean_of = weighed ? sum(x * weight, 1, true) / sum(weight) : mean(x, 1, true);
  const Tensor apart = x - mean_of;
  Tensor products = matmul(weighed ? apart * weight : apart, transpose(apart));
  if (!weighed) {
    products /= std::max(static_cast<double>(n) - correction, 0.0);
  } else {
    Tensor degrees = sum(weight);
    if (!weights.empty_handle() && correction != 0) degrees = degrees - correction * sum(weight * astype(weights, x.dtype())) / sum(weight);
    else degrees = degrees - correction;
    products = products / maximum(degrees, 0.0);
  }
  return products.size() == 1 ? reshape(products, {}) : products;
}

Tensor corrcoef(const Arg& x, const Tensor& y, bool rowvar) {
  const Scope scope("corrcoef", x.where());
  const Tensor products = cov(x, y, rowvar);
  if (products.ndim() == 0) return products / products;
  const Tensor deviation = sqrt(diagonal(products));
  return clip(products / reshape(deviation, {-1, 1}) / deviation, -1, 1);
}

Tensor gradient(const Arg& arg, std::int64_t axis, const Arg& spacing, int edge_order) {
  const Scope scope("gradient", arg.where());
  const Site& site = scope.site();
  const Composed function = floating(site, arg);
  const Tensor& f = function.values;
  const std::int64_t along = checked_axis(site, axis, f.ndim()), n = f.size(static_cast<int>(along));
  if (edge_order != 1 && edge_order != 2) fail<ValueError>(site, fmt::format("edge_order is 1 or 2, not {}", edge_order));
  if (n < edge_order + 1)
    fail<ShapeError>(site, fmt::format("a gradient of edge_order {} needs {}, axis {} has {}", edge_order, counted(edge_order + 1, "element"), axis, n));
  const auto at = [&](const Tensor& t, std::int64_t begin, std::int64_t end) { return between(t, t.ndim() == 1 ? 0 : along, begin, end); };
  const Shape& given = shape_of(site, spacing);
  Tensor slope, first, last;  // the differences in the middle and at the ends
  if (given.empty()) {
    const Tensor h(operand(site, spacing, f.dtype(), Shape()));
    slope = (at(f, 2, n) - at(f, 0, n - 2)) / (2 * h);
    first = (at(f, 1, 2) - at(f, 0, 1)) / h, last = (at(f, n - 1, n) - at(f, n - 2, n - 1)) / h;
    if (edge_order == 2) {
      first = (-1.5 * at(f, 0, 1) + 2 * at(f, 1, 2) - 0.5 * at(f, 2, 3)) / h;
      last = (0.5 * at(f, n - 3, n - 2) - 2 * at(f, n - 2, n - 1) + 1.5 * at(f, n - 1, n)) / h;
    }
  } else {
    if (given != Shape{n}) fail<ShapeError>(site, fmt::format("spacing of shape {} for axis {} with size {}", to_string(given), axis, n));
    const Tensor h = along_axis(diff(astype(spacing, f.dtype())), along, f.shape().size());
    const auto step = [&](std::int64_t k) { return between(h, along, k, k + 1); };
    const Tensor before = between(h, along, 0, n - 2), after = between(h, along, 1, n - 1);
    slope = at(f, 0, n - 2) * (-after / (before * (before + after))) + at(f, 1, n - 1) * ((after - before) / (before * after)) +
            at(f, 2, n) * (before / (after * (before + after)));
    first = (at(f, 1, 2) - at(f, 0, 1)) / step(0), last = (at(f, n - 1, n) - at(f, n - 2, n - 1)) / step(n - 2);
    if (edge_order == 2) {
      const Tensor a = step(0), b = step(1), c = step(n - 3), d = step(n - 2);
      first = at(f, 0, 1) * (-(2 * a + b) / (a * (a + b))) + at(f, 1, 2) * ((a + b) / (a * b)) - at(f, 2, 3) * (a / (b * (a + b)));
      last = at(f, n - 3, n - 2) * (d / (c * (c + d))) - at(f, n - 2, n - 1) * ((c + d) / (c * d)) + at(f, n - 1, n) * ((2 * d + c) / (d * (c + d)));
    }
  }
  return function(n > 2 ? concatenate({first, slope, last}, along) : concatenate({first, last}, along));
}

Tensor interp(const Arg& arg, const Arg& xp, const Arg& fp, std::optional<double> left, std::optional<double> right, std::optional<double> period) {
  const Scope scope("interp", arg.where());
  const Site& site = scope.site();
  const auto real = [&](const Arg& t) { return Tensor(make_cast(site, as_node(site, t), DType::float64)); };
  Tensor x = real(arg), points = real(xp), heights = real(fp);
  if (points.ndim() != 1 || points.shape() != heights.shape() || points.size() == 0)
    fail<ShapeError>(
        site, fmt::format("xp and fp are vectors of one length, at least 1, not of shapes {} and {}", to_string(points.shape()), to_string(heights.shape())));
  if (period) {
    if (*period == 0) fail<ValueError>(site, "the period is 0");
    const double length = std::abs(*period);
    x = remainder(x, length), points = remainder(points, length);
    const Tensor order = argsort(points);
    points = take(points, order), heights = take(heights, order);
    const std::int64_t n = points.size();
    points = concatenate({between(points, 0, n - 1, n) - length, points, between(points, 0, 0, 1) + length});
    heights = concatenate({between(heights, 0, n - 1, n), heights, between(heights, 0, 0, 1)});
  }
  const std::int64_t n = points.size();
  const Tensor place = count_before(site, points, x, true, false) - 1;
  const Tensor begin = n == 1 ? zeros(place.shape(), DType::int64) : clip(place, 0, n - 2);
  const auto at = [&](const Tensor& t, const Tensor& index) { return Tensor(make_take(site, t.node(), index.node(), 0)); };
  Tensor result = heights(0);
  if (n > 1) {
    const Tensor lower = at(points, begin), upper = at(points, begin + 1), height = at(heights, begin), next = at(heights, begin + 1);
    const Tensor slope = (next - height) / (upper - lower);
    // If an infinity makes the line NaN, the result is the height if both heights are equal; otherwise the line is drawn from the other point.
    Tensor line = slope * (x - lower) + height;
    line = where(isnan(line), where(height == next, height, slope * (x - upper) + next), line);
    result = where(x == lower, height, line);  // exact at a point, because the line next to it may end at infinity
  }
  // These are the results at and beyond the last point, and before the first point.
  const Tensor last = heights(n - 1);
  result = where(place == n - 1, right ? where(x > points(n - 1), *right, last) : last, result);
  result = where(place < 0, left ? Tensor(full({}, *left)) : heights(0), result);
  return where(isnan(x), x, result);
}

}  // namespace sinter
