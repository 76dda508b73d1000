// The expected result of each primitive, computed with higher precision than in the kernels.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cuda_fixture.hpp"
#include "primitive_reference.hpp"
#include "trace/primitives.hpp"

namespace sinter::test {

using trace::Op;

/// Returns ordinary values of all magnitudes, and every special value. `which` is 1 for the right operand, which is often a small integer.
inline Array test_values(DType dtype, std::size_t count, Random& random, int which) {
  Array a(dtype, count);
  const auto floating = [&](auto zero) {
    using T = decltype(zero);
    const T inf = std::numeric_limits<T>::infinity();
    const T special[] = {T(0),
                         -T(0),
                         inf,
                         -inf,
                         std::numeric_limits<T>::quiet_NaN(),
                         T(1),
                         T(-1),
                         T(0.5),
                         T(-2.5),
                         std::numeric_limits<T>::denorm_min(),
                         std::numeric_limits<T>::max(),
                         T(3e9),
                         T(-3e9)};
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t kind = random.integer(0, 9);
      if (kind == 0) a.set<T>(i, special[random.integer(0, std::size(special) - 1)]);
      else if (kind == 1) a.set<T>(i, static_cast<T>(random.integer(-8, 8)));
      else if (kind == 2) a.set<T>(i, static_cast<T>(random.uniform(-1, 1) * std::exp2(random.uniform(-60, 60))));
      else a.set<T>(i, static_cast<T>(random.uniform(-4, 4)));
    }
  };
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    const T special[] = {0, 1, -1, 2, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), 31, 32, 63, 64};
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t kind = random.integer(0, 3);
      if (kind == 0) a.set<T>(i, special[random.integer(0, std::size(special) - 1)]);
      else if (kind == 1 || which == 1) a.set<T>(i, static_cast<T>(random.integer(-20, 40)));
      else a.set<T>(i, static_cast<T>(random.engine()));
    }
  };
  switch (dtype) {
    case DType::float32: floating(0.0f); break;
    case DType::float64: floating(0.0); break;
    case DType::int32: integer(std::int32_t{0}); break;
    case DType::int64: integer(std::int64_t{0}); break;
    default:
      for (std::size_t i = 0; i < count; ++i) a.set<std::uint8_t>(i, random.integer(0, 1));
  }
  return a;
}

/// Returns the distance in units of the last place of T; 0 for equal values and for two NaNs.
template <class T, class W> double ulps(T got, W expected) {
  const T rounded = static_cast<T>(expected);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return std::numeric_limits<double>::infinity();
  const T size = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const W ulp = std::ldexp(W(1), std::ilogb(size) - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(W(got) - expected) / ulp);
}

template <class T, class W> std::string check_float(Op op, const Array& left, const Array& right, bool choice, const Array& result, std::size_t i) {
  const T a = left.at<T>(i), b = right.at<T>(i);
  const bool truth = result.dtype == DType::bool_;
  const W expected = op == Op::where ? W(choice ? a : b) : truth ? W(testing::truth_reference(op, a, b)) : W(testing::float_reference(op, a, b));
  const double error = truth ? (result.number(i) == static_cast<double>(expected) ? 0 : 1) : ulps<T, W>(result.at<T>(i), expected);
  // CUDA's normcdf and erfinv err by up to 5 ULP, its hypotf by 3, and sigmoid is an exponential, a sum and a quotient; glibc's functions, which the emulator
  // calls, by 2 to 3, its cbrt and erfc by 4 and 5 (the GNU C library's manual, "Errors in Math Functions"). Near their zeros, lgamma and digamma have an
  // absolute bound.
  const bool absolute = op == Op::lgamma || op == Op::digamma;
  if (absolute &&
      std::fabs(static_cast<W>(result.at<T>(i)) - expected) <= 8 * std::numeric_limits<T>::epsilon() * testing::size_of_terms(op, static_cast<W>(a), expected))
    return {};
  const bool wide = op == Op::ndtr || op == Op::sigmoid || op == Op::erfinv || op == Op::cbrt || op == Op::erfc;
  const double bound = wide ? 6 : testing::is_function(op) || op == Op::rsqrt ? 3 : 0;
  if (error <= bound) return {};
  return fmt::format("({}, {}) gives {}, not {} ({} ULP)", left.number(i), right.number(i), result.number(i), static_cast<double>(expected), error);
}

/// Returns an empty text, or a description of the error in element i.
inline std::string check_value(Op op, DType dtype, const Array& left, const Array& right, const Array& choice, const Array& result, std::size_t i) {
  const bool c = choice.number(i) != 0;
  if (dtype == DType::float32) return check_float<float, double>(op, left, right, c, result, i);
  if (dtype == DType::float64) return check_float<double, long double>(op, left, right, c, result, i);
  const auto right_one = [&](auto a, auto b, auto got) { return op == Op::where ? got == (c ? a : b) : testing::is_right(op, a, b, got); };
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    const T a = left.at<T>(i), b = right.at<T>(i);
    return result.dtype == DType::bool_ ? testing::is_right(op, a, b, result.number(i) != 0) : right_one(a, b, result.at<T>(i));
  };
  const bool same = dtype == DType::int32   ? integer(std::int32_t{0})
                    : dtype == DType::int64 ? integer(std::int64_t{0})
                                            : right_one(left.number(i) != 0, right.number(i) != 0, result.number(i) != 0);
  if (same) return {};
  return fmt::format("({}, {}) gives {}", left.number(i), right.number(i), result.number(i));
}

inline std::string check_cast(const Array& input, const Array& result, std::size_t i) {
  const double x = input.number(i);
  bool same = false;
  const auto to_integer = [&](auto zero) {
    using T = decltype(zero);
    if (input.dtype == DType::int64) return result.at<T>(i) == static_cast<T>(input.at<std::int64_t>(i));
    const bool fits = x >= static_cast<double>(std::numeric_limits<T>::min()) && x < -static_cast<double>(std::numeric_limits<T>::min());
    return result.at<T>(i) == (fits ? static_cast<T>(x) : std::numeric_limits<T>::min());
  };
  switch (result.dtype) {
    case DType::bool_: same = result.number(i) == (x != 0); break;
    case DType::int32: same = to_integer(std::int32_t{0}); break;
    case DType::int64: same = to_integer(std::int64_t{0}); break;
    case DType::float32: {
      const float expected = input.dtype == DType::int64 ? static_cast<float>(input.at<std::int64_t>(i)) : static_cast<float>(x);
      same = ulps<float, double>(result.at<float>(i), expected) == 0;
      break;
    }
    default: same = ulps<double, long double>(result.at<double>(i), x) == 0;
  }
  if (same) return {};
  return fmt::format("{} {} as {} gives {}", name(input.dtype), x, name(result.dtype), result.number(i));
}

}  // namespace sinter::test
