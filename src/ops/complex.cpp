// Arithmetic of complex numbers, composed of operations on pairs of real tensors.
#include "sinter/complex.hpp"

#include <limits>

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
  const Tensor scale = maximum(abs(b.re()), abs(b.im())), infinite = isinf(scale);
  const auto scaled = [&](const Tensor& part) { return where(infinite, copysign(astype(isinf(part), part.dtype()), part), part / scale); };
  const Tensor re = scaled(b.re()), im = scaled(b.im()), size = where(infinite, scale, b.re() * re + b.im() * im);
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

Complex power(const ComplexArg& base, const ComplexArg& exponent) {
  const Scope scope("power", base.where());
  const Complex result = exp(log(base) * exponent);
  const Tensor zero = logical_and(base.re() == 0, base.im() == 0), one = logical_and(exponent.re() == 0, exponent.im() == 0);
  const Tensor of_zero = where(exponent.re() > 0, zeros_like(result.re), std::numeric_limits<double>::quiet_NaN());  // as in NumPy
  return {where(one, 1, where(zero, of_zero, result.re)), where(one, 0, where(zero, of_zero, result.im))};
}
Complex power(const ComplexArg& base, std::int64_t exponent) {
  const Scope scope("power", base.where());
  constexpr std::int64_t kMaxExponent = 512;
  if (exponent > kMaxExponent || exponent < -kMaxExponent) {
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
