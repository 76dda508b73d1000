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

// @T is the operands' type, @U its unsigned twin, @f the suffix of CUDA's functions on that type.
struct Function {
  std::string_view name;
  int accepts;            // dtype classes this text serves
  std::string_view text;  // body and result: "@T name(@T a) { ... }"
};

// Integers wrap: their arithmetic is done in the unsigned twin. Division and remainder follow NumPy: by zero they
// give 0, and the remainder takes the divisor's sign. For bool, add is or and multiply is and, as in NumPy.
// Functions that go through double are those whose float version may be off by more than 2 ULP by the table of
// maximum errors in the CUDA C++ Programming Guide ("Mathematical Functions").
constexpr Function kFunctions[] = {
    {"sn_abs", I, "@T sn_abs(@T a) { return a < 0 ? (@T)(0 - (@U)a) : a; }"},
    {"sn_abs", B, "@T sn_abs(@T a) { return a; }"},
    // Of a negative x it is exp(x) / (1 + exp(x)): nothing overflows.
    {"sn_sigmoid", F, R"(@T sn_sigmoid(@T a) {
  const @T e = exp@f(-fabs@f(a));
  return (a < 0 ? e : (@T)1) / (1 + e);
})"},
    {"sn_sign", F, "@T sn_sign(@T a) { return a != a ? a : (@T)((a > 0) - (a < 0)); }"},
    {"sn_sign", I, "@T sn_sign(@T a) { return (@T)((a > 0) - (a < 0)); }"},
    {"sn_not", I, "@T sn_not(@T a) { return (@T)~a; }"},
    {"sn_not", B, "@T sn_not(@T a) { return !a; }"},
    {"sn_add", I, "@T sn_add(@T a, @T b) { return (@T)((@U)a + (@U)b); }"},
    {"sn_add", B, "@T sn_add(@T a, @T b) { return a || b; }"},
    {"sn_sub", I, "@T sn_sub(@T a, @T b) { return (@T)((@U)a - (@U)b); }"},
    {"sn_mul", I, "@T sn_mul(@T a, @T b) { return (@T)((@U)a * (@U)b); }"},
    {"sn_mul", B, "@T sn_mul(@T a, @T b) { return a && b; }"},
    // A NaN on either side is the result.
    {"sn_min", F, "@T sn_min(@T a, @T b) { return a < b || a != a ? a : b; }"},
    {"sn_min", I | B, "@T sn_min(@T a, @T b) { return a < b ? a : b; }"},
    {"sn_max", F, "@T sn_max(@T a, @T b) { return a > b || a != a ? a : b; }"},
    {"sn_max", I | B, "@T sn_max(@T a, @T b) { return a > b ? a : b; }"},
    // The quotient is rounded from (a - mod) / b, which is within rounding of an integer.
    {"sn_floor_divide", F, R"(@T sn_floor_divide(@T a, @T b) {
  if (b == 0) return a / b;
  const @T mod = fmod@f(a, b);
  @T quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return copysign@f((@T)0, a / b);
  const @T whole = floor@f(quotient);
  return quotient - whole > (@T)0.5 ? whole + 1 : whole;
})"},
    {"sn_floor_divide", I, R"(@T sn_floor_divide(@T a, @T b) {
  if (b == 0) return 0;
  if (b < 0 && b == (@T)-1) return (@T)(0 - (@U)a);
  const @T quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
})"},
    {"sn_remainder", F, R"(@T sn_remainder(@T a, @T b) {
  const @T mod = fmod@f(a, b);
  if (mod == 0) return copysign@f((@T)0, b);
  return (b < 0) != (mod < 0) ? mod + b : mod;
})"},
    {"sn_remainder", I, R"(@T sn_remainder(@T a, @T b) {
  if (b == 0 || (b < 0 && b == (@T)-1)) return 0;
  const @T mod = a % b;
  return mod != 0 && (mod < 0) != (b < 0) ? mod + b : mod;
})"},
    // A negative exponent truncates: 1 over the power, rounded to zero.
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
    // Of magnitudes; the least integer is its own.
    {"sn_gcd", I, R"(@T sn_gcd(@T x, @T y) {
  @U a = x < 0 ? (@U)(0 - (@U)x) : (@U)x, b = y < 0 ? (@U)(0 - (@U)y) : (@U)y;
  while (b != 0) {
    const @U rest = (@U)(a % b);
    a = b;
    b = rest;
  }
  return (@T)a;
})"},
    // A count that is negative or too large shifts everything out.
    {"sn_shl", I, "@T sn_shl(@T a, @T b) { return (@U)b < 8 * sizeof(@T) ? (@T)((@U)a << b) : (@T)0; }"},
    // trace/philox.hpp
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

// The 16-bit floating types, as in sinter/half.hpp. The float16 conversions are one instruction each.
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
    {"sn_to_bfloat16", DType::bfloat16, R"(unsigned short sn_to_bfloat16(float x) {
  const unsigned int bits = __float_as_int(x);
  return (x != x ? bits | 0x400000 : bits + 0x7fff + (bits >> 16 & 1)) >> 16;
})"},
    // A float that rounds to 16 bits as the double does.
    {"sn_round_to_odd", DType::float64, R"(float sn_round_to_odd(double a) {
  const float nearest = (float)a;
  if ((double)nearest == a || a != a) return nearest;
  return __int_as_float((__float_as_int(nearest) - (fabs((double)nearest) > fabs(a))) | 1);
})"},
};

struct FloatFunction {
  std::string_view name, base;
  int arity;
};
constexpr FloatFunction kThroughDouble[] = {
    {"sn_tan", "tan", 1},   {"sn_asin", "asin", 1}, {"sn_acos", "acos", 1},
    {"sn_sinh", "sinh", 1}, {"sn_pow", "pow", 2},   {"sn_atan2", "atan2", 2},
    {"sn_asinh", "asinh", 1}, {"sn_acosh", "acosh", 1}, {"sn_atanh", "atanh", 1},
    {"sn_erfc", "erfc", 1},   {"sn_lgamma", "lgamma", 1},
};

// Constants as bits or hex: no header gives them to a kernel.
std::string_view largest(DType t) { return t == DType::float32 ? "0x1.fffffep+127f" : "0x1.fffffffffffffp+1023"; }
std::string_view infinity(DType t) {
  return t == DType::float32 ? "__int_as_float(0x7f800000)" : "__longlong_as_double(0x7ff0000000000000LL)";
}
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
/// What integers wrap in; C++ computes those of fewer than 32 bits as int.
std::string_view unsigned_twin(DType t) { return itemsize(t) <= 4 ? "unsigned int" : "unsigned long long"; }

std::string instantiate(std::string_view text, DType t) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'T':
        out += cpp_type(t);
        break;
      case 'U':
        out += unsigned_twin(t);
        break;
      default:
        out += suffix(t);
        break;
    }
  }
  return out;
}

std::string special_text(std::string_view name, DType t, bool fast_math) {
  const std::string_view T = cpp_type(t);
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
  // The largest finite number is compared with: infinity needs a header or a bit cast.
  if (name == "sn_isinf") return fmt::format("bool sn_isinf({} a) {{ return fabs{}(a) > {}; }}", T, suffix(t), largest(t));
  if (name == "sn_isfinite") return fmt::format("bool sn_isfinite({} a) {{ return fabs{}(a) <= {}; }}", T, suffix(t), largest(t));
  // NaN and everything out of range become the smallest integer, as an x86 conversion gives NumPy.
  if (name == "sn_to_int")
    return fmt::format("int sn_to_int({0} a) {{ return trunc{1}(a) >= -0x1p+31{1} && a < 0x1p+31{1} ? (int)a : {2}; }}", T, suffix(t),
                       limit(DType::int32, false));
  if (name == "sn_to_long")
    return fmt::format("long long sn_to_long({0} a) {{ return a >= -0x1p+63{1} && a < 0x1p+63{1} ? (long long)a : {2}; }}", T, suffix(t),
                       limit(DType::int64, false));
  // 2^63 and more, less 2^63, is what fits a long long.
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

std::string function_text(std::string_view name, DType t, bool fast_math) {
  std::string text = special_text(name, t, fast_math);
  for (const Conversion& f : kConversions)
    if (f.name == name && f.dtype == t) text = f.text;
  for (const Function& f : kFunctions)
    if (f.name == name && (f.accepts & trace::dtype_class(t))) text = instantiate(f.text, t);
  if (text.empty()) throw InternalError(fmt::format("no CUDA helper {} for {}", name, sinter::name(t)));
  return "__device__ __forceinline__ " + text + "\n";
}

constexpr int kWarp = 32;

std::string warp_function(Op reduction, int lanes) {
  return fmt::format("sn_warp_{}{}", trace::name(reduction).substr(sizeof("reduce_") - 1), lanes == kWarp ? "" : fmt::format("_{}", lanes));
}

template <class List, class Item>
void add_once(List& list, Item item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

std::string_view cpp_type(DType dtype) { return traits(dtype).cuda; }

void Helpers::use(std::string_view name, DType dtype) { add_once(functions_, std::pair(std::string(name), dtype)); }

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
  return fmt::format(fmt::runtime(column), a, b, c, fmt::arg("f", suffix(operand)), fmt::arg("T", cpp_type(operand)),
                     fmt::arg("U", unsigned_twin(operand)));
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
  // Through int, or long long for unsigned and wider types, and wraps.
  if (to == DType::uint64) return call("sn_to_ulong", from, a);
  const bool narrow = itemsize(to) < 4 || to == DType::int32;
  const std::string whole = call(narrow ? "sn_to_int" : "sn_to_long", from, a);
  return to == DType::int32 || to == DType::int64 ? whole : fmt::format("({}){}", cpp_type(to), whole);
}

std::string Helpers::neutral(Op reduction, DType t) {
  switch (reduction) {
    case Op::reduce_sum:
      return is_bool(t) ? "false" : "0";
    case Op::reduce_prod:
      return is_bool(t) ? "true" : "1";
    case Op::reduce_min:
      return is_floating(t) ? std::string(infinity(t)) : is_bool(t) ? "true" : limit(t, true);
    default:
      return is_floating(t) ? fmt::format("-{}", infinity(t)) : is_bool(t) ? "false" : limit(t, false);
  }
}

std::string Helpers::warp_reduce(Op reduction, DType dtype, int lanes, const std::string& a) {
  add_once(reductions_, std::tuple(reduction, dtype, lanes));
  spell(trace::primitive(reduction).combine, dtype, "a", "b");  // asks for the helper that it calls
  return fmt::format("{}({})", warp_function(reduction, lanes), a);
}

std::string Helpers::vector_type(DType dtype, int width) {
  add_once(vectors_, std::pair(dtype, width));
  return fmt::format("sn_{}x{}", name(dtype), width);
}

std::string Helpers::text() const {
  std::string out;
  auto vectors = vectors_;
  std::sort(vectors.begin(), vectors.end());
  for (auto [t, width] : vectors)
    out += fmt::format("struct __align__({}) sn_{}x{} {{ {} at[{}]; }};\n", std::min<std::size_t>(16, width * itemsize(t)), name(t), width,
                       cpp_type(t), width);
  auto functions = functions_;
  std::sort(functions.begin(), functions.end());
  for (const auto& [name, t] : functions) out += function_text(name, t, fast_math_);
  auto reductions = reductions_;
  std::sort(reductions.begin(), reductions.end());
  Helpers spelling(fast_math_);
  for (auto [reduction, t, lanes] : reductions) {
    // The butterfly gives every lane the same tree; where equal values can differ in their bits (-0 and +0, NaNs) the first lane decides.
    const bool same_bits = !is_floating(t) || reduction == Op::reduce_sum || reduction == Op::reduce_prod;
    out += fmt::format(R"(__device__ __forceinline__ {0} {1}({0} a) {{
  for (int distance = {4}; distance > 0; distance >>= 1) {{
    const {0} b = __shfl_xor_sync(0xffffffffu, a, distance);
    a = {2};
  }}
  return {3};
}}
)",
                       cpp_type(t), warp_function(reduction, lanes), spelling.spell(trace::primitive(reduction).combine, t, "a", "b"),
                       same_bits ? "a" : lanes == kWarp ? "__shfl_sync(0xffffffffu, a, 0)" : fmt::format("__shfl_sync(0xffffffffu, a, threadIdx.x & {})", kWarp - lanes), lanes / 2);
  }
  return out;
}

}  // namespace sinter::jit::cuda
