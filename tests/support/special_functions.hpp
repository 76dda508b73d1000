// References for functions: the C library's, and those that it lacks.
#pragma once
#include <cmath>
#include <limits>
#include <optional>

#include "trace/primitives.hpp"

namespace sinter::testing {

/// Returns the normal distribution function. Corrects the rounding of erfc's argument, which matters far from 0.
template <class W> W normal_distribution(W x) {
  constexpr W kRoot = static_cast<W>(0x1.6a09e667f3bcdp-1), kRest = static_cast<W>(-0x1.bdd3413b26456p-55);
  const W z = -x * kRoot, rest = std::fma(-x, kRoot, -z) - x * kRest;
  return (std::erfc(z) - (std::isfinite(z) ? W(1.12837916709551257L) * std::exp(-z * z) * rest : 0)) / 2;
}

template <class W> W sigmoid(W x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

/// Uses the recurrence up to an argument of at least 40, where the asymptotic series is exact.
template <class W> W digamma(W x) {
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

/// Near their zeros, lgamma and digamma are differences of larger terms, and their error is relative to these. For negative x, digamma(x) is log|x| minus a
/// cotangent of about the same size.
template <class W> W size_of_terms(trace::Op op, W x, W value) {
  if (!std::isfinite(value)) return 0;
  return 1 + std::fabs(value) + (op == trace::Op::digamma && x < 0 ? std::fabs(std::log(-x)) : W(0));
}

/// Returns y with erf(y) = x, by Halley's steps.
template <class W> W inverse_error_function(W x) {
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

/// Returns the reference in a wider type for a function of one number that is not rounded correctly, or null for other ops.
template <class W> std::optional<W> function_reference(trace::Op op, W x) {
  using trace::Op;
  switch (op) {
    case Op::exp: return std::exp(x);
    case Op::exp2: return std::exp2(x);
    case Op::expm1: return std::expm1(x);
    case Op::log: return std::log(x);
    case Op::log2: return std::log2(x);
    case Op::log10: return std::log10(x);
    case Op::log1p: return std::log1p(x);
    case Op::sin: return std::sin(x);
    case Op::cos: return std::cos(x);
    case Op::tan: return std::tan(x);
    case Op::asin: return std::asin(x);
    case Op::acos: return std::acos(x);
    case Op::atan: return std::atan(x);
    case Op::sinh: return std::sinh(x);
    case Op::cosh: return std::cosh(x);
    case Op::tanh: return std::tanh(x);
    case Op::asinh: return std::asinh(x);
    case Op::acosh: return std::acosh(x);
    case Op::atanh: return std::atanh(x);
    case Op::cbrt: return std::cbrt(x);
    case Op::erfc: return std::erfc(x);
    case Op::erf: return std::erf(x);
    case Op::ndtr: return normal_distribution(x);
    case Op::sigmoid: return sigmoid(x);
    case Op::lgamma: return x <= 0 && std::trunc(x) == x ? std::numeric_limits<W>::infinity() : std::lgamma(x);
    case Op::digamma: return digamma(x);
    case Op::erfinv: return inverse_error_function(x);
    default: return std::nullopt;
  }
}

}  // namespace sinter::testing
