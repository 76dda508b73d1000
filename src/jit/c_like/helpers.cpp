#include "jit/c_like/helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "sinter/errors.hpp"

namespace sinter::jit::c_like {
namespace {

using trace::Op;
using namespace trace::accepts;

// In a text, @T is the operands' type, @U its unsigned twin, @L the signed type of 64 bits, @n its least number, and @m the largest number of the operands'
// floating type. @f is the suffix of functions on that type, @x that of its literals, and @u that of unsigned literals of 64 bits. @a gives a float's bits as
// an int, and @b a float from such bits.
struct Function {
  std::string_view name;
  int accepts;            // dtype classes for which this text is used
  std::string_view text;  // body and result: "@T name(@T a) { ... }"
};

// Integers wrap around: their arithmetic is done in the unsigned twin. Division and remainder follow NumPy: by zero they give 0, and the remainder takes the
// divisor's sign. For bool, add is "or" and multiply is "and", as in NumPy.
constexpr Function kFunctions[] = {
    {"sn_abs", I, "@T sn_abs(@T a) { return a < 0 ? (@T)(0 - (@U)a) : a; }"},
    {"sn_abs", B, "@T sn_abs(@T a) { return a; }"},
    {"sn_sign", F, "@T sn_sign(@T a) { return a != a ? a : (@T)((a > 0) - (a < 0)); }"},
    {"sn_sign", I, "@T sn_sign(@T a) { return (@T)((a > 0) - (a < 0)); }"},
    {"sn_not", I, "@T sn_not(@T a) { return (@T)~a; }"},
    {"sn_not", B, "@T sn_not(@T a) { return !a; }"},
    // Counts of neighbouring bits, pairs and halves of bytes are added side by side; then a product adds all bytes in the highest byte. Compilers know the
    // pattern.
    {"sn_bitwise_count", I, R"(@T sn_bitwise_count(@T a) {
  @U v = (@U)a & ((@U)0 - 1) >> (8 * (sizeof(@U) - sizeof(@T)));
  v = v - ((v >> 1) & (@U)0x5555555555555555ul);
  v = (v & (@U)0x3333333333333333ul) + ((v >> 2) & (@U)0x3333333333333333ul);
  v = (v + (v >> 4)) & (@U)0x0f0f0f0f0f0f0f0ful;
  return (@T)((@U)(v * (@U)0x0101010101010101ul) >> (8 * sizeof(@U) - 8));
})"},
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
  unsigned @L c = (unsigned @L)counter, k = (unsigned @L)key;
  unsigned c0 = (unsigned)c, c1 = (unsigned)(c >> 32), c2 = 0, c3 = 0, k0 = (unsigned)k, k1 = (unsigned)(k >> 32);
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    unsigned @L p0 = (unsigned @L)c0 * 0xD2511F53u, p1 = (unsigned @L)c2 * 0xCD9E8D57u;
    c0 = (unsigned)(p1 >> 32) ^ c1 ^ k0;
    c1 = (unsigned)p1;
    c2 = (unsigned)(p0 >> 32) ^ c3 ^ k1;
    c3 = (unsigned)p0;
  }
  return (@T)((unsigned @L)c1 << 32 | c0);
})"},
    {"sn_shr", I, "@T sn_shr(@T a, @T b) { return (@U)b < 8 * sizeof(@T) ? (@T)(a >> b) : (@T)(a < 0 ? -1 : 0); }"},
    // These compare with the largest finite number, because infinity needs a header or a bit cast.
    {"sn_isinf", F, "bool sn_isinf(@T a) { return fabs@f(a) > @m; }"},
    {"sn_isfinite", F, "bool sn_isfinite(@T a) { return fabs@f(a) <= @m; }"},
    // NaN and values out of range become the smallest integer, as in NumPy on x86.
    {"sn_to_int", F, "int sn_to_int(@T a) { return trunc@f(a) >= -0x1p+31@x && a < 0x1p+31@x ? (int)a : (-2147483647 - 1); }"},
    {"sn_to_long", F, "@L sn_to_long(@T a) { return a >= -0x1p+63@x && a < 0x1p+63@x ? (@L)a : @n; }"},
    // For 2^63 and more, 2^63 is subtracted first, so that the rest fits 63 bits.
    {"sn_to_ulong", F, R"(unsigned @L sn_to_ulong(@T a) {
  const bool high = a >= 0x1p+63@x;
  const @T low = high ? a - 0x1p+63@x : a;
  const @L whole = low >= -0x1p+63@x && low < 0x1p+63@x ? (@L)low : @n;
  return (unsigned @L)whole ^ (high ? 0x8000000000000000@u : 0@u);
})"},
    // Converts a double to a float that rounds to the same 16-bit value as the double.
    {"sn_round_to_odd", F, R"(float sn_round_to_odd(double a) {
  const float nearest = (float)a;
  if ((double)nearest == a || a != a) return nearest;
  return @b((@a(nearest) - (fabs((double)nearest) > fabs(a))) | 1);
})"},
};

// Constants as bits or hex, because a kernel includes no header that defines them.
std::string_view largest(DType t) { return t == DType::float32 ? "0x1.fffffep+127f" : "0x1.fffffffffffffp+1023"; }
/// Returns the type in which integers wrap around. C computes those of fewer than 32 bits as int.
std::string unsigned_twin(DType t, const Dialect& dialect) { return itemsize(t) <= 4 ? "unsigned int" : fmt::format("unsigned {}", dialect.long_type); }

/// Returns the text of a conversion of a narrow floating type, as in sinter/half.hpp.
std::string narrow_conversion(std::string_view name, DType t) {
  const FloatFormat f = float_format(t);
  const auto as_float = [](std::uint32_t bits) { return fmt::format("@b({:#x})", bits); };
  if (name == fmt::format("sn_from_{}", sinter::name(t)))
    return fmt::format(R"(float {0}(@T a) {{
  const unsigned int code = a & {2:#x}u, size = code << {3}, sign = (a & {4:#x}u) << {5};
  const unsigned int small = @a(@b(size + {6:#x}u) - {7});
  return @b((code >= {8:#x}u ? {9} : code < {10:#x}u ? small : size + {11:#x}u) | sign);
}})",
                       name, "", f.sign() - 1, f.shift(), f.sign(), 32 - f.bits(), f.normal_as_float(), as_float(f.normal_as_float()), f.overflow(),
                       f.finite_only ? "0x7fc00000u" : fmt::format("code == {:#x}u ? 0x7f800000u : 0x7fc00000u", f.overflow()), f.normal(), f.rebias());
  if (name == fmt::format("sn_to_{}", sinter::name(t)))
    return fmt::format(R"(@T {0}(float x) {{
  const unsigned int bits = @a(x), size = bits & 0x7fffffffu, sign = bits >> {2} & {3:#x}u;
  const unsigned int small = @a(@b(size) + {4}) - {5:#x}u;
  const unsigned int normal = (size + {6:#x}u + (size >> {7} & 1) - {8:#x}u) >> {7};
  return (size > 0x7f800000u ? {9:#x}u : size < {10:#x}u ? small : normal < {11:#x}u ? normal : {11:#x}u) | sign;
}})",
                       name, "", 32 - f.bits(), f.sign(), as_float(f.rounder()), f.rounder(), (1u << (f.shift() - 1)) - 1, f.shift(), f.rebias(), f.nan(),
                       f.normal_as_float(), f.overflow());
  return {};
}

/// Calls visit(begin, end) for the name of each helper that a text calls.
template <class Visit> void each_helper(std::string_view text, Visit visit) {
  for (std::size_t at = text.find("sn_"); at != std::string::npos; at = text.find("sn_", at + 1)) {
    if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_')) continue;
    if (const std::size_t end = text.find('(', at); end != std::string::npos) visit(at, end);
  }
}

}  // namespace

std::string Helpers::integer(std::int64_t value) const {
  if (value == std::numeric_limits<std::int64_t>::min()) return fmt::format("(-9223372036854775807{} - 1)", dialect_.long_suffix);
  if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
  return fmt::format("{}{}", value, value == static_cast<std::int32_t>(value) ? "" : dialect_.long_suffix);
}

std::string Helpers::limit(DType t, bool largest) const {
  return visit_compute(t, [&]<class T>() {
    const T value = largest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::lowest();
    if constexpr (std::is_unsigned_v<T>) return fmt::format("{}{}", value, dialect_.unsigned_suffix);
    else return integer(static_cast<std::int64_t>(value));
  });
}

std::string Helpers::instantiate(std::string_view text, DType t) const {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      out += text[i];
      continue;
    }
    switch (text[++i]) {
      case 'T': out += type(t); break;
      case 'U': out += unsigned_twin(t, dialect_); break;
      case 'L': out += dialect_.long_type; break;
      case 'n': out += integer(std::numeric_limits<std::int64_t>::min()); break;
      case 'm': out += largest(t); break;
      case 'u': out += dialect_.unsigned_suffix; break;
      case 'a': out += dialect_.as_int; break;
      case 'b': out += dialect_.as_float; break;
      case 'x': out += t == DType::float32 ? "f" : ""; break;
      default: out += suffix(t); break;
    }
  }
  return out;
}

void Helpers::use(std::string_view name, DType dtype) {
  const std::pair function(std::string(name), dtype);
  if (std::find(functions_.begin(), functions_.end(), function) != functions_.end()) return;
  functions_.push_back(function);
  const std::string text = function_text(name, dtype);
  use_all_in(text.substr(text.find('{')), dtype);  // adds the functions that it calls
}

std::string Helpers::function_text(std::string_view name, DType t) const {
  std::string text = own_text(name, t);
  for (const Function& f : kFunctions)
    if (text.empty() && f.name == name && (f.accepts & trace::dtype_class(t))) text = f.text;
  if (text.empty()) text = narrow_conversion(name, t);
  if (text.empty()) throw InternalError(fmt::format("no {} helper {} for {}", dialect_.language, name, sinter::name(t)));
  return instantiate(text, t);
}

void Helpers::use_all_in(const std::string& expression, DType dtype) {
  each_helper(expression, [&](std::size_t at, std::size_t end) { use(expression.substr(at, end - at), dtype); });
}

std::string Helpers::named(const std::string& text, DType dtype) const {
  if (dialect_.overloads) return text;
  std::string out;
  std::size_t done = 0;
  each_helper(text, [&](std::size_t, std::size_t end) {
    out += text.substr(done, end - done);
    if (!out.ends_with(name(dtype))) out += fmt::format("_{}", name(dtype));
    done = end;
  });
  return out + text.substr(done);
}

std::string Helpers::spell(Op op, DType operand, const std::string& a, const std::string& b, const std::string& c) {
  const std::string column = this->column(op, operand);
  if (trace::primitive(op).kind != trace::OpKind::elementwise || column.empty())
    throw InternalError(fmt::format("{} on {} has no {} spelling", trace::name(op), sinter::name(operand), dialect_.language));
  use_all_in(column, operand);
  return fmt::format(fmt::runtime(named(column, operand)), a, b, c, fmt::arg("f", suffix(operand)), fmt::arg("T", type(operand)),
                     fmt::arg("U", unsigned_twin(operand, dialect_)));
}

std::string Helpers::column(Op op, DType operand) const {
  const trace::Primitive& row = trace::primitive(op);
  return std::string(is_floating(operand) ? row.cuda_float : row.cuda_int);
}

std::string Helpers::cast(DType from, DType to, const std::string& a) {
  if (from == to) return a;
  const auto call = [&](std::string_view function, DType dtype, const std::string& argument) {
    use(function, dtype);
    return named(fmt::format("{}(", function), dtype) + argument + ")";
  };
  if (is_storage_only(from)) return call(fmt::format("sn_from_{}", name(from)), from, a);
  if (is_storage_only(to)) return call(fmt::format("sn_to_{}", name(to)), to, from == DType::float64 ? call("sn_round_to_odd", from, a) : a);
  if (is_bool(to)) return fmt::format("{} != 0", a);
  if (!is_floating(from) || !is_integer(to)) return fmt::format("({}){}", type(to), a);
  // Converts through int, or through long long for unsigned and wider types, and wraps around.
  if (to == DType::uint64) return call("sn_to_ulong", from, a);
  const bool narrow = itemsize(to) < 4 || to == DType::int32;
  const std::string whole = call(narrow ? "sn_to_int" : "sn_to_long", from, a);
  return to == DType::int32 || to == DType::int64 ? whole : fmt::format("({}){}", type(to), whole);
}

std::string Helpers::infinity(DType t) const { return std::string(t == DType::float32 ? dialect_.infinity : dialect_.long_infinity); }

template <class List, class Item> static void add_once(List& list, Item item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

std::string Helpers::neutral(Op reduction, DType t) {
  switch (reduction) {
    case Op::reduce_sum: return is_bool(t) ? "false" : "0";
    case Op::reduce_prod: return is_bool(t) ? "true" : "1";
    case Op::reduce_min: return is_floating(t) ? infinity(t) : is_bool(t) ? "true" : limit(t, true);
    default: return is_floating(t) ? fmt::format("-{}", infinity(t)) : is_bool(t) ? "false" : limit(t, false);
  }
}

std::string Helpers::vector_type(DType dtype, int width) {
  add_once(vectors_, std::pair(dtype, width));
  return fmt::format("sn_{}x{}", name(dtype), width);
}

std::string Helpers::rounded(DType dtype, const std::string& a) { return cast(dtype, DType::float32, cast(DType::float32, dtype, a)); }

std::string Helpers::widened(DType dtype, const std::string& vector, const std::string& lane) {
  return cast(dtype, DType::float32, fmt::format("{}.at[{}]", vector, lane));
}

std::string Helpers::text() const {
  std::string out;
  auto vectors = vectors_;
  std::sort(vectors.begin(), vectors.end());
  for (const auto& [t, width] : vectors)
    out += vector_text(fmt::format("sn_{}x{}", name(t), width), std::min<std::size_t>(16, static_cast<std::size_t>(width) * itemsize(t)), t, width);
  auto functions = functions_;
  std::sort(functions.begin(), functions.end());
  std::stable_partition(functions.begin(), functions.end(), [&](const auto& f) { return comes_first(f.first, f.second); });
  for (const auto& [name, t] : functions) out += fmt::format("{}{}\n", dialect_.function, named(function_text(name, t), t));
  return out;
}

}  // namespace sinter::jit::c_like
