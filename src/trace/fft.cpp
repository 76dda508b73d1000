// Fourier transforms, down to library calls along the last axis: one of complex numbers, and those that save half for real ones.
#include "sinter/fft.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/promote.hpp"

namespace sinter::fft {
namespace {

using namespace trace;

/// What results, and is computed with, for operands of a type.
DType real_type(DType type) { return !is_floating(type) ? DType::float64 : traits(type).compute; }

/// Cut to n elements along the axis, or filled up with zeros, the axis moved last.
Tensor prepared(const Site& site, const Tensor& x, std::int64_t n, std::int64_t axis) {
  if (n < 1) fail<ValueError>(site, fmt::format("a transform of {} numbers", n));
  const Tensor last = moveaxis(x, axis, -1);
  const std::int64_t size = last.shape().back();
  if (size == n) return last;
  if (size > n) return last.at({ellipsis, Slice{0, n}});
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(last.shape().size(), {0, 0});
  widths.back().second = n - size;
  return pad(last, widths);
}
double factor(std::int64_t n, Norm norm, bool inverse) {
  if (norm == Norm::ortho) return 1 / std::sqrt(static_cast<double>(n));
  return (norm == Norm::forward) != inverse ? 1 / static_cast<double>(n) : 1;
}
std::int64_t length(const Site& site, const Tensor& x, std::optional<std::int64_t> n, std::int64_t axis) {
  const std::int64_t along = checked_axis(site, axis, x.ndim());
  return n.value_or(x.shape()[static_cast<std::size_t>(along)]);
}

/// (..., 2, m): the results' real parts, then the imaginary ones.
Complex halves(const Tensor& packed, std::int64_t axis, double scale) {
  const auto half = [&](std::int64_t k) {
    const Tensor part = moveaxis(packed.at({ellipsis, k, Slice{}}), -1, axis);
    return scale == 1 ? part : part * scale;
  };
  return {half(0), half(1)};
}

/// Both parts of one type and shape.
Complex matched(const Site& site, const Complex& x) {
  const Shape &a = node_of(site, x.re)->shape, &b = node_of(site, x.im)->shape;
  if (a != b) fail<ShapeError>(site, fmt::format("a real part of shape {} and an imaginary one of shape {}", to_string(a), to_string(b)));
  const DType type = real_type(promote(x.re.dtype(), x.im.dtype()));
  return {astype(x.re, type), astype(x.im, type)};
}

Complex transformed(const Site& site, const Complex& given, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, bool inverse) {
  const Complex x = matched(site, given);
  const std::int64_t count = length(site, x.re, n, axis);
  const Tensor re = prepared(site, x.re, count, axis), im = prepared(site, x.im, count, axis);
  // The inverse is the transform with the parts exchanged, before and after.
  const Tensor packed(make_library(site, Op::fft, {(inverse ? im : re).node(), (inverse ? re : im).node()}));
  Complex result = halves(packed, axis, factor(count, norm, inverse));
  if (inverse) std::swap(result.re, result.im);
  return result;
}

Complex real_transformed(const Site& site, const Tensor& given, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Tensor x = astype(given, real_type(given.dtype()));
  const std::int64_t count = length(site, x, n, axis);
  return halves(Tensor(make_library(site, Op::rfft, {prepared(site, x, count, axis).node()})), axis, factor(count, norm, false));
}

Tensor real_inverse(const Site& site, const Complex& given, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Complex x = matched(site, given);
  const std::int64_t count = n ? *n : 2 * (length(site, x.re, {}, axis) - 1);
  if (count < 1) fail<ValueError>(site, fmt::format("a transform to {} numbers", count));
  const Tensor re = prepared(site, x.re, count / 2 + 1, axis), im = prepared(site, x.im, count / 2 + 1, axis);
  const Tensor result = moveaxis(Tensor(make_library(site, count % 2 == 0 ? Op::irfft_even : Op::irfft_odd, {re.node(), im.node()})), -1, axis);
  const double scale = factor(count, norm, true);
  return scale == 1 ? result : result * scale;
}

/// Last axis first, as NumPy.
std::vector<std::int64_t> ordered(const Site& site, const Tensor& x, const Axes& axes) {
  std::vector<std::int64_t> order;
  if (axes.all())
    for (std::int64_t k = 0; k < x.ndim(); ++k) order.push_back(k);
  for (const std::int64_t axis : axes.list()) order.push_back(checked_axis(site, axis, x.ndim()));
  return order;
}

Tensor shifted(const Site& site, const Tensor& x, const Axes& axes, std::int64_t sign) {
  std::vector<std::int64_t> shifts;
  const std::vector<std::int64_t> order = ordered(site, x, axes);
  for (const std::int64_t axis : order) shifts.push_back(sign > 0 ? x.shape()[static_cast<std::size_t>(axis)] / 2 : -(x.shape()[static_cast<std::size_t>(axis)] / 2));
  return order.empty() ? x : roll(x, shifts, Axes(order));
}

}  // namespace

Tensor abs(const Complex& x) { return hypot(x.re, x.im); }
Tensor angle(const Complex& x) { return atan2(x.im, x.re); }
Complex conj(const Complex& x) { return {x.re, -x.im}; }
Complex multiply(const Complex& a, const Complex& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

Complex fft(const Complex& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, Location where) {
  const Scope scope("fft", where);
  return transformed(scope.site(), x, n, axis, norm, false);
}
Complex fft(const Arg& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Scope scope("fft", x.where());
  const Tensor re(as_node(scope.site(), x));
  return transformed(scope.site(), {re, zeros(re.shape(), re.dtype())}, n, axis, norm, false);
}
Complex ifft(const Complex& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, Location where) {
  const Scope scope("ifft", where);
  return transformed(scope.site(), x, n, axis, norm, true);
}
Complex rfft(const Arg& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Scope scope("rfft", x.where());
  return real_transformed(scope.site(), Tensor(as_node(scope.site(), x)), n, axis, norm);
}
Tensor irfft(const Complex& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, Location where) {
  const Scope scope("irfft", where);
  return real_inverse(scope.site(), x, n, axis, norm);
}

Complex fftn(const Complex& x, const Axes& axes, Norm norm, Location where) {
  const Scope scope("fftn", where);
  const auto order = ordered(scope.site(), Tensor(node_of(scope.site(), x.re)), axes);
  Complex result = matched(scope.site(), x);
  for (std::size_t k = order.size(); k-- > 0;) result = transformed(scope.site(), result, {}, order[k], norm, false);
  return result;
}
Complex ifftn(const Complex& x, const Axes& axes, Norm norm, Location where) {
  const Scope scope("ifftn", where);
  const auto order = ordered(scope.site(), Tensor(node_of(scope.site(), x.re)), axes);
  Complex result = matched(scope.site(), x);
  for (std::size_t k = order.size(); k-- > 0;) result = transformed(scope.site(), result, {}, order[k], norm, true);
  return result;
}
Complex rfftn(const Arg& arg, const Axes& axes, Norm norm) {
  const Scope scope("rfftn", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  const auto order = ordered(scope.site(), x, axes);
  if (order.empty()) fail<AxisError>(scope.site(), "there is no axis to transform");
  Complex result = real_transformed(scope.site(), x, {}, order.back(), norm);
  for (std::size_t k = order.size() - 1; k-- > 0;) result = transformed(scope.site(), result, {}, order[k], norm, false);
  return result;
}
Tensor irfftn(const Complex& x, std::optional<std::int64_t> n, const Axes& axes, Norm norm, Location where) {
  const Scope scope("irfftn", where);
  const auto order = ordered(scope.site(), Tensor(node_of(scope.site(), x.re)), axes);
  if (order.empty()) fail<AxisError>(scope.site(), "there is no axis to transform");
  Complex result = matched(scope.site(), x);
  for (std::size_t k = 0; k + 1 < order.size(); ++k) result = transformed(scope.site(), result, {}, order[k], norm, true);
  return real_inverse(scope.site(), result, n, order.back(), norm);
}

Tensor fftfreq(std::int64_t n, double d, Location where) {
  const Scope scope("fftfreq", where);
  if (n < 1) fail<ValueError>(scope.site(), fmt::format("a transform of {} numbers", n));
  const Tensor k = arange(n);
  return astype(sinter::where(less(k, (n + 1) / 2), k, k - n), DType::float64) / (static_cast<double>(n) * d);
}
Tensor rfftfreq(std::int64_t n, double d, Location where) {
  const Scope scope("rfftfreq", where);
  if (n < 1) fail<ValueError>(scope.site(), fmt::format("a transform of {} numbers", n));
  return astype(arange(n / 2 + 1), DType::float64) / (static_cast<double>(n) * d);
}
Tensor fftshift(const Arg& x, const Axes& axes) {
  const Scope scope("fftshift", x.where());
  return shifted(scope.site(), Tensor(as_node(scope.site(), x)), axes, 1);
}
Tensor ifftshift(const Arg& x, const Axes& axes) {
  const Scope scope("ifftshift", x.where());
  return shifted(scope.site(), Tensor(as_node(scope.site(), x)), axes, -1);
}

}  // namespace sinter::fft
