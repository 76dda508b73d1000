// References for functions that the C library lacks.
#pragma once
#include <cmath>
#include <limits>

namespace sinter::testing {

/// The normal distribution; what rounding its argument to erfc does, which is much far out, is put right.
template <class W>
W normal_distribution(W x) {
  constexpr W kRoot = static_cast<W>(0x1.6a09e667f3bcdp-1), kRest = static_cast<W>(-0x1.bdd3413b26456p-55);
  const W z = -x * kRoot, rest = std::fma(-x, kRoot, -z) - x * kRest;
  return (std::erfc(z) - (std::isfinite(z) ? W(1.12837916709551257L) * std::exp(-z * z) * rest : 0)) / 2;
}

/// By recurrence to 40 and beyond, where the asymptotic series has all digits.
template <class W>
W digamma(W x) {
  const W pi = W(3.14159265358979323846264338327950288L), infinity = std::numeric_limits<W>::infinity();
  if (std::isnan(x) || x == infinity) return x;
  if (x == 0) return std::copysign(infinity, -x);
  if (x == std::floor(x) && x < 0) return std::numeric_limits<W>::quiet_NaN();
  W rest = 0;
  if (x < W(0.5L)) {
    if (x == -infinity) return std::numeric_limits<W>::quiet_NaN();
    rest = -pi / std::tan(pi * (x - std::rint(x)));
    x = 1 - x;
  }
  for (; x < 40; x += 1) rest -= 1 / x;
  const W z = 1 / (x * x);
  const W series = z * (W(1) / 12 - z * (W(1) / 120 - z * (W(1) / 252 - z * (W(1) / 240 - z / 132))));
  return rest + (std::log(x) - 1 / (2 * x) - series);
}

/// y with erf(y) = x, by Halley's steps.
template <class W>
W inverse_error_function(W x) {
  const W a = std::fabs(x);
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<W>::infinity(), x) : std::numeric_limits<W>::quiet_NaN();
  if (a < W(1e-12)) return x * W(0.886226925452758013649083741670572591L);
  const W w = -std::log((1 - a) * (1 + a));
  W y = w < 5 ? a * W(0.886L) : std::sqrt(w) * W(0.9L);
  for (int k = 0; k < 40; ++k) {
    W step = (a < W(0.5L) ? a - std::erf(y) : std::erfc(y) - (1 - a)) * W(0.886226925452758013649083741670572591L) * std::exp(y * y);
    step = std::fmin(std::fmax(step, W(-0.5L)), W(0.5L));
    y += step / (1 - y * step);
    if (std::fabs(step) < 4 * std::numeric_limits<W>::epsilon() * y) break;
  }
  return std::copysign(y, x);
}

}  // namespace sinter::testing
