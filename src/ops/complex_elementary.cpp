// Elementary functions of complex numbers, composed of real ones. Zeros, infinities and NaN give the results of annex G of the C standard.
#include <cmath>
#include <numbers>

#include "ops/recording.hpp"
#include "sinter/complex.hpp"
#include "sinter/creation.hpp"
#include "sinter/ops.hpp"
#include "sinter/types.hpp"

namespace sinter {

using namespace ops;

namespace {

/// These multiply (re, im) by i and divide it by i, which converts the hyperbolic functions to the circular ones.
Complex times_i(const ComplexArg& x) { return {-x.im(), x.re()}; }
Complex by_i(const ComplexArg& x) { return {x.im(), -x.re()}; }

Tensor is_infinite(const ComplexArg& x) { return logical_or(isinf(x.re()), isinf(x.im())); }

/// Computes exp(size) * factor, where exp(size) alone may overflow.
Tensor exp_times(const Tensor& size, const Tensor& factor) {
  const double largest = std::floor(std::log(finfo(size.dtype()).max)) - 1;
  const Tensor wide = size > largest;
  return where(wide, exp(size - largest) * factor * std::exp(largest), exp(size) * factor);
}
/// Returns the imaginary part. If the real part is -infinity, the exponential is 0, and an infinite or NaN imaginary part counts as 0.
Tensor angle_of_exp(const ComplexArg& x) { return where(logical_and(x.re() == -INFINITY, logical_not(isfinite(x.im()))), 0, x.im()); }
/// Tests for an infinite magnitude with an infinite or NaN angle, for which the result is still infinite.
Tensor infinite_without_angle(const ComplexArg& x) { return logical_and(isinf(x.re()), logical_not(isfinite(x.im()))); }

/// Returns log(hypot(x, y)); `near_one` is its value near 1: half of log1p of the squared magnitude minus 1.
Tensor log_of_size(const Tensor& x, const Tensor& y, const Tensor& near_one) {
  const Tensor size = hypot(x, y);
  const Tensor wide = log(hypot(0.5 * x, 0.5 * y)) + std::numbers::ln2;  // the magnitude itself may overflow
  return where(logical_and(size > 0.7, size < 1.4), near_one, where(size > 1e30, wide, log(size)));
}

}  // namespace

Complex sign(const ComplexArg& x) {
  const Scope scope("sign", x.where());
  const Tensor infinite = is_infinite(x);
  const auto direction = [&](const Tensor& part) { return where(infinite, where(isinf(part), copysign(ones_like(part), part), 0 * abs(part)), part); };
  const Tensor re = direction(x.re()), im = direction(x.im()), larger = maximum(abs(re), abs(im)), a = re / larger, b = im / larger, size = hypot(a, b);
  return {where(larger == 0, 0, a / size), where(larger == 0, 0, b / size)};
}

Complex exp(const ComplexArg& x) {
  const Scope scope("exp", x.where());
  const Tensor angle = angle_of_exp(x);
  return {where(logical_or(angle == 0, infinite_without_angle(x)), exp(x.re()), exp_times(x.re(), cos(angle))),
          where(angle == 0, angle, exp_times(x.re(), sin(angle)))};
}
Complex expm1(const ComplexArg& x) {
  const Scope scope("expm1", x.where());
  const Complex all = exp(x);
  const Tensor half = sin(0.5 * angle_of_exp(x));  // cos - 1 is -2 sin^2 of half the angle
  const Tensor re = where(x.im() == 0, expm1(x.re()) + 0, expm1(x.re()) * cos(angle_of_exp(x)) - 2 * half * half);
  return {where(x.re() == -INFINITY, -1, where(x.re() > 40, all.re, re)), all.im};
}
Complex log(const ComplexArg& x) {
  const Scope scope("log", x.where());
  const Tensor a = abs(x.re()), b = abs(x.im()), larger = maximum(a, b), smaller = minimum(a, b);
  // Near the unit circle the logarithm of the rounded magnitude has no correct digits.
  return {log_of_size(a, b, 0.5 * log1p((larger - 1) * (larger + 1) + smaller * smaller)), atan2(x.im(), x.re())};
}
Complex log1p(const ComplexArg& x) {
  const Scope scope("log1p", x.where());
  const Tensor re = x.re() + 1;
  return {log_of_size(re, x.im(), 0.5 * log1p(x.re() * (x.re() + 2) + x.im() * x.im())), atan2(x.im(), re)};
}
Complex sqrt(const ComplexArg& x) {
  const Scope scope("sqrt", x.where());
  // The sum of squares neither overflows nor loses digits below the smallest normal number.
  const FloatInfo limits = finfo(x.re().dtype());
  const Tensor a = abs(x.re()), b = abs(x.im()), larger = maximum(a, b), wide = larger > limits.max / 16, tiny = larger < limits.smallest_normal / limits.eps;
  const Tensor scale = where(wide, 0x1p-4, where(tiny, 0x1p54, ones_like(a))), back = where(wide, 4, where(tiny, 0x1p-27, ones_like(a)));
  const Tensor re = scale * a, im = scale * b;
  // This part has no cancellation; the other part is computed from it.
  const Tensor size = sqrt(0.5 * hypot(re, im) + 0.5 * re), other = where(size == 0, im, 0.5 * im / size);
  const Tensor left = signbit(x.re()), infinite = isinf(x.im());
  return {where(infinite, b, back * where(left, other, size)), where(infinite, x.im(), copysign(back * where(left, size, other), x.im()))};
}
Complex sinh(const ComplexArg& x) {
  const Scope scope("sinh", x.where());
  const Tensor size = abs(x.re()), wide = size > 20, sine = sin(x.im());
  const Tensor cosine = where(logical_and(x.re() == 0, logical_not(isfinite(x.im()))), 1, cos(x.im()));
  const Tensor re = where(wide, copysign(ones_like(size), x.re()) * exp_times(size, 0.5 * cosine), sinh(x.re()) * cosine);
  const Tensor real = logical_or(x.im() == 0, infinite_without_angle(x));
  return {where(real, sinh(x.re()), re), where(x.im() == 0, x.im(), where(wide, exp_times(size, 0.5 * sine), cosh(x.re()) * sine))};
}
Complex cosh(const ComplexArg& x) {
  const Scope scope("cosh", x.where());
  const Tensor size = abs(x.re()), wide = size > 20, sine = sin(x.im()), cosine = cos(x.im()), sign = copysign(ones_like(size), x.re());
  const Tensor re = where(wide, exp_times(size, 0.5 * cosine), cosh(x.re()) * cosine),
               im = where(wide, sign * exp_times(size, 0.5 * sine), sinh(x.re()) * sine);
  const Tensor real = logical_or(x.im() == 0, infinite_without_angle(x));
  return {where(real, cosh(size), re), where(x.im() == 0, sign * x.im(), where(x.re() == 0, copysign(x.re(), sign * sine), im))};
}
Complex tanh(const ComplexArg& x) {
  const Scope scope("tanh", x.where());
  const Tensor tangent = tan(x.im()), sine = sinh(x.re()), beta = 1 + tangent * tangent, below = 1 + beta * sine * sine;
  const Tensor far = abs(x.re()) > 22;                          // there 1 - |re| is less than half a unit of the last place, and sinh squared overflows
  const Tensor no_angle = where(isinf(x.re()), 0, 0 * x.im());  // NaN where neither the real part nor the angle decides
  const Tensor re = where(far, copysign(ones_like(x.re()), x.re()) + no_angle, beta * sqrt(1 + sine * sine) * sine / below);
  const Tensor decayed = where(isinf(x.re()), copysign(zeros_like(x.im()), x.im()), 4 * sin(x.im()) * cos(x.im()) * exp(-2 * abs(x.re())));
  return {where(x.re() == 0, x.re(), where(x.im() == 0, tanh(x.re()), re)), where(x.im() == 0, x.im(), where(far, decayed, tangent / below))};
}
Complex sin(const ComplexArg& x) {
  const Scope scope("sin", x.where());
  return by_i(sinh(times_i(x)));
}
Complex cos(const ComplexArg& x) {
  const Scope scope("cos", x.where());
  return cosh(times_i(x));
}
Complex tan(const ComplexArg& x) {
  const Scope scope("tan", x.where());
  return by_i(tanh(times_i(x)));
}

// The inverse functions follow W. Kahan, "Branch cuts for complex elementary functions", 1987, so that no digits are lost by cancellation.

Complex asin(const ComplexArg& x) {
  const Scope scope("asin", x.where());
  const Complex below = sqrt(Complex{1 - x.re(), -x.im()}), above = sqrt(Complex{1 + x.re(), x.im()});
  const Tensor infinite = is_infinite(x), re = atan2(x.re(), below.re * above.re - below.im * above.im);
  return {where(infinite, atan2(x.re(), abs(x.im())), where(x.re() == 0, x.re(), re)),
          where(infinite, copysign(full({}, INFINITY, x.im().dtype()), x.im()), asinh(below.re * above.im - below.im * above.re))};
}
Complex acos(const ComplexArg& x) {
  const Scope scope("acos", x.where());
  const Complex below = sqrt(Complex{1 - x.re(), -x.im()}), above = sqrt(Complex{1 + x.re(), x.im()});
  const Tensor infinite = is_infinite(x), re = 2 * atan2(below.re, above.re);
  return {where(infinite, atan2(abs(x.im()), x.re()), where(x.re() == 0, std::numbers::pi / 2, re)),
          where(infinite, copysign(full({}, INFINITY, x.im().dtype()), -x.im()), asinh(above.re * below.im - above.im * below.re))};
}
Complex atanh(const ComplexArg& x) {
  const Scope scope("atanh", x.where());
  const FloatInfo limits = finfo(x.re().dtype());
  const Tensor a = abs(x.re()), b = abs(x.im()), infinite = is_infinite(x), far = logical_or(infinite, maximum(a, b) > 1 / std::sqrt(limits.eps));
  // Far from 0 the function is approximately 1 / x plus a right angle; near the poles the sum of squares would underflow.
  const Tensor size = hypot(0.5 * a, 0.5 * b), distance = hypot(1 - a, b);
  const auto inverse = [&](const Tensor& part) { return where(infinite, 0, 0.25 * part / size / size); };
  const Tensor near_pole = 0.5 * (log(hypot(1 + a, b)) - log(distance)), between = 0.25 * log1p(4 * a / ((1 - a) * (1 - a) + b * b));
  const Tensor re = where(far, inverse(a), where(distance < 0.1, near_pole, between));
  const Tensor im = where(far, copysign(std::numbers::pi / 2 - inverse(b), x.im()), 0.5 * atan2(2 * x.im(), (1 - a) * (1 + a) - b * b));
  return {where(x.re() == 0, x.re(), copysign(re, x.re())), where(isnan(x.im()), x.im(), im)};
}
Complex acosh(const ComplexArg& x) {
  const Scope scope("acosh", x.where());
  const Complex turned = acos(x);
  return {abs(turned.im), where(isnan(x.im()), turned.re, copysign(turned.re, x.im()))};
}
Complex asinh(const ComplexArg& x) {
  const Scope scope("asinh", x.where());
  return by_i(asin(times_i(x)));
}
Complex atan(const ComplexArg& x) {
  const Scope scope("atan", x.where());
  return by_i(atanh(times_i(x)));
}

}  // namespace sinter
