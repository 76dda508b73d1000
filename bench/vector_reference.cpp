#include "vector_reference.hpp"

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace bench {
namespace {

using V = double __attribute__((vector_size(64)));

V like(double x) { return V{} + x; }
V abs(V x) { return _mm512_abs_pd(x); }
V sqrt(V x) { return _mm512_sqrt_pd(x); }
V within(V x, double low, double high) { return _mm512_min_pd(like(high), _mm512_max_pd(like(low), x)); }  // a NaN remains

// Outside its range a vector function computes its lanes one by one. There the argument is clamped to the end of the range, and an undefined result is NaN.
#define LIBMVEC(name, low, high, defined)              \
  extern "C" V _ZGVeN8v_##name(V);                     \
  [[maybe_unused]] V name(V x) {                       \
    const V y = _ZGVeN8v_##name(within(x, low, high)); \
    return defined ? y : like(NAN);                    \
  }
LIBMVEC(cbrt, -INFINITY, INFINITY, x == x)
LIBMVEC(exp, -600, 600, x == x)
LIBMVEC(exp2, -1000, 1000, x == x)
LIBMVEC(expm1, -700, 700, x == x)
LIBMVEC(log, 1e-300, INFINITY, x > 0)
LIBMVEC(log2, 1e-300, INFINITY, x > 0)
LIBMVEC(log10, 1e-300, INFINITY, x > 0)
LIBMVEC(log1p, -1 + 1e-15, INFINITY, x > -1)
LIBMVEC(tan, -INFINITY, INFINITY, x == x)
LIBMVEC(asin, -1, 1, abs(x) <= 1)
LIBMVEC(acos, -1, 1, abs(x) <= 1)
LIBMVEC(atan, -INFINITY, INFINITY, x == x)
LIBMVEC(sinh, -700, 700, x == x)
LIBMVEC(cosh, -700, 700, x == x)
LIBMVEC(tanh, -50, 50, x == x)
LIBMVEC(asinh, -INFINITY, INFINITY, x == x)
LIBMVEC(acosh, 1, INFINITY, x >= 1)
LIBMVEC(atanh, -1 + 1e-15, 1 - 1e-15, abs(x) < 1)
LIBMVEC(erf, -50, 50, x == x)
LIBMVEC(erfc, -20, 20, x == x)
#undef LIBMVEC
template <class Mask> bool none(Mask mask) { return _mm512_test_epi64_mask(__m512i(mask), __m512i(mask)) == 0; }

// The library's sin and cos of large arguments are slow, its tan is not.
V sin(V x) {
  const V t = tan(x), half = tan(x * 0.5);
  const V size = abs(t) / sqrt(1 + t * t);
  return half < 0 ? -size : x == 0 ? x : size;
}
V cos(V x) {
  const V t = tan(x), half = tan(x * 0.5);
  const V size = 1 / sqrt(1 + t * t);
  return abs(half) > 1 ? -size : size;
}

V fma(V x, V y, V z) { return _mm512_fmadd_pd(x, y, z); }
V rint(V x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEAREST_INT); }

V sigmoid(V x) {
  const V e = exp(-abs(x));
  return (x < 0 ? e : like(1)) / (1 + e);
}
V softplus(V x) { return (x > 0 ? x : like(0)) + log1p(exp(-abs(x))); }

/// Corrects the rounding of the argument of erfc.
V ndtr(V x) {
  const V root = like(0x1.6a09e667f3bcdp-1), z = -x * root;
  const V rest = fma(-x, root, -z) + x * 0x1.bdd3413b26456p-55;
  return (erfc(z) - (abs(z) < 40 ? 1.1283791670955126 * exp(-z * z) * rest : like(0))) * 0.5;
}

/// Takes two of Halley's steps from Winitzki's formula, and the series at zero.
V erfinv(V x) {
  constexpr double kFactor = 0.88622692545275801365, kPi = 3.14159265358979323846, kA = 0.147;
  const V a = abs(x), square = a * a, small = a * kFactor * (1 + square * (kPi / 12 + square * (7 * kPi * kPi / 480)));
  V y = small;
  if (!none((a >= 0x1p-12) & (a < 1))) {
    const V l = log((1 - a) * (1 + a)), half = 2 / (kPi * kA) + l / 2;
    y = sqrt(sqrt(half * half - l / kA) - half);
    for (int k = 0; k < 2; ++k) {
      const V step = (a < 0.5 ? a - erf(y) : erfc(y) - (1 - a)) * kFactor * exp(y * y);
      y += step / (1 - y * step);
    }
  }
  const V value = a < 0x1p-12 ? small : a < 1 ? y : a == 1 ? like(INFINITY) : like(NAN);
  return x < 0 ? -value : x == 0 ? x : value;
}

/// Takes ten steps of the recurrence, then the asymptotic series. Beside its zeros no digits are left; there it returns a value that no float32 comes near.
V digamma(V x) {
  constexpr double kPi = 3.14159265358979323846;
  const V fraction = x - rint(x);
  V at = x < 0.5 ? 1 - x : x, result = none(x < 0.5) ? like(0) : x < 0.5 ? -kPi / tan(kPi * fraction) : like(0);
  for (int k = 0; k < 10; ++k) result -= 1 / (at + k);
  at += 10;
  const V z = 1 / (at * at);
  constexpr double kSeries[] = {1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760};
  V tail = like(1. / 12);
  for (auto c = std::rbegin(kSeries); c != std::rend(kSeries); ++c) tail = tail * z + *c;
  result += log(at) - 0.5 / at - z * tail;
  return x < 0 && fraction == 0 ? like(NAN) : abs(result) < 0x1p-6 ? like(1e300) : result;
}

struct Reference {
  std::string_view name;
  V (*value)(V);
};
#define OF(name) {#name, name}
#define OURS(name, formula) {#name, +[](V x) -> V { return formula; }}
const Reference kReferences[] = {
    OF(sqrt),
    OURS(rsqrt, 1 / sqrt(x)),
    OF(cbrt),
    OF(exp),
    OF(exp2),
    OF(expm1),
    OF(log),
    OF(log2),
    OF(log10),
    OF(log1p),
    OF(sin),
    OF(cos),
    OF(tan),
    OF(asin),
    OF(acos),
    OF(atan),
    OF(sinh),
    OF(cosh),
    OF(tanh),
    OF(asinh),
    OF(acosh),
    OF(atanh),
    OF(erf),
    OF(erfc),
    OF(erfinv),
    OF(ndtr),
    OF(digamma),
    OF(sigmoid),
    OURS(silu, x* sigmoid(x)),
    OURS(gelu, x* ndtr(x)),
    OF(softplus),
    OURS(mish, x* tanh(softplus(x))),
    OURS(elu, x > 0 ? x : expm1(x)),
};
#undef OURS
#undef OF

const Reference* find(std::string_view function) {
  const auto* const found = std::find_if(std::begin(kReferences), std::end(kReferences), [&](const Reference& r) { return r.name == function; });
  return found == std::end(kReferences) ? nullptr : found;
}

}  // namespace

bool has_vector_reference(std::string_view function) { return __builtin_cpu_supports("avx512dq") && find(function); }

void suspects(std::string_view function, const float* x, const float* got, std::size_t count, double ulps, std::vector<std::uint32_t>& places) {
  const auto value = find(function)->value;
  places.clear();
  for (std::size_t k = 0; k < count; k += 8) {
    const auto mask = static_cast<__mmask8>(count - k < 8 ? (1u << (count - k)) - 1 : 0xff);
    const V in = _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps(mask, x + k)));
    const V out = _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_maskz_loadu_ps(mask, got + k)));
    const V expected = value(in);
    // The unit is that of the expected value's exponent, and of subnormal numbers at least.
    const V exponent = _mm512_and_pd(expected, _mm512_castsi512_pd(_mm512_set1_epi64(0x7ff0000000000000)));
    const V unit = _mm512_max_pd(exponent * 0x1p-23, like(0x1p-149));
    const __mmask8 near = _mm512_cmp_pd_mask(abs(out - expected), unit * ulps, _CMP_LE_OQ) | _mm512_cmp_pd_mask(out, expected, _CMP_EQ_OQ);
    const __mmask8 beyond = _mm512_cmp_pd_mask(abs(expected), like(0x1p128), _CMP_GE_OQ) & _mm512_cmp_pd_mask(out, expected * INFINITY, _CMP_EQ_OQ);
    const __mmask8 neither = _mm512_cmp_pd_mask(expected, expected, _CMP_UNORD_Q) & _mm512_cmp_pd_mask(out, out, _CMP_UNORD_Q);
    for (unsigned left = mask & ~(near | beyond | neither); left != 0; left &= left - 1)
      places.push_back(static_cast<std::uint32_t>(k) + static_cast<std::uint32_t>(__builtin_ctz(left)));
  }
}

}  // namespace bench
