// The 16-bit floating types as float32, for printing: nothing computes in them yet.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace sinter::trace {

inline float bfloat_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

inline float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude;
  if (exponent == 31) {
    magnitude = fraction != 0 ? std::nanf("") : INFINITY;
  } else if (exponent == 0) {
    magnitude = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    magnitude = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  }
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

}  // namespace sinter::trace
