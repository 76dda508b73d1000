// Complex numbers as pairs of real tensors, as fft.hpp takes and returns them. sinter has no complex element type (docs/decisions.md).
#pragma once
#include <cstdint>

#include "sinter/tensor.hpp"

namespace sinter {

/// The complex numbers re + i * im. Both tensors have one shape, or shapes that broadcast.
struct Complex {
  Tensor re, im;
};
/// A complex operand, made implicitly at the call as an Arg is. It refers to its pair and must not be stored.
class ComplexArg {
 public:
  ComplexArg(const Complex& pair, Location where = Location::current()) : pair_(&pair), where_(where) {}
  const Tensor& re() const { return pair_->re; }  ///< real parts
  const Tensor& im() const { return pair_->im; }  ///< imaginary parts
  Location where() const { return where_; }

 private:
  const Complex* pair_;
  Location where_;
};
Complex operator+(const ComplexArg& a, const ComplexArg& b);
Complex operator-(const ComplexArg& a, const ComplexArg& b);
Complex operator*(const ComplexArg& a, const ComplexArg& b);
/// Divides. Both operands are scaled by the larger part of b, so that no square overflows. The result is NaN where b is 0.
Complex operator/(const ComplexArg& a, const ComplexArg& b);
Complex operator-(const ComplexArg& x);
Complex conj(const ComplexArg& x);
Tensor abs(const ComplexArg& x);    ///< hypot(re, im)
Tensor angle(const ComplexArg& x);  ///< atan2(im, re)
Complex sign(const ComplexArg& x);  ///< x / abs(x), and 0 for 0
Complex exp(const ComplexArg& x);
Complex expm1(const ComplexArg& x);
Complex log(const ComplexArg& x);  ///< the angle is in (-pi, pi]
Complex log1p(const ComplexArg& x);
Complex sqrt(const ComplexArg& x);  ///< the root whose real part is not negative
Complex sin(const ComplexArg& x);
Complex cos(const ComplexArg& x);
Complex tan(const ComplexArg& x);
Complex sinh(const ComplexArg& x);
Complex cosh(const ComplexArg& x);
Complex tanh(const ComplexArg& x);
Complex asin(const ComplexArg& x);  ///< the inverse functions have C's branch cuts; on a cut, the sign of a zero selects the side
Complex acos(const ComplexArg& x);
Complex atan(const ComplexArg& x);
Complex asinh(const ComplexArg& x);
Complex acosh(const ComplexArg& x);
Complex atanh(const ComplexArg& x);
/// Returns exp(exponent * log(base)). The overload for integers computes products instead, if the exponent lies within [-512, 512].
Complex power(const ComplexArg& base, const ComplexArg& exponent);
Complex power(const ComplexArg& base, std::int64_t exponent);
Complex matmul(const ComplexArg& a, const ComplexArg& b);
/// Returns radius * (cos(angle) + i sin(angle)).
Complex polar(const Arg& radius, const Arg& angle);

// These take real numbers, as in NumPy: real and conj return x itself, imag returns zeros of x's type, and angle returns pi where x is negative and 0
// elsewhere.
Tensor real(const Arg& x);
Tensor imag(const Arg& x);
Tensor conj(const Arg& x);
Tensor angle(const Arg& x);

}  // namespace sinter
