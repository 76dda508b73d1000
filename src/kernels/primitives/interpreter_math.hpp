// The `interpreter` column of trace/primitives.def writes its ops with these functions of numbers of type T, with NumPy's result for every value. bool has the
// values 0 and 1. Every function rounds like compiled kernels, so it gives the same bits. The transcendental functions are in interpreter_functions.hpp.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/philox.hpp"

namespace sinter::kernels::math {

/// The type in which integers wrap around. It has at least 32 bits, because C++ computes narrower types as int.
template <class T> using Unsigned = std::conditional_t<sizeof(T) < 4, std::uint32_t, std::make_unsigned_t<std::conditional_t<sizeof(T) < 4, int, T>>>;
template <class T> inline constexpr bool is_float = std::is_floating_point_v<T>;
template <class T> inline constexpr bool is_bool = std::is_same_v<T, bool>;

// ---- arithmetic: integers wrap around, so they are computed as unsigned; bool adds with or and multiplies with and

template <class T> T add(T x, T y) {
  if constexpr (is_float<T>) return x + y;
  else if constexpr (is_bool<T>) return x | y;
  else return static_cast<T>(static_cast<Unsigned<T>>(x) + static_cast<Unsigned<T>>(y));
}
template <class T> T subtract(T x, T y) {
  if constexpr (is_float<T>) return x - y;
  else return static_cast<T>(static_cast<Unsigned<T>>(x) - static_cast<Unsigned<T>>(y));
}
template <class T> T multiply(T x, T y) {
  if constexpr (is_float<T>) return x * y;
  else if constexpr (is_bool<T>) return x & y;
  else return static_cast<T>(static_cast<Unsigned<T>>(x) * static_cast<Unsigned<T>>(y));
}
template <class T> T negative(T x) {
  if constexpr (is_float<T>) return -x;
  else return subtract(T(0), x);
}
template <class T> T absolute(T x) {
  if constexpr (is_float<T>) return std::fabs(x);
  else if constexpr (is_bool<T>) return x;
  else return x < 0 ? negative(x) : x;
}
template <class T> T sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x == T(0) ? T(0) : x; }

// ---- minimum and maximum: a NaN operand gives NaN

template <class T> T minimum(T x, T y) { return x < y || x != x ? x : y; }
template <class T> T maximum(T x, T y) { return x > y || x != x ? x : y; }

// ---- division: floats like NumPy's npy_divmod; integers round down, and x//0 = x%0 = 0

template <class T> struct DivMod {
  T quotient, remainder;
};
template <class T> DivMod<T> float_divmod(T x, T y) {
  T mod = std::fmod(x, y);
  if (y == 0) return {x / y, mod};
  T div = (x - mod) / y;
  if (mod != 0) {
    if ((y < 0) != (mod < 0)) {
      mod += y;
      div -= 1;
    }
  } else {
    mod = std::copysign(T(0), y);
  }
  if (div == 0) return {std::copysign(T(0), x / y), mod};
  T floor = std::floor(div);
  if (div - floor > T(0.5)) floor += 1;
  return {floor, mod};
}
template <class T> DivMod<T> int_divmod(T x, T y) {
  if (y == 0) return {0, 0};
  if (std::is_signed_v<T> && y == T(-1)) return {negative(x), 0};  // the least value divided by -1 overflows to itself
  const T div = static_cast<T>(x / y), mod = static_cast<T>(x % y);
  if (mod != 0 && (mod < 0) != (y < 0)) return {static_cast<T>(div - 1), static_cast<T>(mod + y)};
  return {div, mod};
}
template <class T> DivMod<T> divmod(T x, T y) {
  if constexpr (is_float<T>) return float_divmod(x, y);
  else return int_divmod(x, y);
}
template <class T> T floor_divide(T x, T y) { return divmod(x, y).quotient; }
template <class T> T remainder(T x, T y) { return divmod(x, y).remainder; }

// ---- power of integers: wraps around; a negative exponent gives 0 unless the base is 1 or -1

template <class T> T power(T base, T exponent) {
  if (exponent < 0) return base == T(1) ? T(1) : base == T(-1) ? (exponent % 2 == 0 ? T(1) : T(-1)) : T(0);
  T result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 != 0) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

/// Euclid's algorithm on magnitudes. The least integer is its own magnitude.
template <class T> T gcd(T x, T y) {
  using U = std::make_unsigned_t<T>;
  U a = static_cast<U>(x < 0 ? negative(x) : x), b = static_cast<U>(y < 0 ? negative(y) : y);
  while (b != 0) {
    const U rest = static_cast<U>(a % b);
    a = b;
    b = rest;
  }
  return static_cast<T>(a);
}

// ---- bits: a shift by the width or more (or by a negative count) leaves only the sign

template <class T> T bit_not(T x) {
  if constexpr (is_bool<T>) return !x;
  else return static_cast<T>(~x);
}
template <class T> T bit_count(T x) { return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(x))); }
template <class T> constexpr bool shiftable(T count) { return static_cast<Unsigned<T>>(count) < sizeof(T) * 8; }
template <class T> T left_shift(T x, T y) { return shiftable(y) ? static_cast<T>(static_cast<Unsigned<T>>(x) << y) : T(0); }
template <class T> T right_shift(T x, T y) { return shiftable(y) ? static_cast<T>(x >> y) : static_cast<T>(x < 0 ? -1 : 0); }
template <class T> T philox(T x, T y) { return static_cast<T>(sinter::philox(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y), std::uint64_t{0})); }

// ---- conversion

/// Truncates. NaN and values that do not fit give the least value, as on x86.
template <class To, class From> To truncate(From x) {
  constexpr From limit = From(2) * static_cast<From>(To(1) << (sizeof(To) * 8 - 2));  // 2^31 or 2^63, exact
  const From whole = std::trunc(x);
  return whole >= -limit && whole < limit ? static_cast<To>(whole) : std::numeric_limits<To>::min();
}
/// Converts float to integer through int32, or through int64 for unsigned and wider types, and wraps around. uint64's upper half is shifted into int64.
template <class To, class From> To to_integer(From x) {
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, std::int32_t>) {
    return static_cast<To>(truncate<std::int32_t>(x));
  } else if constexpr (sizeof(To) == 4 || std::is_signed_v<To>) {
    return static_cast<To>(truncate<std::int64_t>(x));
  } else {
    constexpr From half = From(0x1p63);
    if (!(x >= half)) return static_cast<To>(truncate<std::int64_t>(x));
    return static_cast<To>(truncate<std::int64_t>(x - half)) ^ To(1) << 63;
  }
}
template <class To, class From> To convert(From x) {
  if constexpr (!std::is_arithmetic_v<From>) return convert<To>(static_cast<float>(x));
  else if constexpr (is_bool<To>) return x != From(0);
  else if constexpr (is_float<From> && std::is_integral_v<To>) return to_integer<To>(x);
  else return static_cast<To>(x);
}

}  // namespace sinter::kernels::math
