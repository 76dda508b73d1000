// The 16-bit floating types as C++ values. They are for storage: arithmetic on them happens in float.
#pragma once
#include <bit>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace sinter {

namespace detail {

/// A float so near to x that rounding it to 16 bits rounds x: what is lost on the way shows in the last bit (round to odd).
constexpr float round_to_odd(double x) {
  const float nearest = static_cast<float>(x);
  const double back = nearest;
  if (back == x || x != x) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if ((back < 0 ? -back : back) > (x < 0 ? -x : x)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

constexpr std::uint16_t half_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  std::uint32_t result = 0x7c00;
  if (size > 0x7f800000) result = 0x7e00 | size >> 13;                                                                // NaN
  else if (size < 0x38800000) result = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;  // subnormal
  else if (size < 0x477ff000) result = (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
  return static_cast<std::uint16_t>(sign | (result & 0x7fff));
}
constexpr float half_value(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, size = (half & 0x7fffu) << 13;
  std::uint32_t bits;
  if (size > 0x0f800000) bits = (size + 0x70000000) | 0x400000;  // NaN, made quiet
  else if (size == 0x0f800000) bits = 0x7f800000;
  else if (size >= 0x00800000) bits = size + 0x38000000;
  else bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size + 0x38800000) - 0x1p-14f);  // subnormal
  return std::bit_cast<float>(bits | sign);
}

constexpr std::uint16_t bfloat_bits(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (x != x) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
constexpr float bfloat_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

}  // namespace detail

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction. Conversions round to nearest, ties to even.
struct half {
  std::uint16_t bits;
  half() = default;
  explicit constexpr half(float x) : bits(detail::half_bits(x)) {}
  explicit constexpr half(double x) : half(detail::round_to_odd(x)) {}
  template <std::integral Integer> explicit constexpr half(Integer x) : half(static_cast<double>(x)) {}
  constexpr operator float() const { return detail::half_value(bits); }
  friend constexpr bool operator==(half a, half b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend constexpr std::partial_ordering operator<=>(half a, half b) { return static_cast<float>(a) <=> static_cast<float>(b); }
};

/// The upper half of a float: 8 bits of exponent, 7 of fraction. Conversions round to nearest, ties to even.
struct bfloat16 {
  std::uint16_t bits;
  bfloat16() = default;
  explicit constexpr bfloat16(float x) : bits(detail::bfloat_bits(x)) {}
  explicit constexpr bfloat16(double x) : bfloat16(detail::round_to_odd(x)) {}
  template <std::integral Integer> explicit constexpr bfloat16(Integer x) : bfloat16(static_cast<double>(x)) {}
  constexpr operator float() const { return detail::bfloat_value(bits); }
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend constexpr std::partial_ordering operator<=>(bfloat16 a, bfloat16 b) { return static_cast<float>(a) <=> static_cast<float>(b); }
};

template <class T>
concept SixteenBit = std::same_as<T, half> || std::same_as<T, bfloat16>;
template <class A, class B>
concept WithSixteenBit = (SixteenBit<A> && (SixteenBit<B> || std::is_arithmetic_v<B>)) || (std::is_arithmetic_v<A> && SixteenBit<B>);
namespace detail {
/// What a 16-bit float computes as: float, beside a double double.
template <class A, class B> using WithHalf = std::conditional_t<std::same_as<A, double> || std::same_as<B, double>, double, float>;
}  // namespace detail

template <class A, class B>
  requires WithSixteenBit<A, B>
constexpr auto operator+(A a, B b) {
  return static_cast<detail::WithHalf<A, B>>(a) + static_cast<detail::WithHalf<A, B>>(b);
}
template <class A, class B>
  requires WithSixteenBit<A, B>
constexpr auto operator-(A a, B b) {
  return static_cast<detail::WithHalf<A, B>>(a) - static_cast<detail::WithHalf<A, B>>(b);
}
template <class A, class B>
  requires WithSixteenBit<A, B>
constexpr auto operator*(A a, B b) {
  return static_cast<detail::WithHalf<A, B>>(a) * static_cast<detail::WithHalf<A, B>>(b);
}
template <class A, class B>
  requires WithSixteenBit<A, B>
constexpr auto operator/(A a, B b) {
  return static_cast<detail::WithHalf<A, B>>(a) / static_cast<detail::WithHalf<A, B>>(b);
}
template <SixteenBit T> constexpr float operator-(T a) { return -static_cast<float>(a); }
template <class Stream, SixteenBit T>
  requires requires { typename Stream::char_type; }
Stream& operator<<(Stream& out, T value) {
  out << static_cast<float>(value);
  return out;
}

}  // namespace sinter

namespace sinter::detail {
/// Limits of a 16-bit floating type with this many digits (the leading one included) and this greatest exponent.
template <class T, int Digits, int MaxExponent, std::uint16_t Infinity> struct HalfLimits {
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false, has_infinity = true, has_quiet_NaN = true,
                        is_iec559 = true, is_bounded = true;
  static constexpr int radix = 2, digits = Digits, digits10 = (Digits - 1) * 301 / 1000, max_exponent = MaxExponent, min_exponent = 3 - MaxExponent;
  static constexpr T of(int bits) { return std::bit_cast<T>(static_cast<std::uint16_t>(bits)); }
  static constexpr T min() { return of(1 << (Digits - 1)); }
  static constexpr T max() { return of(Infinity - 1); }
  static constexpr T lowest() { return of(0x8000 | (Infinity - 1)); }
  static constexpr T denorm_min() { return of(1); }
  static constexpr T infinity() { return of(Infinity); }
  static constexpr T quiet_NaN() { return of(Infinity | 1 << (Digits - 2)); }
};
}  // namespace sinter::detail

template <> struct std::numeric_limits<sinter::half> : sinter::detail::HalfLimits<sinter::half, 11, 16, 0x7c00> {};
template <> struct std::numeric_limits<sinter::bfloat16> : sinter::detail::HalfLimits<sinter::bfloat16, 8, 128, 0x7f80> {};
