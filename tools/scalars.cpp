#include "scalars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "lexer.hpp"
#include "sinter/whole.hpp"

namespace sinter::tools {
namespace {

__extension__ typedef __int128 Int;  // holds what int64 and uint64 do, and their sums

double as_double(const Value& value) {
  if (const auto* f = value.as<double>()) return *f;
  if (const auto* i = value.as<std::int64_t>()) return static_cast<double>(*i);
  if (const auto* large = value.as<std::uint64_t>()) return static_cast<double>(*large);
  return *value.as<bool>();
}
Int as_integer(const Value& value) {
  if (const auto* i = value.as<std::int64_t>()) return *i;
  if (const auto* large = value.as<std::uint64_t>()) return *large;
  return *value.as<bool>();
}

[[noreturn]] void overflow(std::string_view symbol, std::size_t offset) {
  throw Fault{offset, fmt::format("the integer result of {} does not fit in 64 bits; make one side a float", symbol)};
}
[[noreturn]] void zero_division(std::string_view symbol, std::size_t offset) {
  throw Fault{offset, fmt::format("{} by zero; divide a tensor where NumPy's inf and nan are wanted", symbol)};
}

double floor_divide(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  return quotient == 0 ? std::copysign(0.0, a / b) : std::floor(quotient) + (quotient - std::floor(quotient) > 0.5);
}
double remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// An integer of 64 bits, with a sign or without one.
Value fitting(std::string_view symbol, Int result, std::size_t offset) {
  if (result < std::numeric_limits<std::int64_t>::min() || result > std::numeric_limits<std::uint64_t>::max()) overflow(symbol, offset);
  if (result > std::numeric_limits<std::int64_t>::max()) return {static_cast<std::uint64_t>(result), offset};
  return {static_cast<std::int64_t>(result), offset};
}

Int integer_power(Int base, Int exponent, std::size_t offset) {
  Int result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) overflow("**", offset);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) overflow("**", offset);
  }
  return result;
}

Value integer_binary(std::string_view symbol, Int a, Int b, std::size_t offset) {
  Int result = 0;
  if (symbol == "+") return fitting(symbol, a + b, offset);
  if (symbol == "-") return fitting(symbol, a - b, offset);
  if (symbol == "*") {
    if (__builtin_mul_overflow(a, b, &result)) overflow(symbol, offset);
    return fitting(symbol, result, offset);
  }
  if (symbol == "//" || symbol == "%") {
    if (b == 0) zero_division(symbol, offset);
    const bool down = a % b != 0 && (a % b < 0) != (b < 0);
    return fitting(symbol, symbol == "//" ? a / b - down : a % b + (down ? b : 0), offset);
  }
  if (symbol == "<<" || symbol == ">>") {
    if (b < 0) throw Fault{offset, "negative shift count"};
    if (symbol == ">>") return fitting(symbol, a >> (b > 64 ? 64 : b), offset);
    if (a == 0) return {std::int64_t{0}, offset};
    if (b > 63) overflow(symbol, offset);
    return fitting(symbol, a * (Int{1} << b), offset);
  }
  if (symbol == "&") return fitting(symbol, a & b, offset);
  if (symbol == "|") return fitting(symbol, a | b, offset);
  return fitting(symbol, a ^ b, offset);
}

Value power(const Value& a, const Value& b, std::size_t offset) {
  if (!a.as<double>() && !b.as<double>() && as_integer(b) >= 0) return fitting("**", integer_power(as_integer(a), as_integer(b), offset), offset);
  const double base = as_double(a), exponent = as_double(b);
  if (base == 0 && exponent < 0) throw Fault{offset, "0 cannot be raised to a negative power"};
  if (base < 0 && std::isfinite(exponent) && exponent != std::floor(exponent))
    throw Fault{offset, "a negative number to a fractional power is complex, which is not supported"};
  return {std::pow(base, exponent), offset};
}

Value compare(std::string_view symbol, const auto& a, const auto& b, std::size_t offset) {
  const bool result = symbol == "==" ? a == b : symbol == "!=" ? a != b : symbol == "<" ? a < b : symbol == "<=" ? a <= b : symbol == ">" ? a > b : a >= b;
  return {result, offset};
}

}  // namespace

Value scalar_binary(std::string_view symbol, const Value& a, const Value& b, std::size_t offset) {
  const bool floating = a.as<double>() || b.as<double>();
  if (symbol == "==" || symbol == "!=" || symbol == "<" || symbol == "<=" || symbol == ">" || symbol == ">=")
    return floating ? compare(symbol, as_double(a), as_double(b), offset) : compare(symbol, as_integer(a), as_integer(b), offset);
  if (symbol == "@") throw Fault{offset, "@ multiplies matrices, not numbers; use *"};
  if (symbol == "**") return power(a, b, offset);
  if (symbol == "/") {
    if (as_double(b) == 0) zero_division("division", offset);
    return {as_double(a) / as_double(b), offset};
  }
  const bool bits = symbol == "&" || symbol == "|" || symbol == "^";
  if (bits && a.as<bool>() && b.as<bool>()) {
    const bool x = *a.as<bool>(), y = *b.as<bool>();
    return {symbol == "&" ? (x && y) : symbol == "|" ? (x || y) : x != y, offset};
  }
  if (!floating) return integer_binary(symbol, as_integer(a), as_integer(b), offset);
  const double x = as_double(a), y = as_double(b);
  if (symbol == "+") return {x + y, offset};
  if (symbol == "-") return {x - y, offset};
  if (symbol == "*") return {x * y, offset};
  if (symbol == "//" || symbol == "%") {
    if (y == 0) zero_division(symbol, offset);
    return {symbol == "//" ? floor_divide(x, y) : remainder(x, y), offset};
  }
  throw Fault{offset, fmt::format("{} takes integers, not floats", symbol)};
}

Value scalar_unary(std::string_view symbol, const Value& x, std::size_t offset) {
  if (const auto* f = x.as<double>()) {
    if (symbol == "~") throw Fault{offset, "~ takes integers, not floats"};
    return {symbol == "-" ? -*f : *f, offset};
  }
  const Int i = as_integer(x);
  // NumPy's meaning of ~ on truth values, which is what masks want.
  if (symbol == "~") return x.as<bool>() ? Value{!*x.as<bool>(), offset} : fitting(symbol, ~i, offset);
  return fitting(symbol, symbol == "+" ? i : -i, offset);
}

Value scalar_function(std::string_view name, const std::vector<Value>& arguments, std::size_t offset) {
  struct OfOne {
    std::string_view name;
    double (*function)(double);
  };
  static constexpr OfOne ones[] = {
      {"acos", std::acos},    {"acosh", std::acosh},   {"asin", std::asin},   {"asinh", std::asinh}, {"atan", std::atan},
      {"atanh", std::atanh},  {"cbrt", std::cbrt},     {"cos", std::cos},     {"cosh", std::cosh},   {"erf", std::erf},
      {"erfc", std::erfc},    {"exp", std::exp},       {"exp2", std::exp2},   {"expm1", std::expm1}, {"fabs", std::fabs},
      {"gamma", std::tgamma}, {"lgamma", std::lgamma}, {"log10", std::log10}, {"log1p", std::log1p}, {"log2", std::log2},
      {"sin", std::sin},      {"sinh", std::sinh},     {"sqrt", std::sqrt},   {"tan", std::tan},     {"tanh", std::tanh},
  };
  for (const Value& value : arguments)
    if (!value.is_number()) throw Fault{value.offset, fmt::format("math.{}() takes numbers; np.{}() takes tensors", name, name)};
  const auto x = [&](std::size_t k) { return as_double(arguments[k]); };
  const auto finite = [&](double result) -> Value {  // Python's ValueError
    if (std::isnan(result) && std::none_of(arguments.begin(), arguments.end(), [](const Value& value) { return std::isnan(as_double(value)); }))
      throw Fault{offset, fmt::format("math.{}() has no value there", name)};
    return {result, offset};
  };
  const auto whole = [&](double result) -> Value {
    if (const auto integer = detail::whole(result)) return {*integer, offset};
    throw Fault{offset, fmt::format("math.{}(): {} is no integer of 64 bits", name, result)};
  };
  const std::size_t count = arguments.size();
  if (count == 1) {
    for (const OfOne& row : ones)
      if (row.name == name) return finite(row.function(x(0)));
    if (name == "log") {
      if (!(x(0) > 0) && !std::isnan(x(0))) throw Fault{offset, "math.log() takes positive numbers"};
      return {std::log(x(0)), offset};
    }
    if (name == "degrees") return {x(0) * 180 / std::numbers::pi, offset};
    if (name == "radians") return {x(0) * std::numbers::pi / 180, offset};
    if (name == "isnan") return {std::isnan(x(0)), offset};
    if (name == "isinf") return {std::isinf(x(0)), offset};
    if (name == "isfinite") return {std::isfinite(x(0)), offset};
    const bool integer = !arguments[0].as<double>();
    if (name == "floor" || name == "ceil" || name == "trunc")
      return integer ? Value{arguments[0].is, offset} : whole(name == "floor" ? std::floor(x(0)) : name == "ceil" ? std::ceil(x(0)) : std::trunc(x(0)));
    if (name == "factorial" && integer && x(0) >= 0 && x(0) <= 20) {
      std::int64_t product = 1;
      for (std::int64_t k = 2; static_cast<double>(k) <= x(0); ++k) product *= k;
      return {product, offset};
    }
  }
  if (count == 2) {
    const auto *a = arguments[0].as<std::int64_t>(), *b = arguments[1].as<std::int64_t>();
    if (name == "log") return finite(std::log(x(0)) / std::log(x(1)));
    if (name == "atan2") return {std::atan2(x(0), x(1)), offset};
    if (name == "hypot") return {std::hypot(x(0), x(1)), offset};
    if (name == "pow") return finite(std::pow(x(0), x(1)));
    if (name == "fmod") return finite(std::fmod(x(0), x(1)));
    if (name == "copysign") return {std::copysign(x(0), x(1)), offset};
    if (name == "gcd" && a && b) return {std::gcd(*a, *b), offset};
    if (name == "comb" && a && b && *a >= 0 && *b >= 0) {
      if (*b > *a) return {std::int64_t{0}, offset};
      const std::int64_t chosen = std::min(*b, *a - *b);  // few, or the result is large soon
      Int result = 1;
      for (std::int64_t k = 1; k <= chosen; ++k) {
        if (__builtin_mul_overflow(result, Int{*a - chosen + k}, &result)) overflow("math.comb()", offset);
        result /= k;
      }
      return fitting("math.comb()", result, offset);
    }
  }
  throw Fault{offset, fmt::format("math.{}() of {} number{} is not known here", name, count, count == 1 ? "" : "s")};
}

}  // namespace sinter::tools
