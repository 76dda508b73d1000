#include "numbers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "table/fault.hpp"

namespace sinter::tools {
namespace {

__extension__ typedef __int128 Int;  // represents all values of int64 and uint64, and their sums

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

/// Returns the number as a signed or an unsigned integer of 64 bits.
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

Value number_binary(std::string_view symbol, const Value& a, const Value& b, std::size_t offset) {
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

Value number_unary(std::string_view symbol, const Value& x, std::size_t offset) {
  if (const auto* f = x.as<double>()) {
    if (symbol == "~") throw Fault{offset, "~ takes integers, not floats"};
    return {symbol == "-" ? -*f : *f, offset};
  }
  const Int i = as_integer(x);
  // On bools ~ is "not", as in NumPy, because masks need it.
  if (symbol == "~") return x.as<bool>() ? Value{!*x.as<bool>(), offset} : fitting(symbol, ~i, offset);
  return fitting(symbol, symbol == "+" ? i : -i, offset);
}

}  // namespace sinter::tools
