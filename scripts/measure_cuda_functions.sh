#!/usr/bin/env bash
# Measures the largest errors, in ULP, of the float32 functions that sinter itself writes for CUDA (src/jit/cuda/spelling.cpp), for every
# reciprocal that a GPU may give: one unit below the nearest float, at it or one above. ndtr and sigmoid are tried at every float from 2^-24
# on; power at every mantissa for its logarithm, and at every argument of the last polynomial. It takes a minute or two on one core.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)/src/jit/cuda/spelling.cpp
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text() { sed -n "/^constexpr std::string_view $1 = R\"(/,/^})\";/p" "$source" | sed 's/.*R"(/static inline /; s/^})";/}/'; }
{
  cat <<'CODE'
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
static inline int __float_as_int(float f) { int i; std::memcpy(&i, &f, 4); return i; }
static inline float __int_as_float(int i) { float f; std::memcpy(&f, &i, 4); return f; }
static inline float sn_min(float a, float b) { return b < a ? b : a; }
static int off;
static inline float sn_reciprocal(float x) { return __int_as_float(__float_as_int(1 / x) + off); }
CODE
  text kNormal
  text kSigmoid
  # power, and its two halves: the logarithm, and the exponential of the rest of the exponent.
  text kPower
  text kPower | sed -n '1,/const float low =/p' | sed 's/sn_pow(float a, float b)/logarithm(float a, float\& low)/; s/const float low =/low =/'
  echo 'return log; }'
  echo 'static inline float exponential(float g) {'
  text kPower | sed -n '/float e = fmaf/,/e = fmaf(e, g, 1.0f)/p'
  echo 'return e; }'
  cat <<'CODE'
static double ulps(float got, double want) {
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(want), -126) - 23);
  return std::fabs(got - want) / ulp;
}
template <class F, class G>
static void every_float(const char* name, float end, F f, G want) {
  double worst = 0, near = 0;
  float place = 0;
  for (int bits = __float_as_int(0x1p-24f); bits <= __float_as_int(end); ++bits)
    for (const float x : {__int_as_float(bits), -__int_as_float(bits)}) {
      const double error = ulps(f(x), want(double(x)));
      if (error > worst) worst = error, place = x;
      if (x > -6) near = std::max(near, error);
    }
  std::printf("%s, reciprocals off by %d: %.3f ULP at %.9g, above -6 %.3f\n", name, off, worst, place, near);
}
int main() {
  for (off = -1; off <= 1; ++off) {
    every_float("ndtr", 15, sn_ndtr, [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); });
    every_float("sigmoid", 105, sn_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  }
  // b log2(a) is below 128 in size where the result is a normal number, so the logarithm's relative error is at most 128 ln 2 times as large in it.
  double exponential_part = 0, rounded = 0x1p-26 * std::log(2) * 0x1p24;
  for (int bits = __float_as_int(0x1p-26f); bits <= __float_as_int(0.50001f); ++bits)
    for (const float g : {__int_as_float(bits), -__int_as_float(bits)}) exponential_part = std::max(exponential_part, ulps(exponential(g), std::exp2(double(g))));
  for (off = -1; off <= 1; ++off) {
    double relative = 0;
    for (int whole : {-1, 0, 1, 2, -2, 3, -3, 5, -7, 20, -50, 127, -125})  // the wider the exponent, the less what is lost of the mantissa's logarithm counts
      for (int k = 0; k < 1 << 23; k += std::abs(whole) <= 1 ? 1 : 17) {
        const float mantissa = __int_as_float(0x3f3504f3 + k), a = std::ldexp(mantissa, whole);
        if (a == 1) continue;
        float low;
        const float high = logarithm(a, low);
        const double exact = std::log2(double(mantissa)) + whole;
        relative = std::max(relative, std::fabs((high - exact + low) / exact));
      }
    const double log_part = 128 * std::log(2) * relative * 0x1p24;
    std::printf("power, reciprocals off by %d: %.3f ULP at most (%.3f of the logarithm, %.3f of rounding the rest of the exponent, %.3f of the exponential)\n", off,
                log_part + rounded + exponential_part, log_part, rounded, exponential_part);
  }
}
CODE
} >"$folder/functions.cpp"
"${CXX:-c++}" -std=c++20 -O2 -mfma -ffp-contract=off -w "$folder/functions.cpp" -o "$folder/functions"
"$folder/functions"
