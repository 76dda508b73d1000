// The float32 functions of the CPU, written once over an abstract value X: a vector in a kernel that is being generated (jit/math/expression.hpp), or a number
// of the interpreter (kernels/primitives/interpreter_functions.inl). Both do the same operations, each rounded once, so they give the same bits. All are within
// 2 ULP over the whole range. Most stay in float32 arithmetic. power and hypot compute in double and round once, as do sin, cos and tan without fused
// multiply-adds. Rarely used functions round the float64 function's result.
//
// Besides arithmetic, comparisons and bit operations, a value has: fma, which is a fused multiply-add where the processor has one, else a product and a sum;
// select(condition, a, b); abs, sqrt, trunc, copysign, isnan; to_double, to_float; bits and from_bits; shift_left and shift_right; like(literal);
// lookup(table, n), which is the number of a table of eight that n's low bits name;
// or_libm(fast, mask, name, x), which is `fast`, or, if `mask` is set, the result of the C library's double function `name`; and ldexp_or(x, n, steps) and
// logarithm_limits_or(result, x, selects), which are the result of one instruction (jit/llvm/architecture.hpp), or, where there is none, what the last argument
// returns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "jit/math/coefficients.hpp"
#include "jit/math/float64_math.hpp"
#include "jit/math/pair.hpp"
#include "jit/math/polynomial.hpp"

namespace sinter::jit::float32_math {

constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kPi = 0x1.921fb54442d18p+1;

// The same constant as kRound64, for numbers below 2^22.
constexpr double kRound32 = 0x1.8p23;
constexpr std::int64_t kRound32Bits = 0x4b400000;

// ---- exponentials

/// Returns p * 2^n, where `rounded` is n + kRound32. In two steps, a subnormal result is rounded once and a result above the range becomes infinite.
template <class X> auto scale32(const X& p, const X& n, const X& rounded) {
  return ldexp_or(p, n, [&] {
    const auto whole = bits(rounded) - kRound32Bits, half = shift_right(whole, 1);
    return p * from_bits(shift_left(half + 127, 23)) * from_bits(shift_left(whole - half + 127, 23));
  });
}
/// Does the same for p from 0 to 2. From n = -151 on the result is 0. It is not computed, because an underflow takes a processor a hundred times as long as
/// another product.
template <class X> auto scale32_or_zero(const X& p, const X& n, const X& rounded) { return scale32(select(n < -150.0, 0.0, p), n, rounded); }

template <class X> struct Reduced {
  X r;        // the remainder
  X n;        // the integer
  X rounded;  // n + kRound32, whose low bits are the integer
  auto bits_of_n() const { return bits(rounded) - kRound32Bits; }
};

/// Computes x = n ln(2) + r. The high part of ln(2) has few bits, so that its product with n is exact without a fused multiply-add.
template <class X> auto reduce_exp32(const X& x) {
  const auto t = fma(x, kLog2e, kRound32);
  const auto n = t - kRound32;
  const auto r = fma(n, -(kLn2 - 0.693359375), fma(n, -0.693359375, x));
  return Reduced<X>{r, n, t};
}

template <class X> auto exp_polynomial32(const X& r) { return fma(r * r, polynomial(r, kExp32), r) + 1.0; }

template <class X> auto exp_32(const X& x) {
  const auto e = reduce_exp32(between(-105, x, 89));
  return scale32_or_zero(exp_polynomial32(e.r), e.n, e.rounded);
}

/// Returns exp for arguments between -80 and 80.
template <class X> auto exp32_moderate(const X& x) {
  const auto e = reduce_exp32(x);
  return exp_polynomial32(e.r) * from_bits(shift_left(e.bits_of_n() + 127, 23));
}

template <class X> auto exp2_32(const X& x) {
  const auto clamped = between(-151, x, 129);
  const auto t = clamped + kRound32, n = t - kRound32, r = clamped - n;
  return scale32_or_zero(fma(r, polynomial(r, kExp2_32), 1.0), n, t);
}

template <class X> auto clamp(const X& x, double limit) { return between(-limit, x, limit); }
/// Computes exp in double, for arguments between -700 and 700.
template <class X> auto exp_double(const X& x) {
  const auto t = fma(x, kLog2e, kRound64);
  const auto n = t - kRound64;
  const auto r = fma(n, -1.90821492927058770002e-10, fma(n, -6.93147180369123816490e-01, x));  // ln(2) in 33 + 53 bits
  const auto p = fma(r * r, polynomial(r, kExp64), r), scale = from_bits(shift_left(bits(t) - kRound64Bits + 1023, 52));
  return fma(p, scale, scale);
}

template <class X> auto expm1_32(const X& x) {
  const auto e = reduce_exp32(between(-20, x, 89));
  const auto p = fma(e.r * e.r, polynomial(e.r, kExp32), e.r), half = from_bits(shift_left(e.bits_of_n() + 126, 23));  // 2^(n-1), which is finite
  return select(abs(x) < 0x1p-25, x, fma(p, half, half - 0.5) * 2.0);
}

/// sinh(a) / 2 and cosh(a) / 2 of a between 0 and 89.5, without a division: with e^a = 2^n e^r, sinh(r) and cosh(r) - 1 have polynomials.
template <class X> struct Hyperbola {
  X sinh, cosh;
};
template <class X> auto hyperbola32(const X& a) {
  const auto e = reduce_exp32(a);
  const auto z = e.r * e.r, tail = e.r * z * polynomial(z, kSinh32), versine = fma(z * z, polynomial(z, kCosh32), z * 0.5);
  const auto n = e.bits_of_n();
  const auto rising = from_bits(shift_left(n + 125, 23));                               // 2^(n-2)
  const auto falling = from_bits(shift_left(select(n > 125, n.like(0), 125 - n), 23));  // 2^(-n-2), or 0 where it is too small to matter
  const auto sum = rising + falling, difference = rising - falling;
  const auto steep = float64_math::steep_part(rising, falling, e.r);
  return Hyperbola<X>{steep.hi + fma(tail, sum, fma(versine, difference, steep.lo)), rising + (fma(e.r + tail, difference, versine * sum) + falling)};
}
template <class X> auto sinh_32(const X& x) {
  const auto a = abs(x), half = hyperbola32(select(a > 89.5, 89.5, a)).sinh;
  return select(a < 0x1p-12, x, copysign(half + half, x));
}
template <class X> auto cosh_32(const X& x) {
  const auto a = abs(x), half = hyperbola32(select(a > 89.5, 89.5, a)).cosh;
  return half + half;
}

template <class X> auto tanh_32(const X& x) {
  const auto a = abs(x), z = a * a;
  const auto small = fma(a * z, polynomial(z, kTanh32), a);
  const auto e = exp32_moderate(select(a > 10.0, 20.0, a + a));
  const auto large = 1.0 - 2.0 / (e + 1.0);
  return copysign(select(a < 0.625, small, large), x);
}

/// Takes the coefficients of the piece's polynomial from a table, which costs less than to compute an exponential.
template <class X> auto erf_32(const X& x) {
  const auto whole = abs(x), a = select(whole > 3.953, 3.953, whole);  // from there on the result is 1; a NaN gives NaN, whatever its piece
  const auto t = fma(a, kErfScale32, kRound32), u = fma(t - kRound32, -kErfStep32, a);
  const auto piece = bits(t);
  const auto p = horner<std::size(kErf32) - 1>(u, [&](std::size_t k) { return lookup(kErf32[k + 1], piece); });
  return copysign(fma(u, p, u + lookup(kErf32[0], piece)), x);
}

/// Returns `times` the normal distribution up to -a, of a from 0 to 15, as e^square / (1 + a) times a polynomial; square is -a^2 / 2. It is computed in two
/// parts, because four roundings would add up.
template <class X> auto normal_tail(const Pair<X>& a, const Pair<X>& square, double times) {
  const auto one = a.hi.like(1.0);
  const auto n = fma(square.hi, kLog2e, kRound32) - kRound32;
  const auto r = fma(n, -(kLn2 - 0.693359375), fma(n, -0.693359375, square.hi)) + square.lo;
  const auto e = fast_sum(one, r);
  const auto exponential = normal(Pair<X>{e.hi, fma(r * r, polynomial(r, kExp32), e.lo)});
  const auto t = (a.hi - 4.0) / (a.hi + 4.0);
  const auto p = fast_sum(one.like(kTail32[0]), t * polynomial_after(t, kTail32)), sum = exact_sum(a.hi, one);
  return scale32(rounded(exponential * p / Pair<X>{sum.hi, sum.lo + a.lo}) * times, n, n + kRound32);
}
template <class X> auto ndtr_32(const X& x) {
  const auto whole = abs(x), a = select(whole > 15.0, 15.0, whole);
  const auto below = normal_tail(Pair<X>{a, a.like(0.0)}, exact_product(a, a * -0.5), 1);
  return select(x > 0.0, 1.0 - below, below);
}
/// erfc(a) is twice the normal distribution up to -sqrt(2) a.
template <class X> auto erfc_32(const X& x) {
  const auto whole = abs(x), a = select(whole > 10.5, 10.5, whole);
  const auto wide = exact_product(a, a.like(0x1.6a09e6p+0));
  const auto above = normal_tail(Pair<X>{wide.hi, fma(a, 0x1.9fcef4p-26, wide.lo)}, exact_product(a, -a), 2);
  return select(x < 0.0, 2.0 - above, above);
}

/// Returns 1 / (1 + e^-x), with numerator and denominator times 2^-32: where the quotient is subnormal, e^-x is then at most 2^118. The denominator is rounded
/// once: 1 and 2^n are added exactly while they are less than 24 bits apart, and the rounding error beyond that is added with the rest.
template <class X> auto sigmoid_32(const X& x) {
  constexpr int kDown = 32;
  const auto a = between(-104, x, 20);  // above 20 the result is 1; below -104 it is 0, and a quotient that underflows would take long
  const auto e = reduce_exp32(-a);
  const auto one = x.like(0x1p-32), scale = from_bits(shift_left(e.bits_of_n() + (127 - kDown), 23));
  const auto sum = one + scale, lost = one - (sum - scale);
  return select(x < -104.0, 0.0, one) / (fma(fma(e.r * e.r, polynomial(e.r, kExp32), e.r), scale, lost) + sum);
}

// ---- logarithms

/// Returns the logarithm of (1 + f) 2^n, for f between sqrt(1/2) - 1 and sqrt(2) - 1. e is n as a number, and `rest`, if given, is less than a rounding error
/// of f and missing in it. ln(2) is split as in reduce_exp32.
template <class X> auto log_of_parts32(const X& f, const X& e, const X* rest = nullptr) {
  const auto z = f * f;
  auto y = f * z * polynomial(f, kLog32);
  if (rest) y = y + *rest;
  y = fma(z, f.like(-0.5), fma(e, -2.12194440054690583e-4, y));
  return fma(e, 0.693359375, f + y);
}

/// Returns n, for which the bits of a normal number stand for m 2^n with m in [sqrt(1/2), sqrt(2)).
template <class N> auto exponent32(const N& bits) { return shift_right(bits - 0x3f3504f3, 23); }

/// x = (1 + f) 2^n.
template <class X> struct LogParts {
  X f, n;
};
template <class X> auto log_parts32(const X& x) {
  const auto tiny = x < 0x1p-126;
  const auto b = bits(select(tiny, x * 0x1p23, x));
  const auto n = exponent32(b);
  const auto f = from_bits(b - shift_left(n, 23)) - 1.0;
  return LogParts<X>{f, to_float(n - select(tiny, n.like(23), n.like(0)))};
}

template <class X> auto log_32(const X& x) {
  const auto p = log_parts32(x);
  return log_specials(log_of_parts32(p.f, p.n), x);
}

/// Returns log(1 + f) - f.
template <class X> auto log_rest32(const X& f) {
  const auto z = f * f;
  return fma(z, -0.5, f * z * polynomial(f, kLog32));
}

// For other bases f is multiplied by a constant in two parts, and what is much smaller than f by one number.
template <class X> auto log2_32(const X& x) {
  constexpr double kHigh = 1.4375;
  const auto p = log_parts32(x);
  return log_specials(p.n + fma(p.f, kHigh, fma(p.f, kLog2e - kHigh, log_rest32(p.f) * kLog2e)), x);
}

template <class X> auto log10_32(const X& x) {
  constexpr double kLog10of2 = 0x1.34413509f79ffp-2, kLog10e = 0x1.bcb7b1526e50ep-2, kHigh = 0.4375, kHighOf2 = 0.30078125;
  const auto p = log_parts32(x);
  const auto low = fma(p.n, kLog10of2 - kHighOf2, fma(p.f, kLog10e - kHigh, log_rest32(p.f) * kLog10e));
  return log_specials(fma(p.n, kHighOf2, fma(p.f, kHigh, low)), x);
}

/// Returns the logarithm of u + lost, where `lost` is less than a rounding error of u.
template <class X> auto log_of_sum32(const X& u, const X& lost) {
  const auto b = bits(u);
  const auto n = exponent32(b);
  const auto scale = from_bits(shift_left(128 - n, 23));  // 2^(1 - n), or 0 for the largest u, of which nothing is lost
  const auto rounded = from_bits(b - shift_left(n, 23)) - 1.0, missing = lost * scale * 0.5;
  const auto f = rounded + missing, rest = missing - (f - rounded);  // f near zero is then `lost` itself
  return log_of_parts32(f, to_float(n), &rest);
}

template <class X> auto log1p_32(const X& x) {
  const auto tiny = abs(x) < 0x1p-26;  // the result is x, and products that underflow would take long
  const auto y = select(tiny, 0.0, x), u = y + 1.0, added = u - y, lost = (1.0 - added) + (y - (u - added));
  return select(tiny, x, log_specials(log_of_sum32(u, lost), u));
}

/// Returns log(1 + t), or, for far arguments, the logarithm of twice a.
template <class M, class X> auto log_of_sum32(const M& far, const X& a, const Pair<X>& t) {
  const auto sum = exact_sum(t.hi.like(1.0), t.hi);
  return log_of_sum32(select(far, a, sum.hi), select(far, 0.0, sum.lo + t.lo)) + select(far, a.like(kLn2), a.like(0.0));
}
template <class X> auto asinh_32(const X& x) {
  const auto a = abs(x);
  const auto far = a > 0x1p40;
  const auto result = log_of_sum32(far, a, float64_math::asinh_excess(select(far, 1.0, a)));
  return copysign(select((a < 0x1p-12) | (a == kInf), a, select(a < kInf, result, a)), x);
}
template <class X> auto acosh_32(const X& x) {
  const auto far = x > 0x1p40;
  const auto result = log_of_sum32(far, x, float64_math::acosh_excess(select(far, 2.0, x)));
  return select(x < kInf, select(x < 1.0, kNaN, result), x);
}
template <class X> auto atanh_32(const X& x) {
  const auto a = abs(x);
  const auto t = float64_math::atanh_excess(select(a < 1.0, a, 0.5));
  const auto sum = exact_sum(a.like(1.0), t.hi);
  const auto result = log_of_sum32(sum.hi, sum.lo + t.lo) * 0.5;
  return copysign(select(a < 0x1p-12, a, select(a < 1.0, result, select(a == 1.0, kInf, select(a > 1.0, kNaN, a)))), x);
}

/// Computes the logarithm of a positive normal double, as float64's log does, but in one part.
template <class X> auto log64(const X& x) {
  const auto b = bits(x);
  const auto n = float64_math::exponent64(b);
  const auto mantissa = from_bits(b - shift_left(n, 52));
  const auto piece = float64_math::tenth(mantissa);
  const auto r = fma(mantissa, lookup(kLogTable[0], piece), -1.0);
  return fma(r * r, polynomial(r, kLog64), r) + fma(float64_math::to_number(n), kLn2, lookup(kLogTable[1], piece));
}

// ---- circular functions

template <class X, class N> struct Circular {
  X sin, cos;  // sine and cosine of the remainder in [-pi/4, pi/4]: numbers, or pairs
  N quadrant;  // its low two bits count quarter turns
};

/// Arguments up to this limit are reduced here, larger ones by the library. The quotient by pi/2 then has 22 bits, and its products with the first two parts of
/// pi/2 (31 bits each) are exact.
constexpr double kCircularLimit = 4e6;

template <class X> auto circular(const X& x) {
  const auto t = fma(x, 2 / kPi, kRound64);
  const auto n = t - kRound64;
  constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a4p-34, kThird = 0x1.13198a2e03707p-65;
  const auto r = fma(n, -kThird, fma(n, -kSecond, fma(n, -kFirst, x)));
  const auto z = r * r;
  return Circular{fma(r * z, polynomial(z, kSin64), r), fma(z * z, polynomial(z, kCos64), fma(z, -0.5, 1.0)), bits(t)};
}

/// Returns the lanes for which the library computes sin, cos and tan.
template <class X> auto beyond_circular(const X& x) {
  const auto a = abs(x);
  return (a >= kCircularLimit) & (a < kInf);
}

/// Sine and cosine of the remainder in two parts, from float32 arithmetic alone. Without fused multiply-adds, its products with parts of pi/2 would be rounded.
template <class X> auto circular32(const X& x) {
  const auto t = fma(x, 2 / kPi, kRound32), n = t - kRound32;
  const auto second = exact_product(n, n.like(0x1.777a5cp-25)), sum = fast_sum(fma(n, -0x1.921fb6p+0, x), second.hi);
  const auto r = sum.hi, low = fma(n, 0x1.ee59dap-50, sum.lo + second.lo);
  const auto z = r * r;
  const auto cos = fast_sum(x.like(1.0), z * -0.5);
  const auto cos_tail = fma(z * z, polynomial(z, kCos32), fma(r, -low, cos.lo));
  return Circular{Pair<X>{r, fma(r * z, polynomial(z, kSin32), low)}, Pair<X>{cos.hi, cos_tail}, bits(t)};
}

// A number is a pair without a low part.
template <class X> X rounded(const X& x) { return x; }
template <class X> X normal(const X& x) { return x; }

/// Returns the sine, advanced by a quarter turn for each `shift`.
template <class C> auto sine_of(const C& c, int shift) {
  const auto q = c.quadrant + shift;
  const auto value = rounded(select((q & 1) != 0, c.cos, c.sin));
  return from_bits(bits(value) ^ shift_left(q & 2, is_float32(value) ? 30 : 62));
}
template <class X> auto sine(const X& x, int shift, const char* name) {
  return or_libm(has_fma(x) ? sine_of(circular32(x), shift) : to_float(sine_of(circular(to_double(x)), shift)), beyond_circular(x), name, x);
}

template <class X> auto sin_32(const X& x) { return select(x == 0.0, x, sine(x, 0, "sin")); }
template <class X> auto cos_32(const X& x) { return sine(x, 1, "cos"); }

template <class C> auto tangent_of(const C& c) {
  const auto odd = (c.quadrant & 1) != 0;
  return rounded(normal(select(odd, -c.cos, c.sin)) / normal(select(odd, c.sin, c.cos)));
}
template <class X> auto tan_32(const X& x) {
  const auto t = has_fma(x) ? tangent_of(circular32(x)) : to_float(tangent_of(circular(to_double(x))));
  return select(x == 0.0, x, or_libm(t, beyond_circular(x), "tan", x));
}

// pi and pi/2 in two parts.
constexpr double kPiHigh = 0x1.921fb6p+1, kPiLow = -0x1.777a5cp-24, kHalfPiHigh = kPiHigh / 2, kHalfPiLow = kPiLow / 2;

template <class M, class X> struct HalfArc {
  M big;      // |x| > 1/2
  X s, rest;  // their sum is asin(|x|), or asin(sqrt((1 - |x|) / 2)) for a large |x|
};
template <class X> auto half_arc(const X& x) {
  const auto a = abs(x);
  const auto big = a > 0.5;
  const auto z = select(big, (1.0 - a) * 0.5, a * a);
  const auto s = select(big, sqrt(z), a);
  return HalfArc{big, s, s * z * polynomial(z, kAsin32)};
}

template <class X> auto asin_32(const X& x) {
  const auto h = half_arc(x);
  const auto large = fast_sum(x.like(kHalfPiHigh), h.s * -2.0);
  return copysign(select(h.big, large.hi + (large.lo + fma(h.rest, -2.0, kHalfPiLow)), h.s + h.rest), x);
}

template <class X> auto acos_32(const X& x) {
  const auto h = half_arc(x);
  const auto twice = h.s + h.s, arc = h.s + h.rest;
  const auto large = select(x < 0.0, (kPiHigh - twice) + fma(h.rest, -2.0, kPiLow), arc + arc);
  return select(h.big, large, (kHalfPiHigh - copysign(arc, x)) + kHalfPiLow);
}

/// Returns the arc tangent of a number between -1 and 1.
template <class X> auto atan_polynomial(const X& t) {
  const auto z = t * t;
  return fma(t * z, polynomial(z, kAtan32), t);
}

template <class X> auto atan_32(const X& x) {
  const auto a = abs(x), steep = a > 1.0;
  const auto angle = atan_polynomial(select(steep, 1.0, a) / select(steep, a, 1.0));
  return copysign(select(steep, (kHalfPiHigh - angle) + kHalfPiLow, angle), x);
}

template <class Y, class X> auto atan2_32(const Y& y, const X& x) {
  const auto ay = abs(y), ax = abs(x), steep = ax < ay;
  const auto less = select(steep, ax, ay), more = select(steep, ay, ax);
  const auto equal = less == more, none = more == 0.0;  // equal: also for two infinities
  const auto angle = atan_polynomial(select(none, 0.0, select(equal, 1.0, less)) / select(none | equal, 1.0, more));
  const auto up = select(steep, (kHalfPiHigh - angle) + kHalfPiLow, angle);
  const auto all = select(bits(x) < 0, (kPiHigh - up) + kPiLow, up);  // tests the sign bit: -0.0 counts as negative
  return select(isnan(x) | isnan(y), x + y, copysign(all, y));
}

// ---- powers

template <class X, class Y> auto power_32(const X& x, const Y& y) {
  const auto a = abs(x), dx = to_double(a);
  const auto log = select(a == 0.0, -kInf, select(a < kInf, log64(dx), dx));
  const auto magnitude = exp_double(clamp(to_double(y) * log, 200));
  const auto half = y * 0.5;
  const auto whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  const auto negative = bits(x) < 0;
  auto result = to_float(magnitude);
  result = select(a == 1.0, 1.0, result);
  result = select(negative & odd, -result, result);
  const auto finite_negative = (x < 0.0) & (a < kInf);
  result = select(finite_negative & (trunc(y) != y), kNaN, result);
  result = select(isnan(x) | isnan(y), x + y, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

template <class X, class Y> auto hypot_32(const X& x, const Y& y) {
  const auto wide_x = to_double(x), wide_y = to_double(y);
  const auto length = to_float(sqrt(fma(wide_x, wide_x, wide_y * wide_y)));
  return select((abs(x) == kInf) | (abs(y) == kInf), kInf, length);
}

/// With x = (1 + f) 2^(3k + rest), a polynomial gives cbrt((1 + f) 2^rest) to 2^-17, and a step of Newton's method the rest.
template <class X> auto cbrt_32(const X& x) {
  constexpr float kPower[] = {1, 2, 0, 0, 0, 0, 0, 0.5f}, kRoot[] = {1, 0x1.428a3p+0f, 0, 0, 0, 0, 0, 0x1.965feap-1f},
                  kInverseSquare[] = {1, 0x1.428a3p-1f, 0, 0, 0, 0, 0, 0x1.965feap+0f};  // 2^rest, 2^(rest/3) and 2^(-2 rest/3), by rest's last three bits
  const auto a = abs(x);
  const auto p = log_parts32(a);
  const auto k = fma(p.n, 1.0 / 3, kRound32), whole = k - kRound32, rest = bits(fma(whole, -3.0, p.n) + kRound32);
  const auto first = polynomial(p.f, kCbrt32) * lookup(kRoot, rest);
  const auto miss = fma(-(first * first), first, (p.f + 1.0) * lookup(kPower, rest));
  const auto root = fma(miss, polynomial(p.f, kCbrtSlope32) * lookup(kInverseSquare, rest), first);
  return select((a > 0.0) & (a < kInf), copysign(root * from_bits(shift_left(bits(k) + (127 - kRound32Bits), 23)), x), x);
}

// ---- functions computed by float64's

#define SINTER_ROUNDED(name) \
  template <class X> auto name##_32(const X& x) { return to_float(float64_math::name##_64(to_double(x))); }
SINTER_ROUNDED(erfinv)
SINTER_ROUNDED(lgamma)
SINTER_ROUNDED(digamma)
#undef SINTER_ROUNDED
template <class X, class Y> auto product_rest_32(const X& x, const Y& y) { return to_float(to_double(x) * to_double(y) - to_double(x * y)); }
template <class X, class Y> auto nextafter_32(const X& x, const Y& y) { return float64_math::nextafter_64(x, y); }
template <class X, class Y> auto ldexp_32(const X& x, const Y& n) {
  const auto rest = select(n > 600.0, 600.0, select(n < -600.0, -600.0, trunc(n)));
  return select(isnan(n), n, to_float(to_double(x) * float64_math::power_of_two(float64_math::to_integer(to_double(rest)))));
}

}  // namespace sinter::jit::float32_math
