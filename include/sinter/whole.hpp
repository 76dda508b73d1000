// Conversions of floating numbers to integers on the host. C++ leaves the cast of NaN, and of a number that the integer type does not hold, undefined. sinter
// converts every number from a user, a file or a computation by these functions.
#pragma once
#include <cstdint>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>

#include "sinter/errors.hpp"

namespace sinter::detail {

/// Returns the number without its fraction; nullopt for NaN and for a number that int64 does not hold.
constexpr std::optional<std::int64_t> whole(double number) {
  if (!(number >= -0x1p63 && number < 0x1p63)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// Does the same, and throws ValueError instead of nullopt. `what` names the operation and the argument: "interpolate: scale_factor times a size of 5".
inline std::int64_t whole(double number, const std::string& what) {
  if (const auto result = whole(number)) return *result;
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);
  throw ValueError(what + " is " + text + ", which is not a 64-bit integer");
}

/// Returns the number without its fraction, clamped to int64, as NumPy's random numbers saturate; `of_nan` for NaN.
constexpr std::int64_t saturated(double number, std::int64_t of_nan = 0) {
  if (const auto result = whole(number)) return *result;
  return number > 0 ? std::numeric_limits<std::int64_t>::max() : number < 0 ? std::numeric_limits<std::int64_t>::min() : of_nan;
}

}  // namespace sinter::detail
