// Fourier transforms, expressed by library calls along the last axis: one for complex numbers, and others that take half the work for real ones.
#include "sinter/fft.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"

namespace sinter::fft {
namespace {

using namespace ops;

/// Returns the type of the computation and of its result for operands of a type.
DType real_type(DType type) { return !is_floating(type) ? DType::float64 : traits(type).compute; }

/// Moves the axis to the end and crops it to n elements or pads it with zeros.
Tensor prepared(const Site& site, const Tensor& x, std::int64_t n, std::int64_t axis) {
  if (n < 1) fail<ValueError>(site, fmt::format("a transform of {}", counted(n, "number")));
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

/// Splits (..., 2, m) into the results' real parts and imaginary parts.
Complex halves(const Tensor& packed, std::int64_t axis, double scale) {
  const auto half = [&](std::int64_t k) {
    const Tensor part = moveaxis(packed.at({ellipsis, k, Slice{}}), -1, axis);
    return scale == 1 ? part : part * scale;
  };
  return {half(0), half(1)};
}

/// Converts both parts to one type and shape.
Complex matched(const Site& site, const Complex& x) {
  const Shape &a = node_of(site, x.re)->shape, &b = node_of(site, x.im)->shape;
  if (a != b) fail<ShapeError>(site, fmt::format("a real part of shape {} and an imaginary one of shape {}", to_string(a), to_string(b)));
  const DType type = real_type(promote(site, x.re.dtype(), x.im.dtype()));
  return {astype(x.re, type), astype(x.im, type)};
}

Complex transformed(const Site& site, const Complex& given, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, bool inverse) {
  const Complex x = matched(site, given);
  const std::int64_t count = length(site, x.re, n, axis);
  const Tensor re = prepared(site, x.re, count, axis), im = prepared(site, x.im, count, axis);
  // The inverse is the transform with the parts exchanged before and after.
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
  if (count < 1) fail<ValueError>(site, fmt::format("a transform to {}", counted(count, "number")));
  const Tensor re = prepared(site, x.re, count / 2 + 1, axis), im = prepared(site, x.im, count / 2 + 1, axis);
  const Tensor result = moveaxis(Tensor(make_library(site, count % 2 == 0 ? Op::irfft_even : Op::irfft_odd, {re.node(), im.node()})), -1, axis);
  const double scale = factor(count, norm, true);
  return scale == 1 ? result : result * scale;
}

/// An axis and its size before the transform.
struct Along {
  std::int64_t axis, size;
};
std::vector<Along> ordered(const Site& site, const Shape& shape, const Shape& s, const Axes& axes) {
  const auto rank = static_cast<std::int64_t>(shape.size()), given = static_cast<std::int64_t>(s.size());
  std::vector<std::int64_t> list = axes.list();
  if (axes.all()) {
    if (given > rank) fail<ValueError>(site, fmt::format("{} for {}", counted(given, "size"), counted(rank, "axis", "axes")));
    for (std::int64_t k = s.empty() ? 0 : rank - given; k < rank; ++k) list.push_back(k);
  }
  if (!s.empty() && s.size() != list.size()) fail<ValueError>(site, fmt::format("{} for {}", counted(given, "size"), counted(list.size(), "axis", "axes")));
  std::vector<Along> order;
  for (std::size_t k = 0; k < list.size(); ++k) {
    const std::int64_t axis = checked_axis(site, list[k], rank);
    order.push_back({axis, s.empty() || s[k] == -1 ? shape[static_cast<std::size_t>(axis)] : s[k]});
  }
  return order;
}
const Along& last(const Site& site, const std::vector<Along>& order) {
  if (order.empty()) fail<AxisError>(site, "there is no axis to transform");
  return order.back();
}

/// Transforms along the axes, the last axis first, as NumPy does.
Complex along_all(const Site& site, Complex x, const std::vector<Along>& order, Norm norm, bool inverse) {
  for (std::size_t k = order.size(); k-- > 0;) x = transformed(site, x, order[k].size, order[k].axis, norm, inverse);
  return x;
}
Complex along_axes(const Site& site, const Complex& x, const Shape& s, const Axes& axes, Norm norm, bool inverse) {
  const Complex from = matched(site, x);
  return along_all(site, from, ordered(site, from.re.shape(), s, axes), norm, inverse);
}

Norm swapped(Norm norm) { return norm == Norm::backward ? Norm::forward : norm == Norm::forward ? Norm::backward : norm; }

Tensor shifted(const Site& site, const Tensor& x, const Axes& axes, std::int64_t sign) {
  std::vector<std::int64_t> shifts, order;
  for (const Along& along : ordered(site, x.shape(), {}, axes)) {
    shifts.push_back(sign > 0 ? along.size / 2 : -(along.size / 2));
    order.push_back(along.axis);
  }
  return order.empty() ? x : roll(x, shifts, Axes(order));
}

Complex of_real(const Tensor& x) { return {x, zeros(x.shape(), x.dtype())}; }

}  // namespace

Complex fft(const Complex& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, Location where) {
  const Scope scope("fft", where);
  return transformed(scope.site(), x, n, axis, norm, false);
}
Complex fft(const Arg& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Scope scope("fft", x.where());
  return transformed(scope.site(), of_real(Tensor(as_node(scope.site(), x))), n, axis, norm, false);
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

Tensor hfft(const Complex& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm, Location where) {
  const Scope scope("hfft", where);
  const Complex given = matched(scope.site(), x);
  return real_inverse(scope.site(), {given.re, -given.im}, n, axis, swapped(norm));
}
Complex ihfft(const Arg& x, std::optional<std::int64_t> n, std::int64_t axis, Norm norm) {
  const Scope scope("ihfft", x.where());
  const Complex result = real_transformed(scope.site(), Tensor(as_node(scope.site(), x)), n, axis, swapped(norm));
  return {result.re, -result.im};
}

Complex fftn(const Complex& x, const Shape& s, const Axes& axes, Norm norm, Location where) {
  const Scope scope("fftn", where);
  return along_axes(scope.site(), x, s, axes, norm, false);
}
Complex fftn(const Arg& x, const Shape& s, const Axes& axes, Norm norm) {
  const Scope scope("fftn", x.where());
  return fftn(of_real(Tensor(as_node(scope.site(), x))), s, axes, norm);
}
Complex ifftn(const Complex& x, const Shape& s, const Axes& axes, Norm norm, Location where) {
  const Scope scope("ifftn", where);
  return along_axes(scope.site(), x, s, axes, norm, true);
}
Complex rfftn(const Arg& arg, const Shape& s, const Axes& axes, Norm norm) {
  const Scope scope("rfftn", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  std::vector<Along> order = ordered(scope.site(), x.shape(), s, axes);
  const Along half = last(scope.site(), order);
  order.pop_back();
  return along_all(scope.site(), real_transformed(scope.site(), x, half.size, half.axis, norm), order, norm, false);
}
Tensor irfftn(const Complex& x, const Shape& s, const Axes& axes, Norm norm, Location where) {
  const Scope scope("irfftn", where);
  const Complex from = matched(scope.site(), x);
  std::vector<Along> order = ordered(scope.site(), from.re.shape(), s, axes);
  const Along half = last(scope.site(), order);
  order.pop_back();
  return real_inverse(scope.site(), along_all(scope.site(), from, order, norm, true), s.empty() ? std::nullopt : std::optional(half.size), half.axis, norm);
}

Tensor fftfreq(std::int64_t n, double d, Location where) {
  const Scope scope("fftfreq", where);
  if (n < 1) fail<ValueError>(scope.site(), fmt::format("a transform of {}", counted(n, "number")));
  const Tensor k = arange(n);
  return astype(sinter::where(less(k, (n + 1) / 2), k, k - n), DType::float64) / (static_cast<double>(n) * d);
}
Tensor rfftfreq(std::int64_t n, double d, Location where) {
  const Scope scope("rfftfreq", where);
  if (n < 1) fail<ValueError>(scope.site(), fmt::format("a transform of {}", counted(n, "number")));
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
