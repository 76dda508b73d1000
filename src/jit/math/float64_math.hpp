// The float64 functions of the CPU, written once over an abstract value X, as those of float32 are; jit/math/float32_math.hpp lists the operations of a value.
// All are within 1 ULP over the whole range, subnormal results included (except lgamma and digamma near their zeros left of 1.47, where the error is absolute).
// Rounding errors are carried as a second number, the low part of a Pair (jit/math/pair.hpp). There are no branches: each lane does the same operations.
#pragma once
#include <cstddef>
#include <cstdint>

#include "jit/math/coefficients.hpp"
#include "jit/math/pair.hpp"
#include "jit/math/polynomial.hpp"

namespace sinter::jit::float64_math {

constexpr Long kLn2Long{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56}, kLog2eLong{0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56},
    kLog10eLong{0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}, kPiLong{0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53},
    kHalfPiLong{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54}, kQuarterPiLong{0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
    kRoot2{0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54}, kInverseRoot2Pi{0x1.9884533d43651p-2, -0x1.cbc0d30ebfd15p-56};
// ln(2) in 32 + 53 bits. The product of an exponent and the first part is exact.
constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;

template <class N> auto to_number(const N& n) { return from_bits(n + kRound64Bits) - kRound64; }
template <class X> auto to_integer(const X& n) { return bits(n + kRound64) - kRound64Bits; }

// ---- exponentials

/// Returns 2^n for an exponent of normal numbers.
template <class N> auto power_of_two(const N& n) { return from_bits(shift_left(n + 1023, 52)); }
/// Returns p * 2^n. In two steps, a subnormal result is rounded once and a result above the range becomes infinite.
template <class X> auto scale(const X& p, const X& n) {
  return ldexp_or(p, n, [&] {
    const auto whole = to_integer(n), half = shift_right(whole, 1);
    return p * power_of_two(half) * power_of_two(whole - half);
  });
}
/// Does the same for p from 0 to 2. From n = -1076 on the result is 0. It is not computed, because an underflow takes a processor a hundred times as long as
/// another product.
template <class X> auto scale_or_zero(const X& p, const X& n) { return scale(select(n < -1075.0, 0.0, p), n); }

template <class X> struct Reduced {
  Pair<X> r;  // in [-ln(2)/2, ln(2)/2]
  X n;        // the integer
  X rounded;  // n + kRound64, whose low bits are the integer
  /// Returns 2^(n + more), which must be a normal number.
  X power(int more) const { return power_of_two(bits(rounded) + (more - kRound64Bits)); }
};
/// Computes x + low = n ln(2) + r, for |x| < 1100.
template <class X> Reduced<X> reduce_exp(const X& x, const X& low) {
  const auto t = fma(x, kLog2eLong.hi, kRound64), n = t - kRound64;
  const auto first = fma(n, -kLn2High, x), r = fma(n, -kLn2Low, first);
  return {{r, fma(n, -kLn2Low, first - r) + low}, n, t};
}
template <class X> Reduced<X> reduce_exp(const X& x) { return reduce_exp(x, x.like(0.0)); }

/// Returns e^r, where r's low part is small compared with 1.
template <class X> Pair<X> exp_pair(const Pair<X>& r) {
  const auto z = r.hi * r.hi, sum = 1.0 + r.hi, lost = (1.0 - sum) + r.hi;
  const auto tail = fma(z, 0.5, fma(r.hi * z, polynomial(r.hi, kExp), lost));
  return {sum, fma(r.lo, sum + tail, tail)};
}

/// Clamps to the range beyond which every result is 0 or infinite. The exponents of all results within it fit.
template <class X> auto clamp_exp(const X& x) { return between(-746, x, 710); }

/// `first`, the larger part of x - n ln(2), is exact, and so is its sum with 1 in two parts.
template <class X> auto exp_64(const X& x) {
  const auto a = clamp_exp(x);
  const auto n = fma(a, kLog2eLong.hi, kRound64) - kRound64;
  const auto first = fma(n, -kLn2High, a), r = fma(n, -kLn2Low, first);
  const auto sum = fast_sum(x.like(1.0), first);
  return scale_or_zero(sum.hi + fma(n, -kLn2Low, fma(r * r, fma(r, polynomial(r, kExp), 0.5), sum.lo)), n);
}

template <class X> auto exp2_64(const X& x) {
  const auto clamped = between(-1076, x, 1025);
  const auto n = (clamped + kRound64) - kRound64, r = clamped - n;
  if (has_fma(x)) return scale_or_zero(fma(r, polynomial(r, kExp2), 1.0), n);
  const auto product = exact_product(r, r.like(kLn2Long.hi));  // the product above would be rounded
  return scale_or_zero(rounded(exp_pair(Pair<X>{product.hi, fma(r, kLn2Long.lo, product.lo)})), n);
}

/// Returns (e^x - 1) / 2, for x from -40 to 710.
template <class X> Pair<X> half_expm1(const X& x) {
  const auto e = reduce_exp(x);
  const auto r = e.r.hi, half = e.power(-1), whole = half - 0.5, lost = (half - whole) - 0.5;
  const auto sum = fma(half, r, whole), sum_lost = fma(half, r, whole - sum);  // products by a power of two, which are exact
  const auto z = r * r, tail = fma(r * z, polynomial(r, kExp), fma(r, e.r.lo, e.r.lo));
  return {sum, fma(half * 0.5, z, fma(half, tail, sum_lost + lost))};
}
template <class X> auto expm1_64(const X& x) {
  const auto half = rounded(half_expm1(between(-40, x, 710)));
  return select(abs(x) < 0x1p-54, x, half + half);
}
/// With m = (e^2a - 1) / 2, tanh(a) = m / (m + 1).
template <class X> auto tanh_64(const X& x) {
  const auto a = abs(x);
  const auto m = normal(half_expm1(select(a > 20.0, 40.0, a + a)));
  const auto more = exact_sum(m.hi, m.hi.like(1.0));
  return copysign(rounded(m / Pair<X>{more.hi, more.lo + m.lo}), x);
}

/// e^a and e^-a of a between 0 and 710.6, each over 4, in parts: with a = n ln(2) + r, they are `rising` and `falling` times e^r and e^-r.
template <class X> struct Hyperbola {
  X r, tail, versine;  // sinh(r) = r + tail and cosh(r) = 1 + versine
  X rising, falling;   // 2^(n-2) and 2^(-n-2), or 0 where it is too small to matter
};
template <class X> Hyperbola<X> hyperbola(const X& a) {
  const auto e = reduce_exp(a);
  const auto z = e.r.hi * e.r.hi;
  const auto tail = fma(e.r.hi * z, polynomial(z, kSinh), e.r.lo), versine = fma(z * z, polynomial(z, kCosh), z * 0.5);
  const auto n = bits(e.rounded) - kRound64Bits;
  return {e.r.hi, tail, versine, e.power(-2), from_bits(shift_left(select(n > 1020, n.like(0), 1021 - n), 52))};
}
/// Returns rising - falling + (rising + falling) r, for two powers of two: the larger part of a hyperbolic sine.
template <class X> Pair<X> steep_part(const X& rising, const X& falling, const X& r) {
  const auto less = rising - falling;
  if (has_fma(r)) return fused_sum(rising + falling, r, less);
  const auto product = fast_sum(rising * r, falling * r), sum = fast_sum(less, product.hi);  // the products are exact
  return {sum.hi, sum.lo + product.lo};
}
template <class X> auto clamp_hyperbola(const X& a) { return select(a > 710.6, 710.6, a); }
template <class X> auto sinh_64(const X& x) {
  const auto a = abs(x);
  const auto h = hyperbola(clamp_hyperbola(a));
  const auto more = h.rising + h.falling, less = h.rising - h.falling, lost = (h.rising - less) - h.falling;
  const auto sum = steep_part(h.rising, h.falling, h.r);
  const auto half = sum.hi + fma(more, h.tail, fma(less, h.versine, sum.lo + lost));
  return select(a < 0x1p-28, x, copysign(half + half, x));
}
template <class X> auto cosh_64(const X& x) {
  const auto h = hyperbola(clamp_hyperbola(abs(x)));
  const auto above = fast_sum(x.like(1.0), h.r);
  const auto below = 1.0 + (h.versine - (h.tail + h.r));
  const auto half = fma(h.rising, above.hi, fma(h.rising, above.lo + (h.versine + h.tail), h.falling * below));
  return half + half;
}

/// Returns e / (1 + e) or 1 / (1 + e) with e = e^-|x|, in two parts, so that neither e nor the sum nor the quotient is rounded before the end.
template <class X> auto sigmoid_64(const X& x) {
  const auto negative = x < 0.0, none = x < -746.0;  // the result is 0, and products that underflow would take long
  const auto zero = x.like(0.0), one = x.like(1.0), below = -abs(x);
  const auto a = select(none | (x > 60.0), x.like(-60.0), below);
  const auto e = reduce_exp(a, zero);
  const auto subnormal = a < -708.0;  // the last multiplication makes the result subnormal
  const auto p = scaled(normal(exp_pair(e.r)), power_of_two(to_integer(select(subnormal, e.n + 64.0, e.n))));
  const auto sum = fast_sum(one, p.hi);
  const auto above = select(negative, p, Pair<X>{one, zero});
  const auto inverse = 1.0 / sum.hi, q = above.hi * inverse;
  const auto rest = remainder(above.hi, q, sum.hi) + fma(-q, sum.lo + p.lo, above.lo);
  return fma(rest, inverse, q) * select(none, zero, select(subnormal, x.like(0x1p-64), one));
}

// ---- logarithms

/// Returns n, for which the bits of a normal number stand for m 2^n with m in [sqrt(1/2), sqrt(2)).
template <class N> auto exponent64(const N& bits) { return shift_right(bits - 0x3fe6a09e667f3bcd, 52); }
/// Returns an integer whose last three bits are those of the tenth next to the mantissa: the number of a column of kLogTable.
template <class X> auto tenth(const X& mantissa) { return bits(fma(mantissa, 10.0, kRound64)); }

template <class X> struct Parts {
  X mantissa;  // in [sqrt(1/2), sqrt(2))
  X n;
};
/// Splits a positive number: mantissa times 2^n.
template <class X> Parts<X> parts(const X& x) {
  const auto tiny = x < 0x1p-1022;
  const auto b = bits(select(tiny, x * 0x1p54, x));
  const auto n = exponent64(b);
  return {from_bits(b - shift_left(n, 52)), to_number(n) - select(tiny, 54.0, x.like(0.0))};
}
/// Returns n ln(2) + log(mantissa), or log(mantissa + *lost), where `lost` is less than a rounding error of the mantissa. It takes a tenth near the mantissa
/// and its logarithm from a table, so that no division is needed; near 1 the tenth is 1, so that the result is that of r alone.
template <class X> Pair<X> log_by_table(const X& mantissa, const X& n, const X* lost = nullptr) {
  const auto piece = tenth(mantissa), inverse = lookup(kLogTable[0], piece);
  auto ratio = exact_product(mantissa, inverse);
  if (lost) ratio.lo = fma(*lost, inverse, ratio.lo);
  const auto r = ratio.hi - 1.0, z = r * r;
  const auto sum = fast_sum(fma(n, kLn2High, lookup(kLogTable[1], piece)), r);
  const auto tail = fma(r * z, polynomial(r, kLogTail), fma(z, -0.5, fma(-r, ratio.lo, ratio.lo)));
  return {sum.hi, sum.lo + (fma(n, kLn2Low, lookup(kLogTable[2], piece)) + tail)};
}
/// Does the same with an error of 2^-65 of the result: a power's exponent, up to 709, keeps 56 bits after the point.
template <class X> Pair<X> long_log_by_table(const X& mantissa, const X& n, const X* lost = nullptr) {
  constexpr Long kThird{0x1.5555555555555p-2, 0x1.5555555555555p-56};
  const auto piece = tenth(mantissa);
  const auto inverse = lookup(kLogTable[0], piece);
  auto ratio = exact_product(mantissa, inverse);
  if (lost) ratio.lo = fma(*lost, inverse, ratio.lo);
  const auto f = fast_sum(ratio.hi - 1.0, ratio.lo);
  const auto r = f.hi;
  const auto square = exact_product(r, r), z = Pair<X>{square.hi, fma(r + r, f.lo, square.lo)};
  const auto third = z * Pair<X>{r, r.like(0.0)} * like(r, kThird);
  const auto first = fast_sum(fma(n, kLn2High, lookup(kLogTable[1], piece)), r), second = fast_sum(first.hi, z.hi * -0.5), sum = fast_sum(second.hi, third.hi);
  const auto rest = fma(z.hi * z.hi, polynomial(r, kLogRest), third.lo) + fma(n, kLn2Low, lookup(kLogTable[2], piece));
  return normal(Pair<X>{sum.hi, first.lo + second.lo + sum.lo + (fma(z.lo, -0.5, f.lo) + rest)});
}

/// Returns the logarithm of a positive number.
template <class X> auto log_of_positive(const X& x) {
  const auto p = parts(x);
  return rounded(log_by_table(p.mantissa, p.n));
}

template <class X> auto log_64(const X& x) { return log_specials(log_of_positive(x), x); }
template <class X> auto log2_64(const X& x) {
  const auto p = parts(x);
  const auto zero = x.like(0.0);
  return log_specials(rounded(Pair<X>{p.n, zero} + log_by_table(p.mantissa, zero) * like(x, kLog2eLong)), x);
}
template <class X> auto log10_64(const X& x) {
  const auto p = parts(x);
  return log_specials(rounded(log_by_table(p.mantissa, p.n) * like(x, kLog10eLong)), x);
}

/// Returns log(1 + x.hi + x.lo) of finite arguments above -1.
template <class X> Pair<X> log1p_pair(const Pair<X>& x) {
  const auto sum = exact_sum(x.hi.like(1.0), x.hi);
  const auto u = fast_sum(sum.hi, sum.lo + x.lo);
  const auto b = bits(u.hi);
  const auto n = exponent64(b);
  const auto less = select(n > n.like(1000), n.like(1000), n);  // the low part of a number above 2^1000 has no effect
  const auto lost = u.lo * power_of_two(-less);
  return log_by_table(from_bits(b - shift_left(n, 52)), to_number(n), &lost);
}
template <class X> auto log1p_64(const X& x) {
  const auto tiny = abs(x) < 0x1p-54;  // not computed, because the products would underflow
  const auto moderate = select((x > -1.0) & (x < kInf), select(tiny, 1.0, x), 1.0);
  const auto result = rounded(log1p_pair(Pair<X>{moderate, x.like(0.0)}));
  const auto special = select(x == -1.0, -kInf, select(x < -1.0, kNaN, x));
  return select(tiny, x, select((x > -1.0) & (x < kInf), result, special));
}

// ---- inverse hyperbolic functions: logarithms of 1 + something

template <class X> Pair<X> root(const Pair<X>& a) {
  const auto s = sqrt(a.hi);
  const auto square = exact_product(s, s);
  return {s, (((a.hi - square.hi) - square.lo) + a.lo) / select(s == 0.0, 1.0, s + s)};
}
/// Returns log(1 + t), or, for far arguments, the logarithm of twice `a`.
template <class M, class X> auto log_of_sum(const M& far, const X& a, const Pair<X>& t) {
  const auto log = log1p_pair(select(far, Pair<X>{a, a.like(-1.0)}, t));
  return log.hi + (log.lo + select(far, a.like(kLn2Long.hi), a.like(0.0)));
}

// These functions return the number whose log1p is wanted. Those of float32 (jit/math/float32_math.hpp) call them, too.

/// Returns a + a^2 / (1 + sqrt(1 + a^2)), of which asinh(a) is the log1p.
template <class X> Pair<X> asinh_excess(const X& a) {
  const auto one = a.like(1.0), zero = a.like(0.0);
  const auto square = exact_product(a, a);
  const auto sum = exact_sum(one, square.hi);
  const auto more = square / normal(Pair<X>{one, zero} + root(Pair<X>{sum.hi, sum.lo + square.lo}));
  const auto t = exact_sum(a, more.hi);
  return normal(Pair<X>{t.hi, t.lo + more.lo});
}
/// Returns x - 1 + sqrt((x - 1) (x + 1)), of which acosh(x) is the log1p.
template <class X> Pair<X> acosh_excess(const X& x) {
  const auto d = exact_sum(x, x.like(-1.0)), e = exact_sum(x, x.like(1.0));
  const auto t = root(normal(d * e));
  const auto sum = exact_sum(d.hi, t.hi);
  return normal(Pair<X>{sum.hi, sum.lo + (d.lo + t.lo)});
}
/// Returns 2 a / (1 - a), of which 2 atanh(a) is the log1p.
template <class X> Pair<X> atanh_excess(const X& a) { return normal(Pair<X>{a + a, a.like(0.0)} / fast_sum(a.like(1.0), -a)); }

template <class X> auto asinh_64(const X& x) {
  const auto a = abs(x);
  const auto far = a > 0x1p40;
  const auto result = log_of_sum(far, select(a < kInf, a, 1.0), asinh_excess(select(far, 1.0, a)));
  return copysign(select((a < 0x1p-28) | (a == kInf), a, select(a < kInf, result, a)), x);
}
template <class X> auto acosh_64(const X& x) {
  const auto far = x > 0x1p40, within = (x >= 1.0) & (x < kInf);
  const auto result = log_of_sum(far, select(within, x, 1.0), acosh_excess(select(far, 2.0, x)));
  return select(x == 1.0, 0.0, select(within, result, select(x < 1.0, kNaN, x)));
}
template <class X> auto atanh_64(const X& x) {
  const auto a = abs(x);
  const auto result = rounded(log1p_pair(atanh_excess(select(a < 1.0, a, 0.5)))) * 0.5;
  return copysign(select(a < 0x1p-28, a, select(a < 1.0, result, select(a == 1.0, kInf, select(a > 1.0, kNaN, a)))), x);
}

// ---- circular functions

/// Arguments up to this limit are reduced here, larger ones by the library: the quotient by pi/2 then has 20 bits, and its products with the first three parts
/// of pi/2 (33 bits each) are exact.
constexpr double kCircularLimit = 1.6e6;

template <class X> struct Circular {
  Pair<X> sin, cos;  // sine and cosine of the remainder in [-pi/4, pi/4]
  X rounded;         // kRound64 plus the quarter turns that were subtracted
};
template <class X> Circular<X> circular(const X& x) {
  const auto t = fma(x, 0x1.45f306dc9c883p-1, kRound64), n = t - kRound64;
  const auto first = fused_sum(n, x.like(-6.07710050630396597660e-11), fma(n, -1.57079632673412561417e+00, x));
  const auto second = fused_sum(n, x.like(-2.02226624871116645580e-21), first.hi);
  const auto r = fast_sum(second.hi, fma(n, -8.47842766036889956997e-32, first.lo + second.lo));
  const auto half_z = exact_product(r.hi, r.hi * 0.5);
  const auto half = half_z.hi, z = half + half;
  const auto cos = 1.0 - half, cos_lost = (1.0 - cos) - half;
  const auto cos_tail = fma(z * z, polynomial(z, kCos), fma(r.hi, -r.lo, cos_lost - half_z.lo));
  const auto sin_tail = fma(r.hi * z, polynomial(z, kSin), fma(-half, r.lo, r.lo));
  return {{r.hi, sin_tail}, {cos, cos_tail}, t};
}

/// Returns the lanes for which the library computes sin, cos and tan.
template <class X> auto beyond_circular(const X& x) {
  const auto a = abs(x);
  return (a >= kCircularLimit) & (a < kInf);
}

/// Returns the sine, advanced by a quarter turn for each `shift`.
template <class X> auto sine(const X& x, int shift, const char* name) {
  const auto c = circular(x);
  const auto q = bits(c.rounded) + shift;  // its low two bits count quarter turns
  const auto value = rounded(select((q & 1) != 0, c.cos, c.sin));
  return or_libm(from_bits(bits(value) ^ shift_left(q & 2, 62)), beyond_circular(x), name, x);
}

template <class X> auto sin_64(const X& x) { return select(x == 0.0, x, sine(x, 0, "sin")); }
template <class X> auto cos_64(const X& x) { return sine(x, 1, "cos"); }

template <class X> auto tan_64(const X& x) {
  const auto c = circular(x);
  const auto odd = (bits(c.rounded) & 1) != 0;
  const auto t = rounded(normal(select(odd, -c.cos, c.sin)) / normal(select(odd, c.sin, c.cos)));
  return select(x == 0.0, x, or_libm(t, beyond_circular(x), "tan", x));
}

/// asin(|x|), or for a large |x| asin(sqrt((1 - |x|) / 2)).
template <class X> auto large_arc(const X& x) { return abs(x) > 0.5; }
template <class X> Pair<X> half_arc(const X& x) {
  const auto a = abs(x);
  const auto big = large_arc(x);
  const auto z = select(big, (1.0 - a) * 0.5, a * a);
  const auto s = root(Pair<X>{z, z.like(0.0)});
  const auto hi = select(big, s.hi, a);
  return {hi, fma(hi * z, polynomial(z, kAsin), select(big, s.lo, 0.0))};
}

template <class X> auto asin_64(const X& x) {
  const auto arc = half_arc(x);
  return copysign(rounded(select(large_arc(x), like(x, kHalfPiLong) - scaled(arc, x.like(2.0)), arc)), x);
}
template <class X> auto acos_64(const X& x) {
  const auto arc = half_arc(x), twice = scaled(arc, x.like(2.0));
  const auto far = select(x < 0.0, like(x, kPiLong) - twice, twice);
  const auto near = like(x, kHalfPiLong) - Pair<X>{copysign(arc.hi, x), select(x < 0.0, -arc.lo, arc.lo)};
  return rounded(select(large_arc(x), far, near));
}

constexpr double kTanEighth = 0x1.a827999fcef32p-2;  // tan(pi/8)
/// Returns turn + atan(t) for |t| <= tan(pi/8).
template <class X> Pair<X> turned(const Pair<X>& turn, const Pair<X>& t) {
  const auto z = t.hi * t.hi;
  return turn + Pair<X>{t.hi, fma(t.hi * z, polynomial(z, kAtan), fma(-z, t.lo, t.lo))};
}

template <class X> auto atan_64(const X& x) {
  const auto whole = abs(x), a = select(whole > 0x1p60, 0x1p60, whole), zero = a.like(0.0), one = a.like(1.0);
  const auto steep = a > 1 / kTanEighth, middle = a > kTanEighth;
  const auto above = select(steep, Pair<X>{-one, zero}, select(middle, exact_sum(a, -one), Pair<X>{a, zero}));
  const auto below = select(steep, Pair<X>{a, zero}, select(middle, exact_sum(a, one), Pair<X>{one, zero}));
  const auto turn = select(steep, like(a, kHalfPiLong), select(middle, like(a, kQuarterPiLong), Pair<X>{zero, zero}));
  return copysign(rounded(turned(turn, above / below)), x);
}

template <class Y, class X> auto atan2_64(const Y& y, const X& x) {
  // Both numbers are scaled by one factor, so that no product that matters underflows and none overflows.
  const auto wide_y = abs(y), wide_x = abs(x);
  const auto largest = select(wide_x < wide_y, wide_y, wide_x);
  const auto unit = select(largest > 0x1p900, 0x1p-200, select(largest < 0x1p-800, 0x1p200, x.like(1.0)));
  const auto ay = wide_y * unit, ax = wide_x * unit, zero = x.like(0.0);
  const auto steep = ax < ay;
  const auto less = select(steep, ax, ay), more = select(steep, ay, ax);
  const auto equal = (less == more) & (more != 0.0);  // also for two infinities
  const auto middle = equal | (more * kTanEighth < less);
  const auto finite = select(more < kInf, more, 1.0);
  const auto above = select(equal, Pair<X>{zero, zero}, select(middle, exact_sum(less, -more), Pair<X>{less, zero}));
  const auto sum = select(equal, Pair<X>{zero + 1.0, zero}, select(middle, exact_sum(less, more), Pair<X>{finite, zero}));
  const auto below = select(more == 0.0, Pair<X>{zero + 1.0, zero}, sum);
  const auto quotient = above / below;
  // For a tiny quotient, its rounding error underflows and is set to 0.
  const auto exact = Pair<X>{select(abs(above.hi) < 0x1p-960, above.hi / below.hi, quotient.hi), select(abs(above.hi) < 0x1p-960, 0.0, quotient.lo)};
  auto angle = turned(select(middle, like(x, kQuarterPiLong), Pair<X>{zero, zero}), select(more < kInf, exact, Pair<X>{zero, zero}));
  angle = select(steep, like(x, kHalfPiLong) - angle, angle);
  angle = select(bits(x) < 0, like(x, kPiLong) - angle, angle);  // tests the sign bit: -0.0 counts as negative
  return select(isnan(x) | isnan(y), x + y, copysign(rounded(angle), y));
}

// ---- powers and roots

template <class X, class Y> auto power_64(const X& x, const Y& y) {
  const auto a = abs(x);
  const auto p = parts(a);
  const auto log = long_log_by_table(p.mantissa, p.n);
  const auto enough = select(y > 0x1p66, 0x1p66, select(y < -0x1p66, -0x1p66, y));  // beyond these exponents all powers are 0, 1 or infinite
  const auto product = exact_product(enough, log.hi);
  const auto exponent = clamp_exp(product.hi);
  const auto low = select(exponent == product.hi, fma(enough, log.lo, product.lo), 0.0);
  const auto e = reduce_exp(exponent, low);
  auto result = scale_or_zero(rounded(exp_pair(e.r)), e.n);
  const auto limit = select((a == 0.0) == (y < 0.0), a.like(kInf), a.like(0.0));
  result = select((a == 0.0) | (a == kInf), limit, select(a == 1.0, 1.0, result));
  const auto half = y * 0.5;
  const auto whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  result = select((bits(x) < 0) & odd, -result, result);
  result = select((x < 0.0) & (a < kInf) & (trunc(y) != y), kNaN, result);
  result = select(isnan(x) | isnan(y), x + y, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

template <class X> auto cbrt_64(const X& x) {
  const auto a = abs(x);
  const auto p = parts(a);
  const auto n = fma(p.n, 1.0 / 3, kRound64) - kRound64, rest = p.n - n * 3.0;  // -1, 0 or 1
  const auto m = p.mantissa * power_of_two(to_integer(rest));
  const auto first = polynomial(p.mantissa - 1.0, kCbrt) * select(rest < 0.0, 0x1.965fea53d6e3dp-1, select(rest > 0.0, 0x1.428a2f98d728bp+0, m.like(1.0)));
  // Two steps of Newton's method with one derivative.
  const auto slope = 1.0 / (first * first * 3.0);
  const auto second = first - (first * first * first - m) * slope;
  const auto square = exact_product(second, second), cube = square * Pair<X>{second, second.like(0.0)};
  const auto result = (second - ((cube.hi - m) + cube.lo) * slope) * power_of_two(to_integer(n));
  return select((a == 0.0) | (a == kInf) | isnan(x), x, copysign(result, x));
}

template <class X, class Y> auto hypot_64(const X& x, const Y& y) {
  const auto ax = abs(x), ay = abs(y);
  const auto steep = ax < ay;
  const auto more = select(steep, ay, ax), less = select(steep, ax, ay);
  // The numbers are scaled, so that no square overflows and no square that matters underflows.
  const auto large = more > 0x1p500, tiny = more < 0x1p-400;
  const auto unit = select(large, 0x1p-600, select(tiny, 0x1p600, more.like(1.0)));
  const auto back = select(large, 0x1p600, select(tiny, 0x1p-600, more.like(1.0)));
  const auto a = select(more < kInf, more, 1.0) * unit, b = less * unit;
  const auto p = exact_product(a, a), q = exact_product(b, b);
  const auto sum = fast_sum(p.hi, q.hi);
  const auto length = rounded(root(Pair<X>{sum.hi, sum.lo + (p.lo + q.lo)})) * back;
  return select((ax == kInf) | (ay == kInf), kInf, select(isnan(x) | isnan(y), x + y, length));
}

// ---- parts of a number

/// Returns by how much x * y exceeds its rounded value.
template <class X, class Y> auto product_rest_64(const X& x, const Y& y) { return exact_product(x, y).lo; }

/// Returns the next number after x towards y, in float32 or float64.
template <class X, class Y> auto nextafter_64(const X& x, const Y& y) {
  const auto b = bits(x);
  const auto next = select((x < y) == (x > 0.0), b + 1, b - 1);  // away from 0, or towards 0
  const auto smallest = copysign(from_bits(b.like(1)), y);
  const auto result = select(x == y, y, select(x == 0.0, smallest, from_bits(next)));
  return select(isnan(x) | isnan(y), x + y, result);
}

/// Returns x * 2^n for the whole part of n, rounded once: only the last factor can make a result subnormal.
template <class X, class Y> auto ldexp_64(const X& x, const Y& n) {
  auto rest = select(n > 2200.0, 2200.0, select(n < -2200.0, -2200.0, trunc(n)));
  auto result = x;
  for (int k = 0; k < 2; ++k) {
    const auto above = rest > 1023.0, below = rest < -1022.0;
    result = result * select(above, 0x1p1023, select(below, 0x1p-969, x.like(1.0)));
    rest = rest - select(above, 1023.0, select(below, -969.0, x.like(0.0)));
  }
  result = result * power_of_two(to_integer(select(rest > 1023.0, 1023.0, select(rest < -1022.0, -1022.0, rest))));
  return select(isnan(n), n, result);
}

// ---- the error function

/// Returns erf(a) for 0 <= a <= 5.97; its relative error is 2^-60 for a below 0.4, and the absolute 2^-57 above. It takes the coefficients of the piece's
/// polynomial from a table, which costs less than to compute an exponential.
template <class X> Pair<X> erf_pair(const X& a) {
  const auto t = fma(a, kErfScale, kRound64), u = fma(t - kRound64, -kErfStep, a);
  const auto piece = bits(t);
  const auto row = [&](std::size_t k) { return lookup(kErfTable[k], piece); };
  const auto sum = fused_sum(u, row(2), row(0));
  const auto rest = horner<std::size(kErfTable) - 3>(u, [&](std::size_t k) { return row(k + 3); });
  return {sum.hi, fma(u, rest, sum.lo + row(1))};
}
template <class X> auto erf_64(const X& x) {
  const auto whole = abs(x);
  const auto result = rounded(erf_pair(select(whole > 5.97, 5.97, whole)));  // from 5.93 on it is 1
  // Without fused multiply-adds, the rounding error of a subnormal product is not known.
  return copysign(has_fma(x) ? result : select(whole < 0x1p-60, fma(whole, 0x1.06eba8214db69p-3, whole), result), x);
}

/// Returns erfc(x) for |x| < 0.398 by the table's first polynomial, which is odd.
template <class X> auto erfc_near(const X& x) {
  const auto sum = fused_sum(x, x.like(-kErfTable[2][0]), x.like(1.0)), z = x * x;
  const auto rest = horner<std::size(kErfTable) / 2 - 2>(z, [&](std::size_t k) { return z.like(kErfTable[2 * k + 5][0]); });
  return sum.hi + (sum.lo - x * fma(z, rest, kErfTable[3][0]));
}

/// value * 2^n.
template <class X> struct Scaled {
  Pair<X> value;
  X n;
  /// Returns value * 2^n as a pair, if 2^n is normal.
  Pair<X> placed() const { return scaled(value, power_of_two(to_integer(select(n < -1000.0, -1000.0, n)))); }
};
/// Returns the normal distribution up to -a, of a from 0.56 to 39.6, as e^square / (1 + a) times a polynomial; square is -a^2 / 2.
template <class X> Scaled<X> normal_tail(const Pair<X>& a, const Pair<X>& square) {
  const auto e = reduce_exp(square.hi, square.lo);
  const auto t = (a.hi - 5.0) / (a.hi + 5.0);
  const auto p = fast_sum(t.like(kTail[0]), t * polynomial_after(t, kTail));
  const auto product = normal(exp_pair(e.r) * Pair<X>{p.hi, p.lo + kTailFirstRest});
  const auto more = exact_sum(a.hi, t.like(1.0));
  return {product / Pair<X>{more.hi, more.lo + a.lo}, e.n};
}
/// Returns erfc(a) / 2 of a from 0.398 to 28: the normal distribution up to -sqrt(2) a.
template <class X> Scaled<X> half_erfc(const X& a) {
  const auto wide = exact_product(a, a.like(kRoot2.hi));
  return normal_tail(Pair<X>{wide.hi, fma(a, kRoot2.lo, wide.lo)}, exact_product(a, -a));
}

template <class X> auto erfc_64(const X& x) {
  const auto whole = abs(x);
  const auto half = half_erfc(select(whole > 28.0, 28.0, whole));
  const auto above = scale(rounded(half.value), half.n + 1.0);
  return select(whole < 0.398, erfc_near(x), select(x < 0.0, 2.0 - above, above));
}
/// Returns the normal distribution up to x.
template <class X> auto ndtr_64(const X& x) {
  const auto whole = abs(x), a = select(whole > 39.6, 39.6, whole);
  const auto tail = normal_tail(Pair<X>{a, a.like(0.0)}, exact_product(a, a * -0.5));
  const auto below = scale(rounded(tail.value), tail.n);
  const auto sum = fused_sum(x, x.like(kInverseRoot2Pi.hi), x.like(0.5)), z = x * x;
  const auto near = sum.hi + fma(x, fma(z, polynomial(z, kNdtr), kInverseRoot2Pi.lo), sum.lo);
  return select(whole < 0.56, near, select(x > 0.0, 1.0 - below, below));
}

/// Returns y with erf(y) = x: a polynomial gives y to 1e-6, and three terms of the inverse's Taylor series there correct it.
template <class X> auto erfinv_64(const X& x) {
  const auto whole = abs(x), a = select(whole < 1.0, whole, 0.5), zero = x.like(0.0), one = x.like(1.0);
  const auto rest = 1.0 - a;  // exact from 1/2 on, where it matters
  const auto w = -log_of_positive(rest * (1.0 + a));
  const auto near_y = polynomial(w - 2.5, kErfinvNear), far_y = polynomial(sqrt(select(w > 5.0, w, 5.0)) - 4.0, kErfinvFar);
  const auto y = a * select(w > 5.0, far_y, near_y);
  const auto far = y >= 0.75;
  const auto beyond = scaled(half_erfc(y).placed(), x.like(2.0)), within = erf_pair(select(far, zero, y));
  const auto miss = select(far, (beyond.hi - rest) + beyond.lo, (a - within.hi) - within.lo);
  const auto e = reduce_exp(y * y);
  const auto slope = rounded(exp_pair(e.r)) * power_of_two(to_integer(e.n)) * 0x1.c5bf891b4ef6bp-1;  // sqrt(pi) / 2 e^(y^2)
  const auto s = miss * slope;
  const auto step = s * fma(s, fma(s * (1.0 / 3), fma(y * y, 4.0, 1.0), y), one);
  const auto tiny = fma(whole, -0x1.d203b725884abp-4, whole);
  const auto inside = select(whole < 0x1p-60, tiny, y + step);
  return copysign(select(whole < 1.0, inside, select(whole == 1.0, kInf, select(whole > 1.0, kNaN, whole))), x);
}

// ---- the gamma function

/// Returns the logarithm of a positive pair, with an error of 2^-65 of the result.
template <class X> Pair<X> long_log(const Pair<X>& x) {
  const auto p = parts(x.hi);
  // The low part is scaled to a mantissa of about 1. The low part of the smallest and the largest numbers has no effect.
  const auto lost = x.lo * power_of_two(to_integer(-select(p.n > 900.0, 900.0, select(p.n < -900.0, -900.0, p.n))));
  return long_log_by_table(p.mantissa, p.n, &lost);
}

/// Returns x minus the nearest integer.
template <class X> auto beside_integer(const X& x) {
  const auto f = x - trunc(x);
  return f - ((f + kRound64) - kRound64);
}
/// Returns sin and cos of pi times f, for |f| <= 1/2.
template <class X> Circular<X> circular_of_turns(const X& f) {
  const auto a = abs(f), wide = select(a > 0.25, 0.5 - a, a);
  const auto angle = like(f, kPiLong) * Pair<X>{wide, f.like(0.0)};
  const auto r = normal(angle);
  const auto z = exact_product(r.hi, r.hi);
  const auto half = z.hi * 0.5;
  const auto cos = fast_sum(f.like(1.0), -half);
  const auto cos_tail = fma(z.hi * z.hi, polynomial(z.hi, kCos), fma(r.hi, -r.lo, z.lo * -0.5));
  const auto sin_tail = fma(r.hi * z.hi, polynomial(z.hi, kSin), fma(-half, r.lo, r.lo));
  const Pair<X> small{r.hi, sin_tail}, large{cos.hi, cos.lo + cos_tail};
  return {normal(select(a > 0.25, large, small)), normal(select(a > 0.25, small, large)), f.like(kRound64)};
}

/// The result of a shift to 8 and beyond by z (z + 1) ..: the shifted number, the product, and the product's derivative by z.
template <class X> struct Shifted {
  Pair<X> t, product, slope;
};
template <class X> Shifted<X> shifted(const Pair<X>& z) {
  const auto one = z.hi.like(1.0), zero = z.hi.like(0.0);
  Shifted<X> s{z, {one, zero}, {zero, zero}};
  for (int k = 0; k < 8; ++k) {
    const auto below = s.t.hi < 8.0;
    const auto next = exact_sum(s.t.hi, one);
    s.slope = select(below, normal(s.slope * s.t + s.product), s.slope);
    s.product = select(below, normal(s.product * s.t), s.product);
    s.t = select(below, normal(Pair<X>{next.hi, next.lo + s.t.lo}), s.t);
  }
  return s;
}

template <class X> auto lgamma_64(const X& x) {
  const auto one = x.like(1.0), zero = x.like(0.0), a = abs(x);
  const auto reflected = x < -0x1p-60, low = x < 0.5;
  const auto s = shifted(select(low, exact_sum(one, select(low, a, 0.0)), Pair<X>{select(x < 0x1p1000, x, 1.0), zero}));
  const auto inverse = 1.0 / s.t.hi;
  const auto log_t = long_log(s.t);
  const auto stirling = normal(normal(s.t + Pair<X>{zero - 0.5, zero}) * log_t) - s.t;
  const auto rest = like(x, Long{0x1.d67f1c864beb5p-1, -0x1.65b5a1b7ff5dfp-55}) + Pair<X>{inverse * polynomial(inverse * inverse, kStirling), zero};
  const auto sum = exact_sum(stirling.hi, rest.hi);
  const auto far = normal(Pair<X>{sum.hi, sum.lo + (stirling.lo + rest.lo)});
  // lgamma(x) = lgamma(1 + x) - log(x), or log(pi / sin(pi |x|)) - lgamma(1 - x).
  const auto sine = circular_of_turns(beside_integer(x)).sin;
  const auto factor = select(reflected, normal(sine / s.product), select(low, normal(s.product * Pair<X>{select(low, a, 1.0), zero}), s.product));
  const auto log = long_log(factor);
  const auto head = select(reflected, -far, far), base = exact_sum(head.hi, -log.hi);
  const auto part = normal(Pair<X>{base.hi, base.lo + (head.lo - log.lo)});
  const auto with_pi = exact_sum(part.hi, select(reflected, 0x1.250d048e7a1bdp+0, zero));
  const auto general = with_pi.hi + (with_pi.lo + (part.lo + select(reflected, 0x1.7abf2ad8d5088p-57, zero)));
  // Polynomials near the zeros at 1 and 2.
  const auto e1 = x - 1.0, e2 = x - 2.0;
  const auto at_one =
      rounded(Pair<X>{e1, zero} * normal(like(x, Long{-0x1.2788cfc6fb619p-1, 0x1.6cb90701fbfabp-58}) + Pair<X>{e1 * polynomial(e1, kGammaOne), zero}));
  const auto at_two =
      rounded(Pair<X>{e2, zero} * normal(like(x, Long{0x1.b0ee6072093cep-2, 0x1.6cb90701fbfabp-58}) + Pair<X>{e2 * polynomial(e2, kGammaTwo), zero}));
  const auto result = select(abs(e1) < 0x1p-3, at_one, select(abs(e2) < 0x1p-3, at_two, general));
  const auto huge = select(x < 0x1p1000, result, x * (log_of_positive(x) - 1.0));
  const auto pole = (x <= 0.0) & (trunc(x) == x);
  return select(isnan(x), x, select(pole | (a == kInf), kInf, huge));
}

template <class X> auto digamma_64(const X& x) {
  const auto one = x.like(1.0), zero = x.like(0.0);
  const auto low = x < 0.5;
  const auto s = shifted(select(low, exact_sum(one, -select(low, x, 0.0)), Pair<X>{select(x < 0x1p1000, x, 1.0), zero}));
  const auto inverse = Pair<X>{one, zero} / s.t;
  const auto log_t = long_log(s.t);
  const auto square = inverse.hi * inverse.hi;
  const auto near = log_t - Pair<X>{inverse.hi * 0.5, fma(square, polynomial(square, kDigamma), inverse.lo * 0.5)};
  const auto steps = s.slope / s.product;
  const auto sum = exact_sum(near.hi, -steps.hi);
  const auto part = normal(Pair<X>{sum.hi, sum.lo + (near.lo - steps.lo)});
  // digamma(x) = digamma(1 - x) - pi / tan(pi x)
  const auto f = beside_integer(x);
  const auto c = circular_of_turns(select(f == 0.0, 0.25, f));
  const auto turn = normal(like(x, kPiLong) * normal(c.cos / c.sin));
  const auto signed_turn = select(f < 0.0, -turn, turn);
  const auto all = exact_sum(part.hi, -select(low, signed_turn.hi, zero));
  const auto result = all.hi + (all.lo + (part.lo - select(low, signed_turn.lo, zero)));
  const auto tiny = abs(x) < 0x1p-900;  // -1/x
  const auto huge = select(x < 0x1p1000, select(tiny, -1.0 / x, result), log_of_positive(x));
  const auto pole = (x < 0.0) & (trunc(x) == x);
  return select(isnan(x) | (x == kInf), x, select(pole, kNaN, huge));
}

}  // namespace sinter::jit::float64_math
