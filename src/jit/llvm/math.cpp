#include "jit/llvm/math.hpp"

#include <limits>
#include <unordered_map>

#include "jit/llvm/coefficients.hpp"
#include "jit/llvm/expression.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {
namespace {

using namespace coefficients;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kLog2e = 0x1.71547652b82fep+0;
constexpr double kPi = 0x1.921fb54442d18p+1, kHalfPi = kPi / 2;

// Adding this to a number below 2^22 (2^51) leaves its nearest integer in the low bits: a rounding and a conversion in one
// addition, with no undefined result for NaN.
constexpr double kRound32 = 0x1.8p23, kRound64 = 0x1.8p52;
constexpr std::int64_t kRound32Bits = 0x4b400000, kRound64Bits = 0x4338000000000000;

Expr to_double(const Expr& x) { return cast(x, DType::float64); }
Expr to_float(const Expr& x) { return cast(x, DType::float32); }

// ---- exponentials

/// p * 2^n in two steps, so that a subnormal result is rounded once and one above the range becomes infinite.
Expr scale32(const Expr& p, const Expr& n) {
  const Expr half = shift_right(n, 1);
  return p * from_bits(shift_left(half + 127, 23)) * from_bits(shift_left(n - half + 127, 23));
}

struct Reduced {
  Expr r;  // the remainder
  Expr n;  // the integer, as bits of the working width
};

/// x = n ln(2) + r. The high part of ln(2) has few bits, so that its product with n is exact without a fused multiply-add.
Reduced reduce_exp32(const Expr& x) {
  const Expr t = fma(x, kLog2e, kRound32);
  const Expr n = t - kRound32;
  return {fma(n, -(kLn2 - 0.693359375), fma(n, -0.693359375, x)), bits(t) - kRound32Bits};
}

Expr exp_polynomial32(const Expr& r) { return fma(r * r, polynomial(r, kExp32), r) + 1.0; }

Expr exp32(const Expr& x) {
  const Expr clamped = select(x > 89.0, 89.0, select(x < -104.0, -104.0, x));  // a NaN passes
  const Reduced e = reduce_exp32(clamped);
  return scale32(exp_polynomial32(e.r), e.n);
}

/// exp for arguments between -80 and 80.
Expr exp32_moderate(const Expr& x) {
  const Reduced e = reduce_exp32(x);
  return exp_polynomial32(e.r) * from_bits(shift_left(e.n + 127, 23));
}

Expr exp2_32(const Expr& x) {
  const Expr clamped = select(x > 129.0, 129.0, select(x < -151.0, -151.0, x));
  const Expr t = clamped + kRound32;
  const Expr r = clamped - (t - kRound32);
  return scale32(fma(r, polynomial(r, kExp2_32), 1.0), bits(t) - kRound32Bits);
}

/// 2^x for arguments between -100 and 100; what comes of a NaN is not defined. The shift drops all but the integer's bits.
Expr exp2_32_normal(const Expr& x) {
  const Expr t = x + kRound32;
  const Expr r = x - (t - kRound32);
  return from_bits(bits(fma(r, polynomial(r, kExp2_32), 1.0)) + shift_left(bits(t), 23));
}

struct Exp64 {
  Expr p;      // e^r - 1
  Expr scale;  // 2^n
};

/// In double lanes, for arguments between -700 and 700.
Exp64 exp64(const Expr& x) {
  const Expr t = fma(x, kLog2e, kRound64);
  const Expr n = t - kRound64;
  const Expr r = fma(n, -1.90821492927058770002e-10, fma(n, -6.93147180369123816490e-01, x));  // ln(2) in 33 + 53 bits
  return {fma(r * r, polynomial(r, kExp64), r), from_bits(shift_left(bits(t) - kRound64Bits + 1023, 52))};
}

Expr clamp(const Expr& x, double limit) { return select(x > limit, limit, select(x < -limit, -limit, x)); }
Expr exp_double(const Expr& x) {
  const Exp64 e = exp64(x);
  return fma(e.p, e.scale, e.scale);
}
Expr expm1_double(const Expr& x) {
  const Exp64 e = exp64(x);
  return fma(e.p, e.scale, e.scale - 1.0);
}

Expr expm1_32(const Expr& x) { return select(x == 0.0, x, to_float(expm1_double(clamp(to_double(x), 200)))); }

Expr sinh32(const Expr& x) {
  const Expr e = expm1_double(clamp(abs(to_double(x)), 200));
  return copysign(to_float((e + e / (e + 1.0)) * 0.5), x);
}

Expr cosh32(const Expr& x) {
  const Expr e = exp_double(clamp(abs(to_double(x)), 200));
  return to_float((e + 1.0 / e) * 0.5);
}

Expr tanh32(const Expr& x) {
  const Expr a = abs(x), z = a * a;
  const Expr small = fma(a * z, polynomial(z, kTanh32), a);
  const Expr e = exp32_moderate(select(a > 10.0, 20.0, a + a));
  const Expr large = 1.0 - 2.0 / (e + 1.0);
  return copysign(select(a < 0.625, small, large), x);
}

Expr erf32(const Expr& x) {
  // Both ways have polynomials of one length, so that each lane evaluates its own: a choice is cheaper than a multiplication.
  static_assert(std::size(kErfSmall32) == std::size(kErfLarge32));
  const Expr a = abs(x), large = a >= 0.925;  // a NaN takes the small way, which keeps it
  const Expr t = select(large, select(a > 4.0, 4.0, a), a * a);
  const auto coefficient = [&](std::size_t k) { return select(large, a.like(kErfLarge32[k]), a.like(kErfSmall32[k])); };
  std::size_t k = std::size(kErfLarge32) - 1;
  Expr p = coefficient(k);
  while (k-- > 0) p = fma(p, t, coefficient(k));
  return copysign(select(large, 1.0 - exp2_32_normal(t * p), fma(a, p, a)), x);
}

// ---- logarithms

/// The logarithm where it is finite, and its limits and NaN elsewhere; `argument` is zero or infinite with x's logarithm.
Expr log_specials(const Expr& result, const Expr& argument) {
  const Expr special = select(argument == 0.0, -kInf, select(argument < 0.0, kNaN, argument));
  return select((argument > 0.0) & (argument < kInf), result, special);
}

Expr log32(const Expr& x) {
  const Expr tiny = x < 0x1p-126;
  const Expr b = bits(select(tiny, x * 0x1p23, x));
  const Expr n = shift_right(b - 0x3f3504f3, 23);  // so that the rest is in [sqrt(1/2), sqrt(2))
  const Expr f = from_bits(b - shift_left(n, 23)) - 1.0;
  const Expr e = x.with(x.ir->cast((n - select(tiny, n.like(23), n.like(0))).v, DType::float32));
  const Expr z = f * f;
  Expr y = f * z * polynomial(f, kLog32);
  y = fma(z, f.like(-0.5), fma(e, -2.12194440054690583e-4, y));
  return log_specials(fma(e, 0.693359375, f + y), x);
}

struct Log64 {
  Expr exponent;
  Expr log;  // of the mantissa, in [sqrt(1/2), sqrt(2))
};

/// Of a positive normal double; `near_one`, where given, is x - 1 known more exactly than x.
Log64 log64(const Expr& x, const Expr* near_one = nullptr) {
  const Expr b = bits(x);
  const Expr n = shift_right(b - 0x3fe6a09e667f3bcd, 52);
  Expr f = from_bits(b - shift_left(n, 52)) - 1.0;
  if (near_one) f = select(n == 0, *near_one, f);
  const Expr s = f / (f + 2.0), z = s * s;
  const Expr exponent = from_bits(n + kRound64Bits) - kRound64;
  return {exponent, fma(s * z, polynomial(z, kLog64), s + s)};
}

Expr log2_32(const Expr& x) {
  const Log64 l = log64(to_double(x));
  return log_specials(to_float(fma(l.log, kLog2e, l.exponent)), x);
}

Expr log10_32(const Expr& x) {
  const Log64 l = log64(to_double(x));
  constexpr double kLog10of2 = 0x1.34413509f79ffp-2, kLog10e = 0x1.bcb7b1526e50ep-2;
  return log_specials(to_float(fma(l.exponent, kLog10of2, l.log * kLog10e)), x);
}

Expr log1p_32(const Expr& x) {
  const Expr d = to_double(x), u = d + 1.0;
  const Log64 l = log64(u, &d);
  const Expr result = log_specials(to_float(fma(l.exponent, kLn2, l.log)), to_float(u));
  return select(x == 0.0, x, result);
}

// ---- circular functions

struct Circular {
  Expr sin, cos;  // of the remainder in [-pi/4, pi/4]
  Expr quadrant;  // its low two bits count
};

/// Arguments up to this are reduced here, larger ones by the library. The quotient by pi/2 then has 22 bits, and its products with the
/// first two parts of pi/2 (31 bits each) are exact.
constexpr double kCircularLimit = 4e6;

Circular circular(const Expr& x) {
  const Expr t = fma(x, 2 / kPi, kRound64);
  const Expr n = t - kRound64;
  constexpr double kFirst = 0x1.921fb544p+0, kSecond = 0x1.0b4611a4p-34, kThird = 0x1.13198a2e03707p-65;
  const Expr r = fma(n, -kThird, fma(n, -kSecond, fma(n, -kFirst, x)));
  const Expr z = r * r;
  return {fma(r * z, polynomial(z, kSin64), r), fma(z * z, polynomial(z, kCos64), fma(z, -0.5, 1.0)), bits(t)};
}

Expr large_by_libm(const Expr& fast, const Expr& x, const char* name) {
  const Expr a = abs(x);
  const Expr large = (a >= kCircularLimit) & (a < kInf);
  return x.with(x.ir->or_libm(fast.v, large.v, name, {x.v}));
}

/// The sine, a quarter turn later for each `shift`.
Expr sine(const Expr& x, int shift, const char* name) {
  const Circular c = circular(to_double(x));
  const Expr q = c.quadrant + shift;
  const Expr value = select((q & 1) != 0, c.cos, c.sin);
  const Expr sign = shift_left(q & 2, 62);
  return large_by_libm(to_float(from_bits(bits(value) ^ sign)), x, name);
}

Expr sin32(const Expr& x) { return select(x == 0.0, x, sine(x, 0, "sin")); }
Expr cos32(const Expr& x) { return sine(x, 1, "cos"); }

Expr tan32(const Expr& x) {
  const Circular c = circular(to_double(x));
  const Expr odd = (c.quadrant & 1) != 0;
  const Expr t = select(odd, -c.cos, c.sin) / select(odd, c.sin, c.cos);
  return select(x == 0.0, x, large_by_libm(to_float(t), x, "tan"));
}

struct HalfArc {
  Expr big;  // |x| > 1/2
  Expr arc;  // asin(|x|), or where big: asin(sqrt((1 - |x|) / 2))
};
HalfArc half_arc(const Expr& x) {
  const Expr a = abs(to_double(x));
  const Expr big = a > 0.5;
  const Expr z = select(big, (1.0 - a) * 0.5, a * a);
  const Expr s = select(big, sqrt(z), a);
  return {big, fma(s * z, polynomial(z, kAsin64), s)};
}

Expr asin32(const Expr& x) {
  const HalfArc h = half_arc(x);
  return copysign(to_float(select(h.big, kHalfPi - (h.arc + h.arc), h.arc)), x);
}

Expr acos32(const Expr& x) {
  const HalfArc h = half_arc(x);
  const Expr twice = h.arc + h.arc;
  const Expr small = kHalfPi - copysign(h.arc, to_double(x));
  return to_float(select(h.big, select(x < 0.0, kPi - twice, twice), small));
}

constexpr double kTanEighth = 0x1.a827999fcef32p-2;  // tan(pi/8)
Expr atan_polynomial(const Expr& t) {
  const Expr z = t * t;
  return fma(t * z, polynomial(z, kAtan64), t);
}

Expr atan32(const Expr& x) {
  const Expr a = abs(to_double(x));
  const Expr steep = a > 1 / kTanEighth, middle = a > kTanEighth;
  const Expr above = select(steep, a.like(-1.0), select(middle, a - 1.0, a));
  const Expr below = select(steep, a, select(middle, a + 1.0, a.like(1.0)));
  const Expr turn = select(steep, a.like(kHalfPi), select(middle, a.like(kPi / 4), a.like(0.0)));
  return copysign(to_float(turn + atan_polynomial(above / below)), x);
}

Expr atan2_32(const Expr& y, const Expr& x) {
  const Expr ay = abs(to_double(y)), ax = abs(to_double(x));
  const Expr steep = ax < ay;
  const Expr less = select(steep, ax, ay), more = select(steep, ay, ax);
  const Expr equal = (less == more) & (more != 0.0);  // infinities too
  const Expr middle = equal | (more * kTanEighth < less);
  const Expr above = select(equal, 0.0, select(middle, less - more, less));
  const Expr below = select(middle, less + more, select(more == 0.0, 1.0, more));
  Expr angle = select(middle, less.like(kPi / 4), less.like(0.0)) + atan_polynomial(above / below);
  angle = select(steep, kHalfPi - angle, angle);
  angle = select(bits(x) < 0, kPi - angle, angle);  // the sign bit: -0.0 counts as negative
  return select(isnan(x) | isnan(y), x + y, copysign(to_float(angle), y));
}

// ---- powers

Expr pow32(const Expr& x, const Expr& y) {
  const Expr a = abs(x), dx = to_double(a);
  const Log64 l = log64(dx);
  const Expr log = select(a == 0.0, -kInf, select(a < kInf, fma(l.exponent, kLn2, l.log), dx));
  const Expr magnitude = exp_double(clamp(to_double(y) * log, 200));
  const Expr half = y * 0.5;
  const Expr whole = trunc(y) == y, odd = whole & (trunc(half) != half);
  const Expr negative = bits(x) < 0;
  Expr result = to_float(magnitude);
  result = select(a == 1.0, 1.0, result);
  result = select(negative & odd, -result, result);
  const Expr finite_negative = (x < 0.0) & (a < kInf);
  result = select(finite_negative & (trunc(y) != y), kNaN, result);
  result = select(isnan(x) | isnan(y), x + y, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

// ---- remainders

Expr fmod32(const Expr& a, const Expr& b) {
  const Expr da = abs(to_double(a)), db = abs(to_double(b));
  const Expr q = trunc(da / db);
  Expr r = fma(q, -1.0 * db, da);  // exact while the quotient has at most 29 bits
  r = select(r < 0.0, r + db, select(db <= r, r - db, r));
  r = select((db == kInf) & (da < kInf), da, r);
  const Expr large = (q >= 0x1p28) & (q < kInf);
  return a.with(a.ir->or_libm(copysign(to_float(r), a).v, large.v, "fmod", {a.v, b.v}));
}

Expr fmod_of(const Expr& a, const Expr& b) {
  return a.with(a.ir->call("fmod", {a.v, b.v}, [](Ir& ir, const std::vector<Value>& x) {
    return x[0].dtype == DType::float32 ? fmod32({&ir, x[0]}, {&ir, x[1]}).v : ir.libm("fmod", x);
  }));
}

/// Divisor made harmless, quotient and remainder as the processor gives them (truncated).
struct Division {
  Expr divisor, quotient, remainder;
};
Division divide_integers(const Expr& a, const Expr& b) {
  const Expr divisor = select((b == 0) | (b == -1), b.like(1), b);
  // The double quotient of two 32-bit integers truncates to the exact one, and vectors can compute it.
  const Expr quotient =
      a.dtype() == DType::int32 ? a.with(a.ir->convert("fptosi", (to_double(a) / to_double(divisor)).v, DType::int32)) : a / divisor;
  return {divisor, quotient, a - quotient * divisor};
}

using Unary = Expr (*)(const Expr&);
using Binary = Expr (*)(const Expr&, const Expr&);

}  // namespace

Value emit_math32(Ir& ir, std::string_view name, const std::vector<Value>& x) {
  // Never destroyed: destructors of static objects may still generate.
  static const auto& unary = *new std::unordered_map<std::string_view, Unary>{
      {"exp", exp32},      {"exp2", exp2_32}, {"expm1", expm1_32}, {"log", log32},   {"log2", log2_32}, {"log10", log10_32},
      {"log1p", log1p_32}, {"sin", sin32},    {"cos", cos32},      {"tan", tan32},   {"asin", asin32},  {"acos", acos32},
      {"atan", atan32},    {"sinh", sinh32},  {"cosh", cosh32},    {"tanh", tanh32}, {"erf", erf32}};
  static const auto& binary = *new std::unordered_map<std::string_view, Binary>{{"pow", pow32}, {"atan2", atan2_32}};
  if (const auto f = unary.find(name); f != unary.end()) return f->second({&ir, x[0]}).v;
  if (const auto f = binary.find(name); f != binary.end()) return f->second({&ir, x[0]}, {&ir, x[1]}).v;
  throw InternalError("no float32 function named " + std::string(name));
}

Value emit_floor_divide(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  if (is_floating(a.dtype())) {  // as NumPy's npy_divmod
    const Expr mod = fmod_of(a, b), ratio = a / b;
    const Expr crosses = (mod != 0.0) & ((b < 0.0) != (mod < 0.0));
    const Expr exact = (a - mod) / b;
    const Expr quotient = select(crosses, exact - 1.0, exact);
    const Expr below = floor(quotient);
    const Expr nearest = select(quotient - below > 0.5, below + 1.0, below);
    const Expr result = select(quotient != 0.0, nearest, copysign(a.like(0.0), ratio));
    return select(b == 0.0, ratio, result).v;
  }
  const Division d = divide_integers(a, b);
  const Expr crosses = (d.remainder != 0) & ((d.remainder < 0) != (d.divisor < 0));
  const Expr quotient = select(crosses, d.quotient - 1, d.quotient);
  return select(b == 0, a.like(0), select(b == -1, -a, quotient)).v;
}

Value emit_remainder(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  if (is_floating(a.dtype())) {
    const Expr mod = fmod_of(a, b);
    const Expr crosses = (b < 0.0) != (mod < 0.0);
    const Expr nonzero = select(crosses, mod + b, mod);
    return select(mod != 0.0, nonzero, copysign(a.like(0.0), b)).v;
  }
  const Division d = divide_integers(a, b);
  const Expr crosses = (d.remainder != 0) & ((d.remainder < 0) != (d.divisor < 0));
  const Expr remainder = select(crosses, d.remainder + d.divisor, d.remainder);
  return select(b == 0, a.like(0), remainder).v;
}

Value emit_integer_power(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  const int lanes = a_value.lanes;
  const std::string base = ir.alloca_of(a.dtype(), lanes), exponent = ir.alloca_of(a.dtype(), lanes),
                    result = ir.alloca_of(a.dtype(), lanes);
  const Expr negative = b < 0;
  ir.store(base, a.v);
  ir.store(exponent, ir.broadcast(select(negative, b.like(0), b).v, lanes));
  ir.store(result, ir.broadcast(a.like(1).v, lanes));
  const std::string head = ir.label("square"), more = ir.label("more"), done = ir.label("done");
  ir.line("br label %" + head);
  ir.begin_block(head);
  const Expr e = a.with(ir.load(exponent, a.dtype(), lanes));
  ir.line("br i1 " + ir.any((e != 0).v).ref + ", label %" + more + ", label %" + done);
  ir.begin_block(more);
  const Expr square = a.with(ir.load(base, a.dtype(), lanes)), product = a.with(ir.load(result, a.dtype(), lanes));
  ir.store(result, select((e & 1) != 0, product * square, product).v);
  ir.store(base, (square * square).v);
  ir.store(exponent, shift_right(e, 1).v);
  ir.line("br label %" + head);
  ir.begin_block(done);
  const Expr positive = a.with(ir.load(result, a.dtype(), lanes));
  const Expr minus_one = select((b & 1) != 0, b.like(-1), b.like(1));
  const Expr reciprocal = select(a == 1, a.like(1), select(a == -1, minus_one, a.like(0)));
  return select(negative, reciprocal, positive).v;
}

}  // namespace sinter::jit::llvm
