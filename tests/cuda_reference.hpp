// What each primitive must give, computed with more precision than the kernels have.
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "cuda_fixture.hpp"
#include "philox_reference.hpp"
#include "special_functions.hpp"
#include "trace/primitives.hpp"

namespace sinter::test {

using trace::Op;

/// Ordinary values of all sizes, and every special one. `which` 1 is the right operand: small integers are common there.
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
    case DType::float32:
      floating(0.0f);
      break;
    case DType::float64:
      floating(0.0);
      break;
    case DType::int32:
      integer(std::int32_t{0});
      break;
    case DType::int64:
      integer(std::int64_t{0});
      break;
    default:
      for (std::size_t i = 0; i < count; ++i) a.set<std::uint8_t>(i, random.integer(0, 1));
  }
  return a;
}

/// NumPy's floor_divide and remainder on floats, which are defined by their steps in the type itself.
template <class T>
T numpy_remainder(T a, T b) {
  T mod = std::fmod(a, b);
  if (b == 0) return mod;
  if (mod != 0) return (b < 0) != (mod < 0) ? mod + b : mod;
  return std::copysign(T(0), b);
}
template <class T>
T numpy_floor_divide(T a, T b) {
  if (b == 0) return a / b;
  const T mod = std::fmod(a, b);
  T div = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) div -= 1;
  if (div == 0) return std::copysign(T(0), a / b);
  const T floor = std::floor(div);
  return div - floor > T(0.5) ? floor + 1 : floor;
}

/// W is wider than T: the value before it is rounded to T. `exact` tells that rounding once is all that may happen.
template <class T, class W>
W float_reference(Op op, T a, T b, bool c, bool& exact) {
  const W x = a, y = b;
  exact = true;
  switch (op) {
    case Op::negative:
      return -x;
    case Op::absolute:
      return std::fabs(x);
    case Op::sign:
      return std::isnan(x) ? x : W((x > 0) - (x < 0));
    case Op::floor:
      return std::floor(x);
    case Op::ceil:
      return std::ceil(x);
    case Op::rint:
      return std::rint(x);
    case Op::trunc:
      return std::trunc(x);
    case Op::sqrt:
      return std::sqrt(x);
    case Op::add:
      return x + y;
    case Op::subtract:
      return x - y;
    case Op::multiply:
      return x * y;
    case Op::divide:
      return x / y;
    case Op::floor_divide:
      return numpy_floor_divide(a, b);
    case Op::remainder:
      return numpy_remainder(a, b);
    case Op::minimum:
      return std::isnan(x) || std::isnan(y) ? std::numeric_limits<W>::quiet_NaN() : std::min(x, y);
    case Op::maximum:
      return std::isnan(x) || std::isnan(y) ? std::numeric_limits<W>::quiet_NaN() : std::max(x, y);
    case Op::where:
      return c ? x : y;
    case Op::isnan:
      return std::isnan(x);
    case Op::isinf:
      return std::isinf(x);
    case Op::isfinite:
      return std::isfinite(x);
    case Op::equal:
      return x == y;
    case Op::not_equal:
      return x != y;
    case Op::less:
      return x < y;
    case Op::less_equal:
      return x <= y;
    default:
      break;
  }
  exact = false;
  if (const auto known = testing::function_reference(op, x)) return *known;
  switch (op) {
    case Op::rsqrt:
      return 1 / std::sqrt(x);
    case Op::copysign:
      return std::copysign(a, b);
    case Op::nextafter:
      return std::nextafter(a, b);
    case Op::ldexp:
      return std::isnan(b) ? b : std::ldexp(a, static_cast<int>(std::min(std::max(b, T(-2200)), T(2200))));
    case Op::power:
      return std::pow(x, y);
    case Op::atan2:
      return std::atan2(x, y);
    case Op::hypot:
      return std::hypot(x, y);
    default:
      throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

/// Arithmetic modulo 2^64; the caller cuts it to its type.
template <class T>
std::int64_t integer_reference(Op op, T a, T b, bool c) {
  using U = std::uint64_t;
  const std::int64_t x = a, y = b;
  const bool by_minus_one = y == -1;
  const std::int64_t quotient = y == 0 ? 0 : by_minus_one ? static_cast<std::int64_t>(-static_cast<U>(x)) : x / y;
  const std::int64_t rest = y == 0 || by_minus_one ? 0 : x % y;
  const bool adjust = rest != 0 && (rest < 0) != (y < 0);
  const bool in_range = y >= 0 && y < static_cast<std::int64_t>(8 * sizeof(T));
  switch (op) {
    case Op::negative:
      return static_cast<std::int64_t>(-static_cast<U>(x));
    case Op::absolute:
      return x < 0 ? static_cast<std::int64_t>(-static_cast<U>(x)) : x;
    case Op::sign:
      return (x > 0) - (x < 0);
    case Op::bitwise_not:
      return ~x;
    case Op::add:
      return static_cast<std::int64_t>(static_cast<U>(x) + static_cast<U>(y));
    case Op::subtract:
      return static_cast<std::int64_t>(static_cast<U>(x) - static_cast<U>(y));
    case Op::multiply:
      return static_cast<std::int64_t>(static_cast<U>(x) * static_cast<U>(y));
    case Op::floor_divide:
      return quotient - adjust;
    case Op::remainder:
      return adjust ? rest + y : rest;
    case Op::power: {
      if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 ? -1 : 1) : 0;
      U power = 1, base = static_cast<U>(x);
      for (std::int64_t n = y; n; n >>= 1, base *= base)
        if (n & 1) power *= base;
      return static_cast<std::int64_t>(power);
    }
    case Op::minimum:
      return std::min(x, y);
    case Op::maximum:
      return std::max(x, y);
    case Op::gcd: {
      const auto magnitude = [](T v) { return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v); };
      return static_cast<std::int64_t>(std::gcd(magnitude(a), magnitude(b)));
    }
    case Op::bitwise_and:
      return x & y;
    case Op::bitwise_or:
      return x | y;
    case Op::bitwise_xor:
      return x ^ y;
    case Op::left_shift:
      return in_range ? static_cast<std::int64_t>(static_cast<U>(x) << y) : 0;
    case Op::philox:
      return static_cast<std::int64_t>(testing::philox_reference(static_cast<U>(x), static_cast<U>(y)));
    case Op::right_shift:
      return in_range ? x >> y : x < 0 ? -1 : 0;
    case Op::equal:
      return x == y;
    case Op::not_equal:
      return x != y;
    case Op::less:
      return x < y;
    case Op::less_equal:
      return x <= y;
    case Op::where:
      return c ? x : y;
    default:
      throw InternalError(fmt::format("the tests have no reference for {}", trace::name(op)));
  }
}

inline bool bool_reference(Op op, bool a, bool b, bool c) {
  switch (op) {
    case Op::absolute:
      return a;
    case Op::bitwise_not:
      return !a;
    case Op::add:
      return a || b;
    case Op::multiply:
      return a && b;
    default:
      return integer_reference<std::int32_t>(op, a, b, c) != 0;
  }
}

/// Distance in units of the last place of T; 0 for equal values and for two NaNs.
template <class T, class W>
double ulps(T got, W expected) {
  const T rounded = static_cast<T>(expected);
  if (got == rounded || (std::isnan(got) && std::isnan(rounded))) return 0;
  if (!std::isfinite(got) || !std::isfinite(rounded)) return std::numeric_limits<double>::infinity();
  const T size = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const W ulp = std::ldexp(W(1), std::ilogb(size) - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(W(got) - expected) / ulp);
}

template <class T, class W>
std::string check_float(Op op, const Array& left, const Array& right, bool choice, const Array& result, std::size_t i) {
  bool exact = false;
  const W expected = float_reference<T, W>(op, left.at<T>(i), right.at<T>(i), choice, exact);
  const double error =
      result.dtype == DType::bool_ ? (result.number(i) == static_cast<double>(expected) ? 0 : 1) : ulps<T, W>(result.at<T>(i), expected);
  // CUDA's normcdf and erfinv err by up to 5 ULP, its hypotf by 3; glibc's functions, which the emulator calls, by 2 to 3, its cbrt and erfc by
  // 4 and 5 (the GNU C library's manual, "Errors in Math Functions").
  // Beside their zeros these err absolutely.
  const bool absolute = op == Op::lgamma || op == Op::digamma;
  if (absolute && std::fabs(static_cast<W>(result.at<T>(i)) - expected) <=
                      8 * std::numeric_limits<T>::epsilon() * testing::size_of_terms(op, static_cast<W>(left.at<T>(i)), expected))
    return {};
  const bool wide = op == Op::ndtr || op == Op::erfinv || op == Op::cbrt || op == Op::erfc;
  const double bound = exact ? 0.501 : wide ? 6 : 3;
  if (error <= bound) return {};
  return fmt::format("({}, {}) gives {}, not {} ({} ULP)", left.number(i), right.number(i), result.number(i), static_cast<double>(expected),
                     error);
}

/// Empty, or what is wrong with element i.
inline std::string check_value(Op op, DType dtype, const Array& left, const Array& right, const Array& choice, const Array& result,
                               std::size_t i) {
  const bool c = choice.number(i) != 0;
  if (dtype == DType::float32) return check_float<float, double>(op, left, right, c, result, i);
  if (dtype == DType::float64) return check_float<double, long double>(op, left, right, c, result, i);
  double expected = 0;
  bool same = false;
  const auto integer = [&](auto zero) {
    using T = decltype(zero);
    const std::int64_t wide = integer_reference<T>(op, left.at<T>(i), right.at<T>(i), c);
    expected = static_cast<double>(wide);
    same = result.dtype == DType::bool_ ? result.number(i) == expected : result.at<T>(i) == static_cast<T>(wide);
  };
  if (dtype == DType::int32) integer(std::int32_t{0});
  else if (dtype == DType::int64) integer(std::int64_t{0});
  else same = result.number(i) == (expected = bool_reference(op, left.number(i) != 0, right.number(i) != 0, c));
  if (same) return {};
  return fmt::format("({}, {}) gives {}, not {}", left.number(i), right.number(i), result.number(i), expected);
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
    case DType::bool_:
      same = result.number(i) == (x != 0);
      break;
    case DType::int32:
      same = to_integer(std::int32_t{0});
      break;
    case DType::int64:
      same = to_integer(std::int64_t{0});
      break;
    case DType::float32: {
      const float expected = input.dtype == DType::int64 ? static_cast<float>(input.at<std::int64_t>(i)) : static_cast<float>(x);
      same = ulps<float, double>(result.at<float>(i), expected) == 0;
      break;
    }
    default:
      same = ulps<double, long double>(result.at<double>(i), x) == 0;
  }
  if (same) return {};
  return fmt::format("{} {} as {} gives {}", name(input.dtype), x, name(result.dtype), result.number(i));
}

/// A reduction of the elements `row` of an array.
inline std::string check_reduction(Op op, const Array& values, const std::vector<std::size_t>& row, const Array& result, std::size_t p) {
  const bool floating = is_floating(values.dtype);
  long double wide = op == Op::reduce_prod ? 1 : 0, magnitude = 0;
  std::uint64_t wrapped = op == Op::reduce_prod ? 1 : 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double x = values.number(row[k]);
    const std::int64_t n = floating ? 0 : values.dtype == DType::int64 ? values.at<std::int64_t>(row[k]) : static_cast<std::int64_t>(x);
    if (op == Op::reduce_sum) wide += x, wrapped += static_cast<std::uint64_t>(n);
    else if (op == Op::reduce_prod) wide *= x, wrapped *= static_cast<std::uint64_t>(n);
    else if (k == 0 || std::isnan(x)) wide = std::isnan(wide) ? wide : x;
    else if (!std::isnan(wide)) wide = op == Op::reduce_min ? std::min<long double>(wide, x) : std::max<long double>(wide, x);
    magnitude += std::fabs(x);
  }
  const bool order = op == Op::reduce_min || op == Op::reduce_max;
  const double got = result.number(p);
  bool same = false;
  if (order) same = got == static_cast<double>(wide) || (std::isnan(got) && std::isnan(wide));
  else if (values.dtype == DType::bool_) same = (got != 0) == (wrapped != 0);
  else if (values.dtype == DType::int32) same = result.at<std::int32_t>(p) == static_cast<std::int32_t>(wrapped);
  else if (values.dtype == DType::int64) same = result.at<std::int64_t>(p) == static_cast<std::int64_t>(wrapped);
  else {
    const long double step = values.dtype == DType::float32 ? 6e-8L : 1.2e-16L;
    const long double scale = op == Op::reduce_sum ? magnitude : std::fabs(wide) * static_cast<long double>(row.size());
    // A thread adds a few, five shuffles and a few warps follow: each sum on the way rounds once.
    same = (std::isnan(got) && std::isnan(wide)) || std::fabs(got - wide) <= 12 * step * scale;
  }
  if (same) return {};
  return fmt::format("over {} elements gives {}, not {}", row.size(), got, static_cast<double>(wide));
}

}  // namespace sinter::test
