#include "jit/opencl/functions.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jit/math/expression.hpp"
#include "jit/math/float32_math.hpp"
#include "jit/math/float64_math.hpp"

namespace sinter::jit::opencl {
namespace {

struct Value {
  std::string ref;
  DType dtype = DType::float32;
};

/// Writes a function's body, one line per operation. Integers wrap around: their arithmetic is done in the unsigned type.
class Writer {
 public:
  struct Processor {
    bool has_fma() const { return true; }
  };
  /// The name tells the tables of one function from those of others.
  explicit Writer(std::string function) : function_(std::move(function)) {}
  Processor module() const { return {}; }
  const std::string& text() const { return text_; }
  /// Returns the tables, which stand before the function.
  const std::string& constants() const { return constants_; }

  Value real(DType dtype, double value) const {
    const bool single = dtype == DType::float32;
    if (std::isnan(value)) return {single ? "NAN" : "as_double(0x7ff8000000000000L)", dtype};
    if (std::isinf(value)) return {fmt::format("{}{}", value < 0 ? "-" : "", single ? "INFINITY" : "as_double(0x7ff0000000000000L)"), dtype};
    const std::string digits = single ? fmt::format("{:a}f", static_cast<float>(value)) : fmt::format("{:a}", value);
    return {value < 0 ? fmt::format("({})", digits) : digits, dtype};
  }
  Value integer(DType dtype, std::int64_t value) const { return {fmt::format("{}{}", value, itemsize(dtype) == 8 ? "L" : ""), dtype}; }

  Value add(const Value& a, const Value& b) { return arithmetic("+", a, b); }
  Value sub(const Value& a, const Value& b) { return arithmetic("-", a, b); }
  Value mul(const Value& a, const Value& b) { return arithmetic("*", a, b); }
  Value div(const Value& a, const Value& b) { return emit(a.dtype, "{} / {}", a.ref, b.ref); }
  Value bit_and(const Value& a, const Value& b) { return emit(a.dtype, "{} & {}", a.ref, b.ref); }
  Value bit_or(const Value& a, const Value& b) { return emit(a.dtype, "{} | {}", a.ref, b.ref); }
  Value bit_xor(const Value& a, const Value& b) { return emit(a.dtype, "{} ^ {}", a.ref, b.ref); }
  Value lt(const Value& a, const Value& b) { return emit(DType::bool_, "{} < {}", a.ref, b.ref); }
  Value le(const Value& a, const Value& b) { return emit(DType::bool_, "{} <= {}", a.ref, b.ref); }
  Value eq(const Value& a, const Value& b) { return emit(DType::bool_, "{} == {}", a.ref, b.ref); }
  Value ne(const Value& a, const Value& b) { return emit(DType::bool_, "{} != {}", a.ref, b.ref); }
  Value isnan(const Value& a) { return emit(DType::bool_, "{0} != {0}", a.ref); }
  Value select(const Value& condition, const Value& a, const Value& b) { return emit(a.dtype, "{} ? {} : {}", condition.ref, a.ref, b.ref); }
  Value neg(const Value& a) { return is_floating(a.dtype) ? emit(a.dtype, "-{}", a.ref) : sub(integer(a.dtype, 0), a); }
  Value fma(const Value& a, const Value& b, const Value& c) { return emit(a.dtype, "fma({}, {}, {})", a.ref, b.ref, c.ref); }
  Value abs(const Value& a) { return emit(a.dtype, "fabs({})", a.ref); }
  Value sqrt(const Value& a) { return emit(a.dtype, "sqrt({})", a.ref); }
  Value trunc(const Value& a) { return emit(a.dtype, "trunc({})", a.ref); }
  Value copysign(const Value& a, const Value& b) { return emit(a.dtype, "copysign({}, {})", a.ref, b.ref); }
  Value cast(const Value& a, DType to) { return a.dtype == to ? a : emit(to, "({}){}", type_name(to), a.ref); }
  Value bitcast(const Value& a, DType to) { return emit(to, "as_{}({})", type_name(to), a.ref); }
  Value binary(std::string_view shift, const Value& a, const Value& by) {
    return shift == "shl" ? emit(a.dtype, "({})((u{}){} << {})", type_name(a.dtype), type_name(a.dtype), a.ref, by.ref)
                          : emit(a.dtype, "{} >> {}", a.ref, by.ref);
  }
  template <class T> Value lookup(const T (&table)[8], const Value& n) {
    const DType dtype = sizeof(T) == 4 ? DType::float32 : DType::float64;
    std::string numbers;
    for (const T number : table) numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", real(dtype, number).ref);
    const std::string name = fmt::format("{}_table_{}", function_, tables_++);
    constants_ += fmt::format("__constant {} {}[8] = {{{}}};\n", type_name(dtype), name, numbers);
    return emit(dtype, "{}[{} & 7]", name, n.ref);
  }
  static std::optional<Value> ldexp(const Value&, const Value&) { return {}; }
  static std::optional<Value> logarithm_limits(const Value&, const Value&) { return {}; }
  Value or_libm(const Value& fast, const Value& mask, const char* name, const std::vector<Value>& x) {
    return emit(fast.dtype, "{} ? ({}){}((double){}) : {}", mask.ref, type_name(fast.dtype), name, x[0].ref, fast.ref);
  }

 private:
  template <class... T> Value emit(DType dtype, fmt::format_string<T...> format, T&&... args) {
    Value value{fmt::format("t{}", count_++), dtype};
    text_ += fmt::format("  const {} {} = {};\n", is_bool(dtype) ? "int" : type_name(dtype), value.ref, fmt::format(format, std::forward<T>(args)...));
    return value;
  }
  Value arithmetic(const char* symbol, const Value& a, const Value& b) {
    if (is_floating(a.dtype)) return emit(a.dtype, "{} {} {}", a.ref, symbol, b.ref);
    return emit(a.dtype, "({0})((u{0}){1} {2} (u{0}){3})", type_name(a.dtype), a.ref, symbol, b.ref);
  }

  std::string function_, text_, constants_;
  int count_ = 0, tables_ = 0;
};

template <int arity, class F> Value applied(Writer& writer, F function, DType dtype) {
  const Expr<Writer, Value> a{&writer, {"a", dtype}}, b{&writer, {"b", dtype}};
  if constexpr (arity == 1) return function(a).v;
  else return function(a, b).v;
}

}  // namespace

std::string_view type_name(DType dtype) {
  if (dtype == DType::float32) return "float";
  if (dtype == DType::float64) return "double";
  const bool is_signed = is_integer(dtype) && !is_unsigned(dtype);
  switch (itemsize(dtype)) {
    case 1: return is_signed ? "char" : "uchar";
    case 2: return is_signed ? "short" : "ushort";
    case 4: return is_signed ? "int" : "uint";
    default: return is_signed ? "long" : "ulong";
  }
}

std::string function_text(std::string_view helper, DType dtype) {
  if (helper == "sn_rsqrt") return "@T sn_rsqrt(@T a) { return 1 / sqrt(a); }";
  const std::string_view name = helper == "sn_pow" ? "power" : helper.substr(3);
  Writer writer(fmt::format("{}_{}", name, sinter::name(dtype)));
  int operands = 0;
  Value result;
#define SINTER_FUNCTION(id, arity, ...)                                                                                             \
  if (name == #id) {                                                                                                                \
    operands = arity;                                                                                                               \
    result = dtype == DType::float32 ? applied<arity>(                                                                              \
                                           writer, [](const auto&... v) { return float32_math::id##_32(v...); }, dtype)             \
                                     : applied<arity>(writer, [](const auto&... v) { return float64_math::id##_64(v...); }, dtype); \
  }
  SINTER_FUNCTION(power, 2)
#include "trace/primitives.def"
  if (operands == 0) return {};
  return fmt::format("{}@T {}(@T a{}) {{\n{}  return {};\n}}", writer.constants(), helper, operands == 2 ? ", @T b" : "", writer.text(), result.ref);
}

}  // namespace sinter::jit::opencl
