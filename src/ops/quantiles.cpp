// Quantiles: they select two neighbouring sorted elements, and interpolate between them.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/recording.hpp"
#include "sinter/ops.hpp"
#include "sinter/sorting.hpp"
#include "sinter/statistics.hpp"
#include "sinter/types.hpp"
#include "trace/host_access.hpp"

namespace sinter {
namespace {

using namespace ops;

// Overloads for numbers that are known when recording, and for numbers that are computed per row.
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double rint_of(double x) { return std::nearbyint(x); }
double choose(bool condition, double a, double b) { return condition ? a : b; }
bool both(bool a, bool b) { return a && b; }
double at_least(double x, double low) { return std::max(x, low); }
double at_most(double x, double high) { return std::min(x, high); }
Tensor floor_of(const Tensor& x) { return floor(x); }
Tensor ceil_of(const Tensor& x) { return ceil(x); }
Tensor rint_of(const Tensor& x) { return rint(x); }
Tensor choose(const Tensor& condition, const Arg& a, const Arg& b) { return where(condition, a, b); }
Tensor both(const Tensor& a, const Tensor& b) { return logical_and(a, b); }
Tensor at_least(const Tensor& x, double low) { return maximum(x, low); }
Tensor at_most(const Tensor& x, const Tensor& high) { return minimum(x, high); }

/// The position of a quantile among n sorted elements: between elements `lower` and `upper`, at the fraction `part` of the distance.
template <class X> struct Place {
  X lower, upper, part;
};
template <class X> Place<X> place_of(QuantileMethod method, const X& n, const X& q) {
  using enum QuantileMethod;
  const auto continuous = [&](double alpha, double beta) -> X { return n * q + (alpha + q * (1 - alpha - beta)) - 1; };
  const auto within = [&](const X& x) -> X { return at_most(at_least(x, 0), X(n - 1)); };
  X at = (n - 1) * q;
  switch (method) {
    case linear: break;
    case lower: at = floor_of(at); break;
    case higher: at = ceil_of(at); break;
    case midpoint: at = 0.5 * (floor_of(at) + ceil_of(at)); break;
    case nearest: at = rint_of(at); break;
    case inverted_cdf: at = at_least(ceil_of(X(n * q)) - 1, 0); break;
    case averaged_inverted_cdf: at = n * q - 1; break;
    case closest_observation: {
      const X place = n * q - 1.5, below = floor_of(place), half = below * 0.5;
      at = choose(both(place == below, half != floor_of(half)), below, X(below + 1));
      break;
    }
    case interpolated_inverted_cdf: at = continuous(0, 1); break;
    case hazen: at = continuous(0.5, 0.5); break;
    case weibull: at = continuous(0, 0); break;
    case median_unbiased: at = continuous(1 / 3.0, 1 / 3.0); break;
    case normal_unbiased: at = continuous(3 / 8.0, 3 / 8.0); break;
  }
  const X below = floor_of(at);
  X part = at - below;
  if (method == averaged_inverted_cdf) part = choose(part == 0.0, 0.5, 1.0);
  return {within(below), within(X(below + 1)), part};
}

/// Returns whether the result is always one of the elements: integers then stay integers, as in NumPy.
bool chooses(QuantileMethod method) {
  using enum QuantileMethod;
  return method == lower || method == higher || method == nearest || method == inverted_cdf || method == closest_observation;
}

/// The sorted rows, whose axes were moved to the end and merged, and the shape of a quantile.
struct Rows {
  Rows(const Site& site, const Tensor& tensor, const Axes& axes, bool keepdims) {
    const std::vector<std::int64_t> gone = checked_axes(site, axes, tensor.ndim());
    std::vector<std::int64_t> order;
    Shape others;
    std::int64_t n = 1;
    for (std::int64_t k = 0; k < tensor.ndim(); ++k) {
      const std::int64_t size = tensor.shape()[static_cast<std::size_t>(k)];
      const bool stays = std::find(gone.begin(), gone.end(), k) == gone.end();
      if (stays) order.push_back(k), others.push_back(size), shape.push_back(size);
      else if (n *= size; keepdims) shape.push_back(1);
    }
    order.insert(order.end(), gone.begin(), gone.end());
    others.push_back(n);
    rows = reshape(permute(tensor, order), others);
    length = n;
  }
  Tensor rows;
  std::int64_t length;
  Shape shape;
};

Tensor element(const Tensor& rows, std::int64_t at) { return rows(ellipsis, at); }

/// Interpolates between a and b at the fraction `part`, symmetrically. Returns a if both are equal or `part` is 0, also for infinities.
Tensor between(const Tensor& a, const Tensor& b, const Tensor& part) {
  const Tensor way = b - a;
  const Tensor found = where(part < 0.5, a + way * part, b - way * (1.0 - part));
  return where(logical_or(a == b, part == 0.0), a, where(logical_or(isinf(a), isinf(b)), a + b, found));
}

Tensor quantiles(const char* name, const Arg& arg, const Arg& q, double whole, const Axes& axes, QuantileMethod method, bool keepdims, bool leave_nan_out) {
  const Scope scope(name, arg.where());
  const Site& site = scope.site();
  const RecordedPtr given = as_node(site, arg);
  const bool whole_numbers = chooses(method) && !is_floating(given->dtype);
  const Composed x = whole_numbers ? Composed{Tensor(given), given->dtype} : floating(site, arg);
  const DType type = x.values.dtype();
  // As in NumPy a number q is weak in promotion, while the type of a tensor q affects the type of interpolated results.
  const DType q_type = q.is_tensor() ? floating(site, q).type : x.type;
  const DType result = chooses(method) ? x.type : promote(site, x.type, q_type);
  const Rows sorted_rows(site, x.values, axes, keepdims);
  const std::int64_t n = sorted_rows.length;
  const Shape& q_shape = shape_of(site, q);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Shape shape = q_shape;
  shape.insert(shape.end(), sorted_rows.shape.begin(), sorted_rows.shape.end());
  if (n == 0 && whole_numbers && element_count(shape) > 0) fail<ValueError>(site, "an empty array of integers has no quantile: no element can be chosen");
  if (n == 0 || element_count(shape) == 0) return whole_numbers ? zeros(shape, result) : full(shape, Arg(nan, site.where), result);

  const auto check = [&](double part) {
    if (!(part >= 0 && part <= whole)) fail<ValueError>(site, fmt::format("{} is not in [0, {}]", part, whole));
  };
  const Tensor sorted = sort(sorted_rows.rows);
  const Tensor last = element(sorted, n - 1);
  if (!q.is_tensor() && !leave_nan_out) {
    check(q.as_double());
    const Place<double> place = place_of<double>(method, static_cast<double>(n), q.as_double() / whole);
    const Tensor a = element(sorted, trace::whole(site, place.lower, "a place")), b = element(sorted, trace::whole(site, place.upper, "a place"));
    if (whole_numbers) return reshape(a, shape);
    const Tensor found = place.part == 0 ? a : between(a, b, Tensor(make_constant(site, make_scalar(type, place.part), a.shape())));
    return x(reshape(where(isnan(last), nan, found), shape));
  }
  const Tensor parts = astype(Tensor(as_node(site, q)), DType::float64);
  if (q.is_tensor()) {
    const auto* elements = static_cast<const double*>(host_data(parts.node(), site));
    std::for_each(elements, elements + parts.size(), check);
  } else {
    check(q.as_double());
  }
  // There is a row for each row of x and a column for each q.
  const Tensor count = leave_nan_out ? astype(sum(logical_not(isnan(sorted)), -1, true), DType::float64) : full({}, Arg(static_cast<double>(n), site.where));
  const Place<Tensor> place = place_of<Tensor>(method, maximum(count, 1.0), reshape(parts / whole, Shape{-1}));
  Shape wide(sorted.shape().begin(), sorted.shape().end() - 1);
  wide.push_back(parts.size());
  const auto look_up = [&](const Tensor& at) { return take_along_axis(sorted, broadcast_to(astype(at, DType::int64), wide), -1); };
  const DType wider = promote(site, type, result);
  Tensor found =
      chooses(method) ? look_up(place.lower) : between(astype(look_up(place.lower), wider), astype(look_up(place.upper), wider), astype(place.part, wider));
  if (!whole_numbers) found = where(leave_nan_out ? count == 0.0 : isnan(expand_dims(last, -1)), nan, found);
  std::vector<std::int64_t> q_first{found.ndim() - 1};
  for (std::int64_t k = 0; k + 1 < found.ndim(); ++k) q_first.push_back(k);
  return astype(reshape(permute(found, q_first), shape), result);
}

}  // namespace

Tensor quantile(const Arg& x, const Arg& q, const Axes& axes, QuantileMethod method, bool keepdims) {
  return quantiles("quantile", x, q, 1, axes, method, keepdims, false);
}
Tensor nanquantile(const Arg& x, const Arg& q, const Axes& axes, QuantileMethod method, bool keepdims) {
  return quantiles("nanquantile", x, q, 1, axes, method, keepdims, true);
}
Tensor percentile(const Arg& x, const Arg& q, const Axes& axes, QuantileMethod method, bool keepdims) {
  return quantiles("percentile", x, q, 100, axes, method, keepdims, false);
}
Tensor nanpercentile(const Arg& x, const Arg& q, const Axes& axes, QuantileMethod method, bool keepdims) {
  return quantiles("nanpercentile", x, q, 100, axes, method, keepdims, true);
}
Tensor median(const Arg& x, const Axes& axes, bool keepdims) {
  return quantiles("median", x, Arg(0.5, x.where()), 1, axes, QuantileMethod::linear, keepdims, false);
}
Tensor nanmedian(const Arg& x, const Axes& axes, bool keepdims) {
  return quantiles("nanmedian", x, Arg(0.5, x.where()), 1, axes, QuantileMethod::linear, keepdims, true);
}

}  // namespace sinter
