// Complex numbers: compositions over pairs of real tensors.
#include "sinter/complex.hpp"

#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter {

using namespace trace;

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
