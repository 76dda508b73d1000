// The result of each elementwise primitive, element by element, in plain C++, for CUDA's kernels. (The CPU's two executors are compared with NumPy and with
// each other.)
#pragma once
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>

#include "philox_reference.hpp"
#include "sinter/errors.hpp"
#include "special_functions.hpp"
#include "trace/primitives.hpp"

namespace sinter::testing {

using trace::Op;

template <class T> T numpy_remainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (mod != 0) {
    if ((b < 0) != (mod < 0)) mod += b;
    return mod;
  }
  return std::copysign(T(0), b);
}

template <class T> T numpy_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  T mod = std::fmod(a, b), quotient = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(T(0), a / b);
  const T below = std::floor(quotient);
  return quotient - below > T(0.5) ? below + 1 : below;
}

template <class T> T wrap(std::uint64_t value) { return static_cast<T>(value); }

template <class T> T integer_reference(Op op, T a, T b) {
  using U = std::uint64_t;
  const U x = static_cast<U>(a), y = static_cast<U>(b);
  constexpr U bits = sizeof(T) * 8;
  const bool overflows = std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == T(-1);
  switch (op) {
    case Op::negative: return wrap<T>(U(0) - x);
    case Op::absolute: return a < 0 ? wrap<T>(U(0) - x) : a;
    case Op::sign: return T((a > 0) - (a < 0));
    case Op::bitwise_not: return T(~a);
    case Op::bitwise_count: return T(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
    case Op::add: return wrap<T>(x + y);
    case Op::subtract: return wrap<T>(x - y);
    case Op::multiply: return wrap<T>(x * y);
    case Op::floor_divide: return b == 0 ? 0 : overflows ? a : T(a / b - ((a % b != 0) && ((a < 0) != (b < 0))));
    case Op::remainder: return b == 0 || overflows ? 0 : T(a % b + ((a % b != 0 && ((a < 0) != (b < 0))) ? b : 0));
    case Op::power: {
      if (b < 0) return a == 1 ? T(1) : a == T(-1) ? T(b % 2 ? -1 : 1) : T(0);
      U result = 1, base = x;
      for (U e = y; e; e >>= 1, base *= base)
        if (e & 1) result *= base;
      return wrap<T>(result);
    }
    case Op::minimum: return std::min(a, b);
    case Op::maximum: return std::max(a, b);
    case Op::gcd: {
      const auto magnitude = [](T v) { return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v); };
      return static_cast<T>(std::gcd(magnitude(a), magnitude(b)));
    }
    case Op::bitwise_and: return a & b;
    case Op::bitwise_or: return a | b;
    case Op::bitwise_xor: return a ^ b;
    case Op::left_shift: return y < bits ? wrap<T>(x << y) : 0;
    case Op::philox: return wrap<T>(philox_reference(x, y));
    case Op::right_shift: return y < bits ? T(a >> b) : T(a < 0 ? -1 : 0);
    default: throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

inline bool bool_reference(Op op, bool a, bool b) {
  switch (op) {
    case Op::absolute: return a;
    case Op::bitwise_not: return !a;
    case Op::add:
    case Op::maximum:
    case Op::bitwise_or: return a || b;
    case Op::multiply:
    case Op::minimum:
    case Op::bitwise_and: return a && b;
    case Op::bitwise_xor: return a != b;
    default: throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

/// Computes in T for the exact operations, in the next wider type for functions.
template <class T> using Wide = std::conditional_t<std::is_same_v<T, double>, long double, double>;
template <class T> Wide<T> float_reference(Op op, T a, T b) {
  const Wide<T> x = a, y = b;
  if (const auto known = function_reference(op, x)) return *known;
  switch (op) {
    case Op::negative: return -a;
    case Op::absolute: return std::fabs(a);
    case Op::sign: return std::isnan(a) ? a : T((a > 0) - (a < 0));
    case Op::floor: return std::floor(a);
    case Op::ceil: return std::ceil(a);
    case Op::rint: return std::nearbyint(a);
    case Op::trunc: return std::trunc(a);
    case Op::sqrt: return std::sqrt(a);
    case Op::rsqrt: return T(1) / std::sqrt(a);
    case Op::copysign: return std::copysign(a, b);
    case Op::product_rest: return std::fma(a, b, -(a * b));
    case Op::nextafter: return std::nextafter(a, b);
    case Op::ldexp: return std::isnan(b) ? b : std::ldexp(a, static_cast<int>(std::min(std::max(b, T(-2200)), T(2200))));
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::divide: return a / b;
    case Op::floor_divide: return numpy_floor_divide(a, b);
    case Op::remainder: return numpy_remainder(a, b);
    case Op::power: return std::pow(x, y);
    case Op::minimum: return std::isnan(a) ? a : std::isnan(b) ? b : b < a ? b : a;
    case Op::maximum: return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? b : a;
    case Op::atan2: return std::atan2(x, y);
    case Op::hypot: return std::hypot(x, y);
    default: throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

template <class T> bool truth_reference(Op op, T a, T b) {
  switch (op) {
    case Op::isnan: return std::isnan(double(a));
    case Op::isinf: return std::isinf(double(a));
    case Op::isfinite: return std::isfinite(double(a));
    case Op::equal: return a == b;
    case Op::not_equal: return a != b;
    case Op::less: return a < b;
    case Op::less_equal: return a <= b;
    default: throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

/// Returns whether the op need not be exact in T.
inline bool is_function(Op op) { return trace::primitive(op).cost >= 12 || op == Op::power; }

/// Returns whether `got` is the value itself, or for functions a value within 2 ULP.
template <class T> bool agrees(Op op, T x, T got, Wide<T> expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(expected)) return std::isnan(got);
  const bool either_zero = (op == Op::minimum || op == Op::maximum) && got == 0 && rounded == 0;  // IEEE leaves the sign open
  if (got == rounded) return got != 0 || either_zero || std::signbit(got) == std::signbit(rounded);
  if (!is_function(op)) return false;
  // Near their zeros these functions have an absolute bound.
  if ((op == Op::lgamma || op == Op::digamma) && std::fabs(got - expected) <= 2 * std::numeric_limits<T>::epsilon() * size_of_terms<Wide<T>>(op, x, expected))
    return true;
  T low = rounded, high = rounded;
  for (int k = 0; k < 2; ++k) low = std::nextafter(low, -INFINITY), high = std::nextafter(high, INFINITY);
  return low <= got && got <= high;
}

/// Returns whether op of a and b is `got`, which is a bool if the row says so.
template <class T, class R> bool is_right(Op op, T a, T b, R got) {
  if (trace::primitive(op).result == trace::Result::boolean) return static_cast<bool>(got) == truth_reference(op, a, b);
  if constexpr (std::is_same_v<T, bool>) return static_cast<bool>(got) == bool_reference(op, a, b);
  else if constexpr (std::is_floating_point_v<T>) return agrees<T>(op, a, static_cast<T>(got), float_reference(op, a, b));
  else return static_cast<T>(got) == integer_reference(op, a, b);
}

}  // namespace sinter::testing
