// Complex numbers: compositions over pairs of real tensors.
#include "sinter/complex.hpp"

#include "ops/recording.hpp"
#include "sinter/creation.hpp"
#include "sinter/ops.hpp"

namespace sinter {

using namespace ops;

Complex operator+(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("add", a.where());
  return {a.re() + b.re(), a.im() + b.im()};
}
Complex operator-(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("subtract", a.where());
  return {a.re() - b.re(), a.im() - b.im()};
}
Complex operator*(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("multiply", a.where());
  return {a.re() * b.re() - a.im() * b.im(), a.re() * b.im() + a.im() * b.re()};
}
Complex operator/(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("divide", a.where());
  const Tensor scale = maximum(abs(b.re()), abs(b.im())), re = b.re() / scale, im = b.im() / scale, size = b.re() * re + b.im() * im;
  return {(a.re() * re + a.im() * im) / size, (a.im() * re - a.re() * im) / size};
}
Complex operator-(const ComplexArg& x) {
  const Scope scope("negative", x.where());
  return {-x.re(), -x.im()};
}
Complex conj(const ComplexArg& x) {
  const Scope scope("conj", x.where());
  return {x.re(), -x.im()};
}
Tensor abs(const ComplexArg& x) {
  const Scope scope("abs", x.where());
  return hypot(x.re(), x.im());
}
Tensor angle(const ComplexArg& x) {
  const Scope scope("angle", x.where());
  return atan2(x.im(), x.re());
}

namespace {

/// (re, im) times i, and divided by it: the circular functions are the hyperbolic ones turned by it.
Complex times_i(const ComplexArg& x) { return {-x.im(), x.re()}; }
Complex by_i(const ComplexArg& x) { return {x.im(), -x.re()}; }

}  // namespace

Complex exp(const ComplexArg& x) {
  const Scope scope("exp", x.where());
  const Tensor size = exp(x.re());
  // Of a real number the infinite size times sin 0 would be NaN.
  return {where(x.im() == 0, size, size * cos(x.im())), where(x.im() == 0, x.im(), size * sin(x.im()))};
}
Complex log(const ComplexArg& x) {
  const Scope scope("log", x.where());
  const Tensor a = abs(x.re()), b = abs(x.im()), larger = maximum(a, b), smaller = minimum(a, b), size = hypot(a, b);
  // Near the unit circle the logarithm of the rounded size has no correct digits.
  const Tensor near_one = 0.5 * log1p((larger - 1) * (larger + 1) + smaller * smaller);
  return {where(logical_and(size > 0.7, size < 1.4), near_one, log(size)), atan2(x.im(), x.re())};
}
Complex sqrt(const ComplexArg& x) {
  const Scope scope("sqrt", x.where());
  // The part that is not cancelled; the other one follows from it.
  const Tensor size = sqrt(0.5 * hypot(x.re(), x.im()) + 0.5 * abs(x.re()));
  const Tensor other = where(size == 0, abs(x.im()), 0.5 * abs(x.im()) / size);
  const Tensor right = signbit(x.re()), wide = isinf(x.im());
  return {where(wide, abs(x.im()), where(right, other, size)), where(wide, x.im(), copysign(where(right, size, other), x.im()))};
}
Complex sinh(const ComplexArg& x) {
  const Scope scope("sinh", x.where());
  return {where(x.im() == 0, sinh(x.re()), sinh(x.re()) * cos(x.im())), where(x.im() == 0, x.im(), cosh(x.re()) * sin(x.im()))};
}
Complex cosh(const ComplexArg& x) {
  const Scope scope("cosh", x.where());
  const Tensor im = where(logical_or(x.im() == 0, x.re() == 0), x.im() * copysign(minimum(abs(x.re()), 1), x.re()), sinh(x.re()) * sin(x.im()));
  return {where(x.im() == 0, cosh(x.re()), cosh(x.re()) * cos(x.im())), im};
}
Complex tanh(const ComplexArg& x) {
  const Scope scope("tanh", x.where());
  const Tensor tangent = tan(x.im()), sine = sinh(x.re()), beta = 1 + tangent * tangent, below = 1 + beta * sine * sine;
  const Tensor far = abs(x.re()) > 22;  // there 1 - |re| is less than half a unit of the last place, and sinh squared overflows
  return {where(far, copysign(ones_like(x.re()), x.re()), beta * sqrt(1 + sine * sine) * sine / below),
          where(far, 4 * sin(x.im()) * cos(x.im()) * exp(-2 * abs(x.re())), tangent / below)};
}
Complex sin(const ComplexArg& x) { return by_i(sinh(times_i(x))); }
Complex cos(const ComplexArg& x) { return cosh(times_i(x)); }
Complex tan(const ComplexArg& x) { return by_i(tanh(times_i(x))); }

Complex power(const ComplexArg& base, const ComplexArg& exponent) {
  const Scope scope("power", base.where());
  const Complex result = exp(log(base) * exponent);
  const Tensor zero = logical_and(base.re() == 0, base.im() == 0), one = logical_and(exponent.re() == 0, exponent.im() == 0);
  return {where(one, 1, where(zero, 0, result.re)), where(logical_or(one, zero), 0, result.im)};
}
Complex power(const ComplexArg& base, std::int64_t exponent) {
  const Scope scope("power", base.where());
  constexpr std::int64_t kMost = 512;
  if (exponent > kMost || exponent < -kMost) {
    const Tensor number = full({}, static_cast<double>(exponent), base.re().dtype());
    return power(base, Complex{number, zeros_like(number)});
  }
  Complex result{ones_like(base.re()), zeros_like(base.re())}, square{base.re(), base.im()};
  bool begun = false;
  for (std::int64_t left = exponent < 0 ? -exponent : exponent; left > 0; left /= 2) {
    if (left % 2 == 1) result = begun ? result * square : square, begun = true;
    if (left > 1) square = square * square;
  }
  return exponent < 0 ? Complex{ones_like(base.re()), zeros_like(base.re())} / result : result;
}
Complex matmul(const ComplexArg& a, const ComplexArg& b) {
  const Scope scope("matmul", a.where());
  return {matmul(a.re(), b.re()) - matmul(a.im(), b.im()), matmul(a.re(), b.im()) + matmul(a.im(), b.re())};
}

Complex polar(const Arg& radius, const Arg& angle) {
  const Scope scope("polar", radius.where());
  return {radius * cos(angle), radius * sin(angle)};
}

Tensor real(const Arg& x) {
  const Scope scope("real", x.where());
  return Tensor(as_node(scope.site(), x));
}
Tensor imag(const Arg& x) {
  const Scope scope("imag", x.where());
  const RecordedPtr given = as_node(scope.site(), x);
  return zeros(given->shape, given->dtype);
}
Tensor conj(const Arg& x) {
  const Scope scope("conj", x.where());
  return Tensor(as_node(scope.site(), x));
}
Tensor angle(const Arg& x) {
  const Scope scope("angle", x.where());
  const RecordedPtr given = as_node(scope.site(), x);
  return atan2(zeros({}, given->dtype), Tensor(given));
}

}  // namespace sinter
