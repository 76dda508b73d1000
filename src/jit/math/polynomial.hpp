// Polynomials over an abstract value, and constants for the functions of both float32 and float64.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

#include "jit/math/coefficients.hpp"

namespace sinter::jit {

using namespace coefficients;

/// Returns c[0] + c[1] x + c[2] x^2 + ... by Horner's rule; c(k) is the k-th coefficient. It is a recursion, because a loop inside would prevent the
/// vectorisation of the interpreter's loop.
template <std::size_t N, std::size_t K = 0, class X, class C> X horner(const X& x, const C& c) {
  if constexpr (K + 1 == N) return c(K);
  else return fma(horner<N, K + 1>(x, c), x, c(K));
}
template <class X, std::size_t N> X polynomial(const X& x, const double (&c)[N]) {
  return horner<N>(x, [&](std::size_t k) { return x.like(c[k]); });
}
/// Evaluates the polynomial without its first coefficient, divided by x.
template <class X, std::size_t N> X polynomial_after(const X& x, const double (&c)[N]) {
  return horner<N, 1>(x, [&](std::size_t k) { return x.like(c[k]); });
}

/// Returns x, or the limit that it exceeds. A NaN stays. In this order, each select is one instruction of x86.
template <class X> auto between(double least, const X& x, double greatest) {
  const auto above = select(x < least, least, x);
  return select(above > greatest, greatest, above);
}

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Returns `result` if the logarithm is finite, else its limit or NaN. `argument` is zero or infinite if the logarithm is special.
template <class X> auto log_specials(const X& result, const X& argument) {
  return logarithm_limits_or(result, argument, [&] {
    const auto special = select(argument == 0.0, -kInf, select(argument < 0.0, kNaN, argument));
    return select((argument > 0.0) & (argument < kInf), result, special);
  });
}

// Adding this constant to a number of magnitude below 2^51 leaves the nearest integer in the sum's low bits. The addition rounds and converts in one step, and
// its result is defined for NaN.
constexpr double kRound64 = 0x1.8p52;
constexpr std::int64_t kRound64Bits = 0x4338000000000000;

}  // namespace sinter::jit
