#include "jit/cuda/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::jit::cuda {
namespace {

constexpr c_like::Dialect kDialect = {"CUDA",
                                      "__device__ __forceinline__ ",
                                      true,
                                      true,
                                      "long long",
                                      "LL",
                                      "ull",
                                      "__float_as_int",
                                      "__int_as_float",
                                      "__int_as_float(0x7f800000)",
                                      "__longlong_as_double(0x7ff0000000000000LL)"};

// A helper for one dtype that is a single instruction from some architecture on. These helpers are preferred to the general ones.
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
};

// Computes a^b as 2^(b log2 |a|). The logarithm is a whole number plus the logarithm of f + 1, which is between the roots of 1/2 and 2, by the series in s =
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
// Functions are computed in double where the float version may be off by more than 2 ULP according to the table of maximum errors in the CUDA C++ Programming
// Guide
// ("Mathematical Functions").
constexpr FloatFunction kThroughDouble[] = {
    {"sn_tan", "tan", 1},     {"sn_asin", "asin", 1},   {"sn_acos", "acos", 1},   {"sn_sinh", "sinh", 1}, {"sn_atan2", "atan2", 2},
    {"sn_asinh", "asinh", 1}, {"sn_acosh", "acosh", 1}, {"sn_atanh", "atanh", 1}, {"sn_erfc", "erfc", 1}, {"sn_lgamma", "lgamma", 1},
};

// The divisor is between 1 and 2. The quotient by its reciprocal is corrected for its own error and the sum's rounding, so no branch is needed.
constexpr std::string_view kSigmoid = R"(float sn_sigmoid(float a) {
  const float e = expf(-fabsf(a)), sum = 1 + e, low = 1 - sum + e, r = sn_reciprocal(sum), above = a < 0 ? e : 1.0f, q = above * r;
  return fmaf(fmaf(-q, low, fmaf(-q, sum, above)), r, q);
})";
// For a negative x it computes exp(x) / (1 + exp(x)), so that nothing overflows.
constexpr std::string_view kSigmoid64 = R"(double sn_sigmoid(double a) {
  const double e = exp(-fabs(a));
  return (a < 0 ? e : (double)1) / (1 + e);
})";

std::string function_of(std::string_view name, DType t, bool fast_math) {
  const std::string_view T = traits(t).cuda;
  const std::string_view suffix = t == DType::float32 ? "f" : "";
  if (name == "sn_sigmoid") return std::string(t == DType::float32 ? kSigmoid : kSigmoid64);
  if (name == "sn_ndtr") return t == DType::float32 ? std::string(kNormal) : "double sn_ndtr(double a) { return normcdf(a); }";
  if (name == "sn_pow" && t == DType::float32 && !fast_math) return std::string(kPower);
  if (name == "sn_pow") return fmt::format("{0} sn_pow({0} a, {0} b) {{ return pow{1}(a, b); }}", T, suffix);
  for (const FloatFunction& f : kThroughDouble) {
    if (name != f.name) continue;
    const bool wide = t == DType::float32 && !fast_math, two = f.arity == 2;
    const std::string_view arguments = wide ? (two ? "(double)a, (double)b" : "(double)a") : (two ? "a, b" : "a");
    const std::string call = fmt::format("{}{}{}({})", wide ? "(float)" : "", f.base, wide ? "" : suffix, arguments);
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

}  // namespace

Helpers::Helpers(bool fast_math, int sm) : c_like::Helpers(kDialect), fast_math_(fast_math), sm_(sm) {}

std::string_view Helpers::type(DType dtype) const { return traits(dtype).cuda; }

bool Helpers::comes_first(const std::string& name, DType t) const { return instruction(name, t, sm_) != nullptr; }

std::string Helpers::own_text(std::string_view name, DType t) const {
  if (const Instruction* found = instruction(name, t, sm_)) return std::string(found->text);
  for (const Conversion& f : kConversions)
    if (f.name == name && f.dtype == t) return std::string(f.text);
  return function_of(name, t, fast_math_);
}

std::string Helpers::vector_text(const std::string& name, std::size_t bytes, DType t, int width) const {
  return fmt::format("struct __align__({}) {} {{ {} }};\n", bytes, name,
                     t == DType::bfloat16 && width > 1 ? fmt::format("union {{ {} at[{}]; unsigned int pair[{}]; }};", type(t), width, width / 2)
                                                       : fmt::format("{} at[{}];", type(t), width));
}

std::string Helpers::rounded(DType dtype, const std::string& a) {
  const std::string function = fmt::format("sn_round_{}", name(dtype));
  if (!instruction(function, dtype, sm_)) return c_like::Helpers::rounded(dtype, a);
  use(function, dtype);
  return fmt::format("{}({})", function, a);
}  // namespace

std::string Helpers::widened(DType dtype, const std::string& vector, const std::string& lane) {
  if (dtype != DType::bfloat16) return c_like::Helpers::widened(dtype, vector, lane);
  use("sn_from_bfloat16_pair", dtype);
  return fmt::format("sn_from_bfloat16_pair({0}.pair[{1} / 2], {1} & 1)", vector, lane);
}

std::string Helpers::divisor_type(DType dtype) {
  if (std::find(divisors_.begin(), divisors_.end(), dtype) == divisors_.end()) divisors_.push_back(dtype);
  if (dtype == DType::float32) use("sn_reciprocal", dtype);
  return fmt::format("sn_divisor_{}", name(dtype));
}

// Divides by a prepared divisor b with reciprocal r: the quotient q = a r is corrected by its remainder, q + (a - b q) r. The result equals division, except
// for the last bit of results below the normal numbers (and 1.5 ULP if a is so small that its remainder is not exact: below 2^-100, or 2^-970). a and b are
// scaled so that r is neither 0, infinite nor below the normal numbers unless b is. They are not scaled further, because the remainder of a smaller a is less
// exact. b is made positive, so that a remainder of 0 keeps the sign of a 0. For infinities and NaNs q is already right.
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
      name(t), type(t), suffix(t), single ? "0x1p-64f" : "0x1p-512", single ? "0x1p+64f" : "0x1p+512", single ? "0x1.fffffep+127f" : "0x1.fffffffffffffp+1023",
      // A division would branch for special divisors; this does not, because the value is scaled.
      single ? "const float r = sn_reciprocal(value), missing = fmaf(-value, r, 1.0f);\n  return {scale, value, fabsf(missing) <= 1 ? fmaf(r, missing, r) : r};"
             : "return {scale, value, 1 / value};",
      single ? "0x1p+125f" : "0x1p+1021");
}

std::string Helpers::text() const {
  std::string out = c_like::Helpers::text();
  for (const DType t : divisors_) out += divisor_text(t);
  if (clusters_) out += kClusters;
  return out;
}

}  // namespace sinter::jit::cuda
