#include "jit/cuda/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "sinter/errors.hpp"

namespace sinter::jit::cuda {
namespace {

using trace::Op;
using namespace trace::accepts;

// In a text, @T is the operands' type, @U its unsigned twin, and @f the suffix of CUDA's functions on that type.
struct Function {
  std::string_view name;
  int accepts;            // dtype classes that this text serves
  std::string_view text;  // body and result: "@T name(@T a) { ... }"
};
// A helper for one dtype that is a single instruction from an architecture on. These helpers are preferred to the others.
struct Instruction {
  std::string_view name;
  DType dtype;
  int sm;  // the first architecture that has it
  std::string_view text;
};
constexpr Instruction kInstructions[] = {
    {"sn_min", DType::float32, 80, R"(float sn_min(float a, float b) {
  float x;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
})"},
    {"sn_max", DType::float32, 80, R"(float sn_max(float a, float b) {
  float x;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(x) : "f"(a), "f"(b));
  return x;
})"},
    {"sn_to_bfloat16", DType::bfloat16, 80, R"(unsigned short sn_to_bfloat16(float x) {
  unsigned short a;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(a) : "f"(x));
  return a;
})"},
    // Rounds to bfloat16 and returns a float: the bits are the pair of the bfloat16 and 0. (The compiler itself pairs two adjacent stored elements.)
    {"sn_round_bfloat16", DType::bfloat16, 80, R"(float sn_round_bfloat16(float x) {
  unsigned int bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(x), "f"(0.0f));
  return __int_as_float(bits);
})"},
    {"sn_reciprocal", DType::float32, 75, R"(float sn_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
})"},
};
const Instruction* instruction(std::string_view name, DType dtype, int sm) {
  for (const Instruction& i : kInstructions)
    if (i.name == name && i.dtype == dtype && sm >= i.sm) return &i;
  return nullptr;
}

// Integers wrap around: their arithmetic is done in the unsigned twin. Division and remainder follow NumPy: by zero they give 0, and the remainder takes the
// divisor's sign. For bool, add is "or" and multiply is "and", as in NumPy. Functions are computed in double where the float version may be off by more than 2
// ULP according to the table of maximum errors in the CUDA C++ Programming Guide ("Mathematical Functions").
constexpr Function kFunctions[] = {
    {"sn_abs", I, "@T sn_abs(@T a) { return a < 0 ? (@T)(0 - (@U)a) : a; }"},
    {"sn_abs", B, "@T sn_abs(@T a) { return a; }"},
    // For a negative x it computes exp(x) / (1 + exp(x)), so that nothing overflows.
    {"sn_sigmoid", F, R"(@T sn_sigmoid(@T a) {
  const @T e = exp@f(-fabs@f(a));
  return (a < 0 ? e : (@T)1) / (1 + e);
})"},
    {"sn_ndtr", F, "@T sn_ndtr(@T a) { return normcdf@f(a); }"},
    {"sn_sign", F, "@T sn_sign(@T a) { return a != a ? a : (@T)((a > 0) - (a < 0)); }"},
    {"sn_sign", I, "@T sn_sign(@T a) { return (@T)((a > 0) - (a < 0)); }"},
    {"sn_not", I, "@T sn_not(@T a) { return (@T)~a; }"},
    {"sn_not", B, "@T sn_not(@T a) { return !a; }"},
    {"sn_add", I, "@T sn_add(@T a, @T b) { return (@T)((@U)a + (@U)b); }"},
    {"sn_add", B, "@T sn_add(@T a, @T b) { return a || b; }"},
    {"sn_sub", I, "@T sn_sub(@T a, @T b) { return (@T)((@U)a - (@U)b); }"},
    {"sn_mul", I, "@T sn_mul(@T a, @T b) { return (@T)((@U)a * (@U)b); }"},
    {"sn_mul", B, "@T sn_mul(@T a, @T b) { return a && b; }"},
    // If either side is NaN, the result is NaN.
    {"sn_min", F, "@T sn_min(@T a, @T b) { return a < b || a != a ? a : b; }"},
    {"sn_min", I | B, "@T sn_min(@T a, @T b) { return a < b ? a : b; }"},
    {"sn_max", F, "@T sn_max(@T a, @T b) { return a > b || a != a ? a : b; }"},
    {"sn_max", I | B, "@T sn_max(@T a, @T b) { return a > b ? a : b; }"},
    // (a - mod) / b would be an integer if it were not rounded; the quotient is the nearest integer.
    {"sn_floor_divide", F, R"(@T sn_floor_divide(@T a, @T b) {
  if (b == 0) return a / b;
  const @T mod = fmod@f(a, b);
  @T quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return copysign@f((@T)0, a / b);
  const @T whole = floor@f(quotient);
  return quotient - whole > (@T)0.5 ? whole + 1 : whole;
})"},
    // There are no branches: in unrolled loops with several divisions NVRTC 13 would follow each path through all branches, and compile for minutes.
    {"sn_floor_divide", I, R"(@T sn_floor_divide(@T a, @T b) {
  const bool negates = b < 0 && b == (@T)-1;
  const @T by = b == 0 || negates ? (@T)1 : b, quotient = a / by, rest = (@T)(a - quotient * by);
  const @T below = quotient - (rest != 0 && (rest < 0) != (by < 0) ? 1 : 0);
  return b == 0 ? (@T)0 : negates ? (@T)(0 - (@U)a) : below;
})"},
    {"sn_remainder", F, R"(@T sn_remainder(@T a, @T b) {
  const @T mod = fmod@f(a, b);
  if (mod == 0) return copysign@f((@T)0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
})"},
    {"sn_remainder", I, R"(@T sn_remainder(@T a, @T b) {
  const @T by = b == 0 || (b < 0 && b == (@T)-1) ? (@T)1 : b, rest = a % by;
  return rest != 0 && (rest < 0) != (by < 0) ? rest + by : rest;
})"},
    // A negative exponent truncates: the result is 1 over the power, rounded to zero.
    {"sn_ipow", I, R"(@T sn_ipow(@T a, @T b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  @U power = 1, square = (@U)a;
  for (@U n = (@U)b; n != 0; n >>= 1) {
    if (n & 1) power *= square;
    square *= square;
  }
  return (@T)power;
})"},
    {"sn_ldexp", F, "@T sn_ldexp(@T a, @T n) { return n != n ? n : ldexp@f(a, (int)(n > 2200 ? 2200 : n < -2200 ? -2200 : n)); }"},
    // The operands are magnitudes; the least integer is its own magnitude.
    {"sn_gcd", I, R"(@T sn_gcd(@T x, @T y) {
  @U a = x < 0 ? (@U)(0 - (@U)x) : (@U)x, b = y < 0 ? (@U)(0 - (@U)y) : (@U)y;
  while (b != 0) {
    const @U rest = (@U)(a % b);
    a = b;
    b = rest;
  }
  return (@T)a;
})"},
    // A negative or too large count shifts all bits out.
    {"sn_shl", I, "@T sn_shl(@T a, @T b) { return (@U)b < 8 * sizeof(@T) ? (@T)((@U)a << b) : (@T)0; }"},
    // base/philox.hpp
    {"sn_philox", I, R"(@T sn_philox(@T counter, @T key) {
  unsigned long long c = (unsigned long long)counter, k = (unsigned long long)key;
  unsigned c0 = (unsigned)c, c1 = (unsigned)(c >> 32), c2 = 0, c3 = 0, k0 = (unsigned)k, k1 = (unsigned)(k >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    unsigned long long p0 = (unsigned long long)c0 * 0xD2511F53u, p1 = (unsigned long long)c2 * 0xCD9E8D57u;
    c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned)p1;
    c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned)p0;
  }
  return (@T)((unsigned long long)c1 << 32 | c0);
})"},
    {"sn_shr", I, "@T sn_shr(@T a, @T b) { return (@U)b < 8 * sizeof(@T) ? (@T)(a >> b) : (@T)(a < 0 ? -1 : 0); }"},
};

// The 16-bit floating types, as in sinter/half.hpp, in fewer instructions than narrow_conversion() takes for any narrow type. The float16 conversions are one
// instruction each.
struct Conversion {
  std::string_view name;
  DType dtype;
  std::string_view text;
};
constexpr Conversion kConversions[] = {
    {"sn_from_float16", DType::float16, R"(float sn_from_float16(unsigned short a) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(a));
  return x;
})"},
    {"sn_to_float16", DType::float16, R"(unsigned short sn_to_float16(float x) {
  unsigned short a;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(a) : "f"(x));
  return a;
})"},
    {"sn_from_bfloat16", DType::bfloat16, "float sn_from_bfloat16(unsigned short a) { return __int_as_float((unsigned int)a << 16); }"},
    // Converts one of two elements that share 32 bits by one instruction. Extracting 16 bits first would take another one.
    {"sn_from_bfloat16_pair", DType::bfloat16,
     "float sn_from_bfloat16_pair(unsigned int pair, int upper) { return __int_as_float(upper ? pair & 0xffff0000u : pair << 16); }"},
    {"sn_to_bfloat16", DType::bfloat16, R"(unsigned short sn_to_bfloat16(float x) {
  const unsigned int bits = __float_as_int(x);
  return (x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16;
})"},
    // Converts a double to a float that rounds to 16 bits as the double does.
    {"sn_round_to_odd", DType::float64, R"(float sn_round_to_odd(double a) {
  const float nearest = (float)a;
  if ((double)nearest == a || a != a) return nearest;
  return __int_as_float((__float_as_int(nearest) - (fabs((double)nearest) > fabs(a))) | 1);
})"},
};

// Computes a^b as 2^(b log2 |a|). The logarithm is a whole number plus the logarithm of f + 1, which lies between the roots of 1/2 and 2, by the series in s =
// f / (2 + f), as a sum of two floats: `log` and its rounding error `low`. Even for the largest results, little more is then lost than by the last polynomial,
// 2^g for |g| <= 1/2. The greatest possible error is 1.41 ULP (scripts/measure_cuda_functions.sh).
constexpr std::string_view kPower = R"(float sn_pow(float a, float b) {
  const float infinity = __int_as_float(0x7f800000), size = fabsf(a);
  const bool tiny = size < 0x1p-126f;
  const int bits = __float_as_int(tiny ? size * 0x1p+24f : size), power = (bits - 0x3f3504f3) & 0xff800000;
  const float whole = fmaf((float)power, 0x1p-23f, tiny ? -24.0f : 0.0f), f = __int_as_float(bits - power) - 1;
  const float r = sn_reciprocal(2 + f), s = f * r, s_low = fmaf(-s, f, fmaf(-2, s, f)) * r;
  const float v = s * s, w = s * v, w_low = fmaf(s, fmaf(s, s, -v), fmaf(s, v, -w));
  const float t = s * 0x1.715476p+1f, c = w * 0x1.ec709ep-1f;
  const float t_low = fmaf(s_low, fmaf(v, 0x1.715476p+1f, 0x1.715476p+1f), fmaf(s, 0x1.4ae0c0p-25f, fmaf(s, 0x1.715476p+1f, -t)));
  const float c_low = fmaf(w_low, 0x1.ec709ep-1f, fmaf(w, 0x1.ec709ep-1f, -c));
  const float rest = fmaf(fmaf(0x1.59eefep-2f, v, 0x1.a5bbf4p-2f), v, 0x1.27770ep-1f);
  const float sum = whole + t, log = sum + c;
  const float low = fmaf(w * v, rest, c_low) + t_low + (t - (sum - whole) + (c - (log - sum)));
  const float p = b * log, q = fminf(fmaxf(p, -200.0f), 200.0f), q_low = q == p ? fmaf(b, low, fmaf(b, log, -p)) : 0.0f;
  const float shifted = q + 0x1.8p+23f, g = q - (shifted - 0x1.8p+23f) + q_low;
  float e = fmaf(0x1.416b52p-13f, g, 0x1.5f082ep-10f);
  e = fmaf(e, g, 0x1.3b2de0p-7f);
  e = fmaf(e, g, 0x1.c6af7cp-5f);
  e = fmaf(e, g, 0x1.ebfbdcp-3f);
  e = fmaf(e, g, 0x1.62e430p-1f);
  e = fmaf(e, g, 1.0f);
  const unsigned int n = __float_as_int(shifted), half = n >> 1;
  const float result = e * __int_as_float(0x3f800000u + (half << 23)) * __int_as_float(0x3f800000u + ((n - half) << 23));
  if (a > 0 && a < infinity && fabsf(b) < infinity) return result;
  if (b == 0 || a == 1) return 1;
  if (a != a || b != b) return a + b;
  const bool finite = fabsf(b) < infinity;
  const float odd = finite ? fabsf(b - 2 * truncf(b * 0.5f)) : 0.0f;
  float special = size == 1 ? 1.0f : (size < 1) == (b < 0) ? infinity : 0.0f;
  if (finite && size > 0 && size < infinity) special = odd == 0 || odd == 1 ? result : __int_as_float(0x7fffffff);
  return odd == 1 && __float_as_int(a) < 0 ? -special : special;
})";

// The probability beyond a = |x| is 2^(-a^2/2 log2 e) times a polynomial in v = (a - 4) / (a + 4). The rounding errors of the exponent and of the reciprocal
// are corrected, so that few roundings remain. The error is at most 5.3 ULP, and 4.2 above x = -6 (scripts/measure_cuda_functions.sh tries every float). All
// values are scaled by 2^64 until the end, where a result below the normal numbers is rounded once.
constexpr std::string_view kNormal = R"(float sn_ndtr(float x) {
  const float a = sn_min(fabsf(x), 14.5f), square = a * a, square_low = fmaf(a, a, -square);
  const float shifted = fmaf(square, -0x1.715476p-1f, 12583103.0f), whole = shifted - 12583103.0f;
  const float f = fmaf(square_low, -0x1.715476p-1f, fmaf(square, -0x1.4ae0c0p-27f, fmaf(square, -0x1.715476p-1f, -whole)));
  float e = fmaf(0x1.176138p-13f, f, 0x1.5ef7c4p-10f);
  e = fmaf(e, f, 0x1.3b6818p-7f);
  e = fmaf(e, f, 0x1.c6af9ep-5f);
  e = fmaf(e, f, 0x1.ebfb94p-3f);
  e = fmaf(e, f, 0x1.62e430p-1f);
  e = e * f;
  const float near = sn_reciprocal(a + 4), r = fmaf(near, fmaf(-a, near, fmaf(-4, near, 1.0f)), near), v = fmaf(-8, r, 1.0f);
  float p = fmaf(-0x1.11d2b6p-14f, v, -0x1.5ff48cp-13f);
  p = fmaf(p, v, 0x1.58db6cp-11f);
  p = fmaf(p, v, 0x1.077b46p-11f);
  p = fmaf(p, v, -0x1.1675b2p-7f);
  p = fmaf(p, v, 0x1.f9b34ap-6f);
  p = fmaf(p, v, -0x1.25b5f8p-4f);
  p = fmaf(p, v, 0x1.fd750cp-4f);
  p = fmaf(p, v, -0x1.5cf97ep-3f);
  p = fmaf(p, v, 0x1.82b4bcp-4f);
  const float below = fmaf(e, p, p) * __int_as_float(__float_as_int(shifted) << 23) * 0x1p-64f;
  return x > 0 ? 1 - below : below;
})";

struct FloatFunction {
  std::string_view name, base;
  int arity;
};
constexpr FloatFunction kThroughDouble[] = {
    {"sn_tan", "tan", 1},     {"sn_asin", "asin", 1},   {"sn_acos", "acos", 1},   {"sn_sinh", "sinh", 1}, {"sn_atan2", "atan2", 2},
    {"sn_asinh", "asinh", 1}, {"sn_acosh", "acosh", 1}, {"sn_atanh", "atanh", 1}, {"sn_erfc", "erfc", 1}, {"sn_lgamma", "lgamma", 1},
};

// Constants as bits or hex, because a kernel includes no header that defines them.
std::string_view largest(DType t) { return t == DType::float32 ? "0x1.fffffep+127f" : "0x1.fffffffffffffp+1023"; }
std::string_view infinity(DType t) { return t == DType::float32 ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000LL)"; }
std::string integer(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807LL - 1)";
  if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
  return fmt::format("{}{}", value, value == static_cast<std::int32_t>(value) ? "" : "LL");
}
std::string limit(DType t, bool largest) {
  return visit_compute(t, [&]<class T>() {
    const T value = largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    if constexpr (std::is_unsigned_v<T>) return fmt::format("{}ull", value);
    else return integer(static_cast<std::int64_t>(value));
  });
}

std::string_view suffix(DType t) { return t == DType::float32 ? "f" : ""; }
/// Returns the type in which integers wrap around. C++ computes those of fewer than 32 bits as int.
std::string_view unsigned_twin(DType t) { return itemsize(t) <= 4 ? "unsigned int" : "unsigned long long"; }

std::string instantiate(std::string_view text, DType t) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'T': out += cpp_type(t); break;
      case 'U': out += unsigned_twin(t); break;
      default: out += suffix(t); break;
    }
  }
  return out;
}

// The divisor is between 1 and 2. The quotient by its reciprocal is corrected for its own error and the sum's rounding, so no branch is needed.
constexpr std::string_view kSigmoid = R"(float sn_sigmoid(float a) {
  const float e = expf(-fabsf(a)), sum = 1 + e, low = 1 - sum + e, r = sn_reciprocal(sum), above = a < 0 ? e : 1.0f, q = above * r;
  return fmaf(fmaf(-q, low, fmaf(-q, sum, above)), r, q);
})";

/// Returns the text of a conversion of a narrow floating type, as in sinter/half.hpp.
std::string narrow_conversion(std::string_view name, DType t) {
  const FloatFormat f = float_format(t);
  const auto as_float = [](std::uint32_t bits) { return fmt::format("__int_as_float({:#x})", bits); };
  if (name == fmt::format("sn_from_{}", sinter::name(t)))
    return fmt::format(R"(float {0}({1} a) {{
  const unsigned int code = a & {2:#x}u, size = code << {3}, sign = (a & {4:#x}u) << {5};
  const unsigned int small = __float_as_int(__int_as_float(size + {6:#x}u) - {7});
  return __int_as_float((code >= {8:#x}u ? {9} : code < {10:#x}u ? small : size + {11:#x}u) | sign);
}})",
                       name, cpp_type(t), f.sign() - 1, f.shift(), f.sign(), 32 - f.bits(), f.normal_as_float(), as_float(f.normal_as_float()), f.overflow(),
                       f.finite_only ? "0x7fc00000u" : fmt::format("code == {:#x}u ? 0x7f800000u : 0x7fc00000u", f.overflow()), f.normal(), f.rebias());
  if (name == fmt::format("sn_to_{}", sinter::name(t)))
    return fmt::format(R"({1} {0}(float x) {{
  const unsigned int bits = __float_as_int(x), size = bits & 0x7fffffffu, sign = bits >> {2} & {3:#x}u;
  const unsigned int small = __float_as_int(__int_as_float(size) + {4}) - {5:#x}u;
  const unsigned int normal = (size + {6:#x}u + (size >> {7} & 1) - {8:#x}u) >> {7};
  return (size > 0x7f800000u ? {9:#x}u : size < {10:#x}u ? small : normal < {11:#x}u ? normal : {11:#x}u) | sign;
}})",
                       name, cpp_type(t), 32 - f.bits(), f.sign(), as_float(f.rounder()), f.rounder(), (1u << (f.shift() - 1)) - 1, f.shift(), f.rebias(),
                       f.nan(), f.normal_as_float(), f.overflow());
  return {};
}

std::string special_text(std::string_view name, DType t, bool fast_math) {
  const std::string_view T = cpp_type(t);
  if (name == "sn_sigmoid" && t == DType::float32) return std::string(kSigmoid);
  if (name == "sn_ndtr" && t == DType::float32) return std::string(kNormal);
  if (name == "sn_pow" && t == DType::float32 && !fast_math) return std::string(kPower);
  if (name == "sn_pow") return fmt::format("{0} sn_pow({0} a, {0} b) {{ return pow{1}(a, b); }}", T, suffix(t));
  for (const FloatFunction& f : kThroughDouble) {
    if (name != f.name) continue;
    const bool wide = t == DType::float32 && !fast_math, two = f.arity == 2;
    const std::string_view arguments = wide ? (two ? "(double)a, (double)b" : "(double)a") : (two ? "a, b" : "a");
    const std::string call = fmt::format("{}{}{}({})", wide ? "(float)" : "", f.base, wide ? "" : suffix(t), arguments);
    return fmt::format("{} {}({} a{}) {{ return {}; }}", T, name, T, two ? fmt::format(", {} b", T) : "", call);
  }
  if (name == "sn_digamma")
    return fmt::format(R"({0} sn_digamma({0} a) {{
  double x = a, rest = 0;
  if (x < 0.5) {{
    if (x == 0) return ({0})(-1 / x);
    if (x == floor(x)) return ({0})(x - x) / 0;
    const double beside = x - rint(x);
    rest = -3.141592653589793 / tan(3.141592653589793 * beside);
    x = 1 - x;
  }}
  for (; x < 10; x += 1) rest -= 1 / x;
  const double r = 1 / x, z = r * r;
  const double series = z * (1.0 / 12 - z * (1.0 / 120 - z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z / 12))))));
  return ({0})(rest + (log(x) - r / 2 - series));
}})",
                       T);
  // Compares with the largest finite number, because infinity needs a header or a bit cast.
  if (name == "sn_isinf") return fmt::format("bool sn_isinf({} a) {{ return fabs{}(a) > {}; }}", T, suffix(t), largest(t));
  if (name == "sn_isfinite") return fmt::format("bool sn_isfinite({} a) {{ return fabs{}(a) <= {}; }}", T, suffix(t), largest(t));
  // NaN and values out of range become the smallest integer, as in NumPy on x86.
  if (name == "sn_to_int")
    return fmt::format("int sn_to_int({0} a) {{ return trunc{1}(a) >= -0x1p+31{1} && a < 0x1p+31{1} ? (int)a : {2}; }}", T, suffix(t),
                       limit(DType::int32, false));
  if (name == "sn_to_long")
    return fmt::format("long long sn_to_long({0} a) {{ return a >= -0x1p+63{1} && a < 0x1p+63{1} ? (long long)a : {2}; }}", T, suffix(t),
                       limit(DType::int64, false));
  // For 2^63 and more, 2^63 is subtracted first, so that the rest fits a long long.
  if (name == "sn_to_ulong")
    return fmt::format(R"(unsigned long long sn_to_ulong({0} a) {{
  const bool high = a >= 0x1p+63{1};
  const {0} low = high ? a - 0x1p+63{1} : a;
  const long long whole = low >= -0x1p+63{1} && low < 0x1p+63{1} ? (long long)low : {2};
  return (unsigned long long)whole ^ (high ? 0x8000000000000000ull : 0ull);
}})",
                       T, suffix(t), limit(DType::int64, false));
  return {};
}

constexpr std::string_view kClusters =
    R"(__device__ __forceinline__ void sn_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void sn_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ __forceinline__ unsigned long long sn_of_block(const void* own, unsigned int rank) {
  unsigned long long there;
  asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(own), "r"(rank));
  return there;
}
)";

template <class List, class Item> void add_once(List& list, Item item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

std::string_view cpp_type(DType dtype) { return traits(dtype).cuda; }

void Helpers::use(std::string_view name, DType dtype) {
  const std::pair function(std::string(name), dtype);
  if (std::find(functions_.begin(), functions_.end(), function) != functions_.end()) return;
  functions_.push_back(function);
  use_all_in(function_text(name, dtype), dtype);  // adds the functions that it calls
}

std::string Helpers::function_text(std::string_view name, DType t) const {
  std::string text;
  if (const Instruction* found = instruction(name, t, sm_)) text = found->text;
  else text = special_text(name, t, fast_math_);
  if (text.empty())
    for (const Conversion& f : kConversions)
      if (f.name == name && f.dtype == t) text = f.text;
  if (text.empty())
    for (const Function& f : kFunctions)
      if (f.name == name && (f.accepts & trace::dtype_class(t))) text = instantiate(f.text, t);
  if (text.empty()) text = narrow_conversion(name, t);
  if (text.empty()) throw InternalError(fmt::format("no CUDA helper {} for {}", name, sinter::name(t)));
  return "__device__ __forceinline__ " + text + "\n";
}

void Helpers::use_all_in(const std::string& expression, DType dtype) {
  for (std::size_t at = expression.find("sn_"); at != std::string::npos; at = expression.find("sn_", at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(expression[at - 1])) || expression[at - 1] == '_')) continue;
    const std::size_t end = expression.find('(', at);
    if (end != std::string::npos) use(expression.substr(at, end - at), dtype);
  }
}

std::string Helpers::spell(Op op, DType operand, const std::string& a, const std::string& b, const std::string& c) {
  const trace::Primitive& row = trace::primitive(op);
  const std::string_view column = is_floating(operand) ? row.cuda_float : row.cuda_int;
  if (row.kind != trace::OpKind::elementwise || column.empty())
    throw InternalError(fmt::format("{} on {} has no CUDA spelling", row.name, sinter::name(operand)));
  use_all_in(std::string(column), operand);
  return fmt::format(fmt::runtime(column), a, b, c, fmt::arg("f", suffix(operand)), fmt::arg("T", cpp_type(operand)), fmt::arg("U", unsigned_twin(operand)));
}

std::string Helpers::cast(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  const auto call = [&](std::string_view function, DType dtype, const std::string& argument) {
    use(function, dtype);
    return fmt::format("{}({})", function, argument);
  };
  if (is_storage_only(from)) return call(fmt::format("sn_from_{}", name(from)), from, a);
  if (is_storage_only(to)) return call(fmt::format("sn_to_{}", name(to)), to, from == DType::float64 ? call("sn_round_to_odd", from, a) : a);
  if (is_bool(to)) return fmt::format("{} != 0", a);
  if (!is_floating(from) || !is_integer(to)) return fmt::format("({}){}", cpp_type(to), a);
  // Converts through int, or through long long for unsigned and wider types, and wraps around.
  if (to == DType::uint64) return call("sn_to_ulong", from, a);
  const bool narrow = itemsize(to) < 4 || to == DType::int32;
  const std::string whole = call(narrow ? "sn_to_int" : "sn_to_long", from, a);
  return to == DType::int32 || to == DType::int64 ? whole : fmt::format("({}){}", cpp_type(to), whole);
}

std::string Helpers::neutral(Op reduction, DType t) {
  switch (reduction) {
    case Op::reduce_sum: return is_bool(t) ? "false" : "0";
    case Op::reduce_prod: return is_bool(t) ? "true" : "1";
    case Op::reduce_min: return is_floating(t) ? std::string(infinity(t)) : is_bool(t) ? "true" : limit(t, true);
    default: return is_floating(t) ? fmt::format("-{}", infinity(t)) : is_bool(t) ? "false" : limit(t, false);
  }
}

std::string Helpers::vector_type(DType dtype, int width) {
  add_once(vectors_, std::pair(dtype, width));
  return fmt::format("sn_{}x{}", name(dtype), width);
}

std::string Helpers::rounded(DType dtype, const std::string& a) {
  const std::string function = fmt::format("sn_round_{}", name(dtype));
  if (!instruction(function, dtype, sm_)) return cast(dtype, DType::float32, cast(DType::float32, dtype, a));
  use(function, dtype);
  return fmt::format("{}({})", function, a);
}

std::string Helpers::widened(DType dtype, const std::string& vector, const std::string& lane) {
  if (dtype != DType::bfloat16) return cast(dtype, DType::float32, fmt::format("{}.at[{}]", vector, lane));
  use("sn_from_bfloat16_pair", dtype);
  return fmt::format("sn_from_bfloat16_pair({0}.pair[{1} / 2], {1} & 1)", vector, lane);
}

std::string Helpers::divisor_type(DType dtype) {
  add_once(divisors_, dtype);
  if (dtype == DType::float32) use("sn_reciprocal", dtype);
  return fmt::format("sn_divisor_{}", name(dtype));
}

// Divides by a prepared divisor b with reciprocal r: the quotient q = a r is corrected by its remainder, q + (a - b q) r. The result equals division, except
// for the last bit of results below the normal numbers (and 1.5 ULP where a is so small that its remainder is not exact: below 2^-100, or 2^-970). a and b are
// scaled so that r is neither 0, infinite nor below the normal numbers unless b is. They are not scaled further, because the remainder of a smaller a is less
// exact. b is made positive, so that a remainder of 0 keeps the sign of a 0. For infinities and NaNs q is right already.
std::string Helpers::divisor_text(DType t) const {
  const bool single = t == DType::float32;
  return fmt::format(
      R"(struct sn_divisor_{0} {{ {1} scale, value, reciprocal; }};
__device__ __forceinline__ sn_divisor_{0} sn_make_divisor({1} b) {{
  const {1} size = fabs{2}(b), scale = copysign{2}(size < {3} ? {4} : size > {7} ? {3} : 1, b), value = b * scale;
  {6}
}}
__device__ __forceinline__ {1} sn_divide({1} a, const sn_divisor_{0}& b) {{
  const {1} scaled = a * b.scale, quotient = scaled * b.reciprocal, beyond = fma{2}(b.value, quotient, -scaled);
  return fabs{2}(beyond) <= {5} ? fma{2}(-beyond, b.reciprocal, quotient) : quotient;
}}
)",
      name(t), cpp_type(t), suffix(t), single ? "0x1p-64f" : "0x1p-512", single ? "0x1p+64f" : "0x1p+512", largest(t),
      // A division would branch for special divisors; this does not, because the value is scaled.
      single ? "const float r = sn_reciprocal(value), missing = fmaf(-value, r, 1.0f);\n  return {scale, value, fabsf(missing) <= 1 ? fmaf(r, missing, r) : r};"
             : "return {scale, value, 1 / value};",
      single ? "0x1p+125f" : "0x1p+1021");
}

std::string Helpers::text() const {
  std::string out;
  auto vectors = vectors_;
  std::sort(vectors.begin(), vectors.end());
  for (auto [t, width] : vectors)
    out += fmt::format("struct __align__({}) sn_{}x{} {{ {} }};\n", std::min<std::size_t>(16, width * itemsize(t)), name(t), width,
                       t == DType::bfloat16 && width > 1 ? fmt::format("union {{ {} at[{}]; unsigned int pair[{}]; }};", cpp_type(t), width, width / 2)
                                                         : fmt::format("{} at[{}];", cpp_type(t), width));
  auto functions = functions_;
  std::sort(functions.begin(), functions.end());
  // Single instructions come first, because the other functions may call them.
  std::stable_partition(functions.begin(), functions.end(), [&](const auto& f) { return instruction(f.first, f.second, sm_) != nullptr; });
  for (const auto& [name, t] : functions) out += function_text(name, t);
  for (const DType t : divisors_) out += divisor_text(t);
  if (clusters_) out += kClusters;
  return out;
}

}  // namespace sinter::jit::cuda
