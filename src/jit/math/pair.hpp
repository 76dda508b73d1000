// Numbers in two parts, for functions that need more digits than their type has, over an abstract value (jit/math/float32_math.hpp lists its operations). A
// value has two more functions here: has_fma(x), whether fma is fused and so gives a product's rounding error in one step, and is_float32(x).
#pragma once

namespace sinter::jit {

/// hi + lo, where lo is small compared with hi.
template <class X> struct Pair {
  X hi, lo;
};

/// Returns a + b exactly; |a| >= |b| or a is 0.
template <class X> Pair<X> fast_sum(const X& a, const X& b) {
  const auto sum = a + b;
  return {sum, b - (sum - a)};
}
/// Returns a + b exactly.
template <class X> Pair<X> exact_sum(const X& a, const X& b) {
  const auto sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
/// Splits a number into two halves of so few bits that their products are exact (Dekker).
template <class X> Pair<X> split(const X& a) {
  const auto large = a * (is_float32(a) ? 0x1p12 + 1 : 0x1p27 + 1), hi = large - (large - a);
  return {hi, a - hi};
}
/// Returns a * b exactly. Neither the product nor its error may underflow, and neither operand may be near the largest number.
template <class X> Pair<X> exact_product(const X& a, const X& b) {
  const auto product = a * b;
  if (has_fma(a)) return {product, fma(a, b, -product)};
  const auto x = split(a), y = split(b);
  return {product, x.lo * y.lo - (((product - x.hi * y.hi) - x.lo * y.hi) - x.hi * y.lo)};
}
/// Returns a * b + c. Either c is 0, or |c| >= |a * b|, or a, b and c have so few digits that c minus the sum, rounded, is exact.
template <class X> Pair<X> fused_sum(const X& a, const X& b, const X& c) {
  if (has_fma(a)) {
    const auto sum = fma(a, b, c);
    return {sum, fma(a, b, c - sum)};
  }
  const auto product = exact_product(a, b), sum = exact_sum(c, product.hi);
  return {sum.hi, sum.lo + product.lo};
}
/// Returns a - q * b, for a quotient q of a and b.
template <class X> X remainder(const X& a, const X& q, const X& b) {
  if (has_fma(a)) return fma(-q, b, a);
  const auto product = exact_product(q, b);
  return (a - product.hi) - product.lo;
}
template <class X> Pair<X> operator*(const Pair<X>& a, const Pair<X>& b) {
  const auto product = exact_product(a.hi, b.hi);
  return {product.hi, fma(a.lo, b.hi, fma(a.hi, b.lo, product.lo))};
}
template <class X> Pair<X> operator/(const Pair<X>& a, const Pair<X>& b) {
  const auto inverse = 1.0 / b.hi, q = a.hi * inverse;
  const auto rest = remainder(a.hi, q, b.hi) + (a.lo - q * b.lo);
  return {q, rest * inverse};
}
/// Returns a + b; |a.hi| >= |b.hi| or a.hi is 0.
template <class X> Pair<X> operator+(const Pair<X>& a, const Pair<X>& b) {
  const auto sum = fast_sum(a.hi, b.hi);
  return {sum.hi, sum.lo + (a.lo + b.lo)};
}
template <class X> Pair<X> operator-(const Pair<X>& a) { return {-a.hi, -a.lo}; }
template <class X> Pair<X> operator-(const Pair<X>& a, const Pair<X>& b) { return a + -b; }
/// Multiplies by a power of two.
template <class X> Pair<X> scaled(const Pair<X>& a, const X& power) { return {a.hi * power, a.lo * power}; }
template <class X> Pair<X> normal(const Pair<X>& a) { return fast_sum(a.hi, a.lo); }
template <class X> X rounded(const Pair<X>& a) { return a.hi + a.lo; }
template <class M, class X> Pair<X> select(const M& condition, const Pair<X>& a, const Pair<X>& b) {
  return {select(condition, a.hi, b.hi), select(condition, a.lo, b.lo)};
}
/// A constant with more digits than a double has.
struct Long {
  double hi, lo;
};
template <class X> Pair<X> like(const X& x, Long c) { return {x.like(c.hi), x.like(c.lo)}; }

}  // namespace sinter::jit
