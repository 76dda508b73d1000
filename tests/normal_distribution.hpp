// References for ndtr and erfinv.
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
