// A reference for ndtr.
#pragma once
#include <cmath>

namespace sinter::testing {

/// The normal distribution; what rounding its argument to erfc does, which is much far out, is put right.
template <class W>
W normal_distribution(W x) {
  constexpr W kRoot = static_cast<W>(0x1.6a09e667f3bcdp-1), kRest = static_cast<W>(-0x1.bdd3413b26456p-55);
  const W z = -x * kRoot, rest = std::fma(-x, kRoot, -z) - x * kRest;
  return (std::erfc(z) - (std::isfinite(z) ? W(1.12837916709551257L) * std::exp(-z * z) * rest : 0)) / 2;
}

}  // namespace sinter::testing
