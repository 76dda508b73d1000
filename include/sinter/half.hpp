// Floating types of 8 and 16 bits as C++ values. They are for storage: arithmetic on them happens in float.
#pragma once
#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sinter {

/// The layout of a narrow floating type: a sign, an exponent and a fraction, as in IEEE 754. A finite-only type has no infinities: most of the codes that stand
/// for infinities and NaN in other types are numbers. Its only NaN is the code of all ones, and numbers beyond its range become NaN.
struct FloatFormat {
  int exponent = 0, fraction = 0;  ///< bits
  bool finite_only = false;

  // Constants of the conversions, in C++ here and in the code generated for CPUs and GPUs. Codes exclude the sign.
  constexpr int bits() const { return 1 + exponent + fraction; }                                     ///< the bits of an element
  constexpr int shift() const { return 23 - fraction; }                                              ///< how many more bits the fraction of a float has
  constexpr int bias() const { return (1 << (exponent - 1)) - 1; }                                   ///< the bias of the exponent
  constexpr std::uint32_t rebias() const { return static_cast<std::uint32_t>(127 - bias()) << 23; }  ///< float's bias minus this one
  constexpr std::uint32_t sign() const { return 1u << (exponent + fraction); }
  constexpr std::uint32_t overflow() const { return finite_only ? sign() - 1 : sign() - (1u << fraction); }   ///< the code of infinity; NaN if there is none
  constexpr std::uint32_t nan() const { return finite_only ? sign() - 1 : sign() - (1u << (fraction - 1)); }  ///< the NaN that operations give
  constexpr std::uint32_t normal() const { return 1u << fraction; }                                           ///< the smallest normal number
  constexpr std::uint32_t normal_as_float() const { return rebias() + (1u << 23); }                           ///< the same as a float's bits
  /// Returns the bits of a float, a power of two, whose last place is the smallest number of this type. Adding this float rounds a subnormal number.
  constexpr std::uint32_t rounder() const { return rebias() + (static_cast<std::uint32_t>(1 + shift()) << 23); }
  /// Returns true if a NaN is converted with the upper bits of its payload, as processors do for 16 bits. For 8 bits only the sign of a NaN is converted.
  constexpr bool keeps_payload() const { return bits() == 16; }
};

namespace detail {

/// Rounds x to a float by round-to-odd: the last bit is 1 if the result is not exact. Rounding that float to 16 bits or fewer gives the same as rounding x.
constexpr float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  if (back == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((back < 0 ? -back : back) > (x < 0 ? -x : x)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

template <FloatFormat f> constexpr std::uint32_t narrow_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x), sign = bits >> (32 - f.bits()) & f.sign(), size = bits & 0x7fffffff;
  if (size > 0x7f800000) return sign | f.nan() | (f.keeps_payload() ? size >> f.shift() & (f.sign() - 1) : 0);
  if (f.rebias() != 0 && size < f.normal_as_float())
    return sign | (std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(f.rounder())) - f.rounder());
  const std::uint32_t rounded = (size + ((1u << (f.shift() - 1)) - 1) + (size >> f.shift() & 1) - f.rebias()) >> f.shift();
  return sign | (rounded < f.overflow() ? rounded : f.overflow());
}
template <FloatFormat f> constexpr float narrow_value(std::uint32_t bits) {
  const std::uint32_t sign = (bits & f.sign()) << (32 - f.bits()), code = bits & (f.sign() - 1), size = code << f.shift();
  std::uint32_t result = size + f.rebias();
  if (f.rebias() == 0) return std::bit_cast<float>(sign | size);
  if (code >= f.overflow()) result = code > f.overflow() || f.finite_only ? 0x7fc00000 | (f.keeps_payload() ? size : 0) : 0x7f800000;
  else if (code < f.normal())
    result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size + f.normal_as_float()) - std::bit_cast<float>(f.normal_as_float()));
  return std::bit_cast<float>(sign | result);
}

}  // namespace detail

/// The base of every floating type of 8 or 16 bits. A conversion to such a type rounds once, to nearest, ties to even.
template <int Exponent, int Fraction, bool FiniteOnly = false> struct NarrowFloat {
  static constexpr FloatFormat format{Exponent, Fraction, FiniteOnly};
  std::conditional_t<format.bits() == 8, std::uint8_t, std::uint16_t> bits;
  NarrowFloat() = default;
  explicit constexpr NarrowFloat(float x) : bits(static_cast<decltype(bits)>(detail::narrow_bits<format>(x))) {}
  explicit constexpr NarrowFloat(double x) : NarrowFloat(detail::round_to_odd(x)) {}
  template <std::integral Integer> explicit constexpr NarrowFloat(Integer x) : NarrowFloat(static_cast<double>(x)) {}
  constexpr operator float() const { return detail::narrow_value<format>(bits); }
  friend constexpr bool operator==(NarrowFloat a, NarrowFloat b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend constexpr std::partial_ordering operator<=>(NarrowFloat a, NarrowFloat b) { return static_cast<float>(a) <=> static_cast<float>(b); }
};
/// IEEE 754 binary16.
struct half : NarrowFloat<5, 10> {
  using NarrowFloat::NarrowFloat;
};
/// bfloat16: the upper half of a float.
struct bfloat16 : NarrowFloat<8, 7> {
  using NarrowFloat::NarrowFloat;
};
struct float8_e4m3 : NarrowFloat<4, 3> {
  using NarrowFloat::NarrowFloat;
};
/// The e4m3 of GPUs and models: numbers up to 448 and no infinity.
struct float8_e4m3fn : NarrowFloat<4, 3, true> {
  using NarrowFloat::NarrowFloat;
};
/// e5m2: the upper half of a half.
struct float8_e5m2 : NarrowFloat<5, 2> {
  using NarrowFloat::NarrowFloat;
};

template <class T>
concept Narrow = std::same_as<std::remove_cv_t<decltype(T::format)>, FloatFormat>;
template <class A, class B>
concept WithNarrow = (Narrow<A> && (Narrow<B> || std::is_arithmetic_v<B>)) || (std::is_arithmetic_v<A> && Narrow<B>);
namespace detail {
/// The type of arithmetic with a narrow float: float, or double where the other operand is a double.
template <class A, class B> using Widened = std::conditional_t<std::same_as<A, double> || std::same_as<B, double>, double, float>;
}  // namespace detail

template <class A, class B>
  requires WithNarrow<A, B>
constexpr auto operator+(A a, B b) {
  return static_cast<detail::Widened<A, B>>(a) + static_cast<detail::Widened<A, B>>(b);
}
template <class A, class B>
  requires WithNarrow<A, B>
constexpr auto operator-(A a, B b) {
  return static_cast<detail::Widened<A, B>>(a) - static_cast<detail::Widened<A, B>>(b);
}
template <class A, class B>
  requires WithNarrow<A, B>
constexpr auto operator*(A a, B b) {
  return static_cast<detail::Widened<A, B>>(a) * static_cast<detail::Widened<A, B>>(b);
}
template <class A, class B>
  requires WithNarrow<A, B>
constexpr auto operator/(A a, B b) {
  return static_cast<detail::Widened<A, B>>(a) / static_cast<detail::Widened<A, B>>(b);
}
template <Narrow T> constexpr float operator-(T a) { return -static_cast<float>(a); }
template <class Stream, Narrow T>
  requires requires { typename Stream::char_type; }
Stream& operator<<(Stream& out, T value) {
  out << static_cast<float>(value);
  return out;
}

}  // namespace sinter

template <sinter::Narrow T> struct std::numeric_limits<T> {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, has_infinity = !T::format.finite_only,
                        has_quiet_NaN = true, is_iec559 = has_infinity, is_bounded = true;
  static constexpr int radix = 2, digits = T::format.fraction + 1, digits10 = T::format.fraction * 301 / 1000, max_digits10 = digits * 301 / 1000 + 2,
                       max_exponent = T::format.bias() + (has_infinity ? 1 : 2), min_exponent = 2 - T::format.bias();
  static constexpr T of(std::uint32_t bits) { return std::bit_cast<T>(static_cast<decltype(T::bits)>(bits)); }
  static constexpr T min() { return of(T::format.normal()); }
  static constexpr T max() { return of(T::format.overflow() - 1); }
  static constexpr T lowest() { return of(T::format.sign() | (T::format.overflow() - 1)); }
  static constexpr T epsilon() { return T(1.0f / T::format.normal()); }
  static constexpr T denorm_min() { return of(1); }
  static constexpr T infinity() { return of(T::format.overflow()); }  ///< NaN where the type has no infinity
  static constexpr T quiet_NaN() { return of(T::format.nan()); }
};
