// Every row of the table of primitives, on every type it takes, against the C++ language or long double, value by value.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/host/interpreter_kernels.hpp"
#include "host_data_stub.hpp"
#include "philox_reference.hpp"
#include "special_functions.hpp"
#include "sinter/dtype.hpp"

using namespace sinter;
using testing::inverse_error_function;
using testing::normal_distribution;
using device::elementwise_kernel;
using device::Uniform;
using trace::Op;

namespace {

template <class T>
std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(std::random_device{}());
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    values = {T(0),
              T(-0.0),
              T(1),
              T(-1),
              T(0.5),
              T(-0.5),
              T(1.5),
              T(2.5),
              T(-2.5),
              T(3),
              T(-3),
              T(0.1),
              T(-0.3),
              T(88.5),
              T(-104),
              T(710),
              T(1e-10),
              T(-1e10),
              T(2147483648.0),
              T(-2147483904.0),
              T(9223372036854775808.0),
              T(8388609),
              limits::infinity(),
              -limits::infinity(),
              limits::quiet_NaN(),
              limits::max(),
              limits::lowest(),
              limits::min(),
              limits::denorm_min(),
              -limits::denorm_min()};
    std::normal_distribution<double> wide(0, 4), narrow(0, 0.3);
    for (int k = 0; k < 40; ++k) values.push_back(static_cast<T>(k % 2 ? wide(random) : narrow(random)));
  } else {
    values = {0, 1, -1, 2, -2, 3, 7, -7, 10, -10, 31, 32, 33, 63, 64, 65, 100, limits::max(), limits::min(), limits::min() + 1};
    for (int k = 0; k < 40; ++k) values.push_back(static_cast<T>(random() >> (random() % (sizeof(T) * 8))));
  }
  return values;
}

/// Distance in units of the last place of the expected value; 0 for the same value (or NaN and NaN).
template <class T>
double ulps(T got, long double expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected) ? 0 : 1e9;
  if (got == rounded) return 0;
  if (std::isinf(got) || std::isinf(rounded))
    return std::fabs(got) >= std::numeric_limits<T>::max() && std::fabs(rounded) >= std::numeric_limits<T>::max() ? 1 : 1e9;
  const T magnitude = std::max(std::fabs(rounded), std::numeric_limits<T>::min());
  const long double ulp = static_cast<long double>(magnitude) - std::nextafter(magnitude, T(0));
  return static_cast<double>(std::fabs(static_cast<long double>(got) - expected) / ulp);
}

/// The same bits, but for which NaN it is.
template <class T>
bool same(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y && std::signbit(x) == std::signbit(y);
  } else {
    return x == y;
  }
}

template <class T>
struct TypeName {
  static std::string text() { return std::string(name(dtype_of<T>)); }
};

/// Runs op over tiles of n elements and, for binary ops, over one uniform operand; all must agree. Returns the results.
template <class R, class T>
std::vector<R> run(Op op, const std::vector<T>& a, const std::vector<T>& b) {
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<R> out(a.size());
  auto raw = std::make_unique<T[]>(2 * a.size());  // std::vector<bool> has no elements
  auto result = std::make_unique<R[]>(a.size());
  std::copy(a.begin(), a.end(), raw.get());
  if (!b.empty()) std::copy(b.begin(), b.end(), raw.get() + n);
  const void* args[] = {raw.get(), raw.get() + n, nullptr};
  std::memset(result.get(), 0x01, a.size() * sizeof(R));
  const device::TileFn kernel = elementwise_kernel(op, dtype_of<T>, dtype_of<R>);
  REQUIRE(static_cast<bool>(kernel));
  kernel(n, args, result.get());
  std::copy_n(result.get(), n, out.begin());
  if (!b.empty()) {
    for (std::int64_t k = 0; k < n; ++k) {
      const void* first[] = {raw.get() + k, raw.get() + n + k, nullptr};
      R again[2];
      elementwise_kernel(op, dtype_of<T>, dtype_of<R>, Uniform::first)(1, first, &again[0]);
      elementwise_kernel(op, dtype_of<T>, dtype_of<R>, Uniform::second)(1, first, &again[1]);
      CHECK(same<R>(again[0], out[k]));
      CHECK(same<R>(again[1], out[k]));
    }
  }
  return out;
}

template <class T, class Reference>
void check_unary(Op op, Reference reference, double tolerance = 0) {
  const auto a = special_values<T>();
  const auto got = run<T>(op, a, {});
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO(trace::name(op), " ", TypeName<T>::text(), " of ", static_cast<long double>(a[k]), " gave ", static_cast<long double>(got[k]));
    if constexpr (std::is_floating_point_v<T>) {
      if (tolerance > 0) CHECK(ulps<T>(got[k], reference(static_cast<long double>(a[k]))) <= tolerance);
      else CHECK(same<T>(got[k], static_cast<T>(reference(a[k]))));
    } else {
      CHECK(got[k] == reference(a[k]));
    }
  }
}

template <class T, class R = T, class Reference>
void check_binary(Op op, Reference reference, double tolerance = 0) {
  const auto values = special_values<T>();
  std::vector<T> a, b;
  for (T x : values)
    for (T y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  const auto got = run<R>(op, a, b);
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO(trace::name(op), " ", TypeName<T>::text(), " of ", static_cast<long double>(a[k]), ", ", static_cast<long double>(b[k]), " gave ",
         static_cast<long double>(got[k]));
    if constexpr (std::is_floating_point_v<R>) {
      if (tolerance > 0) CHECK(ulps<R>(got[k], reference(static_cast<long double>(a[k]), static_cast<long double>(b[k]))) <= tolerance);
      else CHECK(same<R>(got[k], static_cast<R>(reference(a[k], b[k]))));
    } else {
      CHECK(got[k] == static_cast<R>(reference(a[k], b[k])));
    }
  }
}

template <class T>
void check_float() {
  const double exact = 0, close = sizeof(T) == 4 ? 2.0 : 1.0;
  check_unary<T>(
      Op::negative, [](T x) { return -x; }, exact);
  check_unary<T>(
      Op::absolute, [](T x) { return std::fabs(x); }, exact);
  check_unary<T>(
      Op::sign, [](T x) { return std::isnan(x) ? x : T((x > 0) - (x < 0)); }, exact);
  check_unary<T>(
      Op::floor, [](T x) { return std::floor(x); }, exact);
  check_unary<T>(
      Op::ceil, [](T x) { return std::ceil(x); }, exact);
  check_unary<T>(
      Op::rint, [](T x) { return std::rint(x); }, exact);
  check_unary<T>(
      Op::trunc, [](T x) { return std::trunc(x); }, exact);
  check_unary<T>(
      Op::sqrt, [](T x) { return std::sqrt(x); }, exact);
  check_unary<T>(
      Op::rsqrt, [](long double x) { return 1 / sqrtl(x); }, 1.5);  // two roundings
  check_unary<T>(
      Op::exp, [](long double x) { return expl(x); }, close);
  check_unary<T>(
      Op::exp2, [](long double x) { return exp2l(x); }, close);
  check_unary<T>(
      Op::expm1, [](long double x) { return expm1l(x); }, close);
  check_unary<T>(
      Op::log, [](long double x) { return logl(x); }, close);
  check_unary<T>(
      Op::log2, [](long double x) { return log2l(x); }, close);
  check_unary<T>(
      Op::log10, [](long double x) { return log10l(x); }, close);
  check_unary<T>(
      Op::log1p, [](long double x) { return log1pl(x); }, close);
  check_unary<T>(
      Op::sin, [](long double x) { return sinl(x); }, close);
  check_unary<T>(
      Op::cos, [](long double x) { return cosl(x); }, close);
  check_unary<T>(
      Op::tan, [](long double x) { return tanl(x); }, close);
  check_unary<T>(
      Op::asin, [](long double x) { return asinl(x); }, close);
  check_unary<T>(
      Op::acos, [](long double x) { return acosl(x); }, close);
  check_unary<T>(
      Op::atan, [](long double x) { return atanl(x); }, close);
  check_unary<T>(
      Op::sinh, [](long double x) { return sinhl(x); }, close);
  check_unary<T>(
      Op::cosh, [](long double x) { return coshl(x); }, close);
  check_unary<T>(
      Op::tanh, [](long double x) { return tanhl(x); }, close);
  check_unary<T>(
      Op::erf, [](long double x) { return erfl(x); }, close);
  check_unary<T>(
      Op::ndtr, [](long double x) { return normal_distribution(x); }, close);
  check_unary<T>(
      Op::erfc, [](long double x) { return erfcl(x); }, close);
  check_unary<T>(
      Op::asinh, [](long double x) { return asinhl(x); }, close);
  check_unary<T>(
      Op::acosh, [](long double x) { return acoshl(x); }, close);
  check_unary<T>(
      Op::atanh, [](long double x) { return atanhl(x); }, close);
  check_unary<T>(
      Op::cbrt, [](long double x) { return cbrtl(x); }, close);
  check_unary<T>(
      Op::erfinv, [](long double x) { return inverse_error_function(x); }, close);
  check_binary<T>(Op::copysign, [](T x, T y) { return std::copysign(x, y); });
  check_binary<T>(Op::nextafter, [](T x, T y) { return std::nextafter(x, y); });
  check_binary<T>(Op::ldexp, [](T x, T y) { return std::isnan(y) ? y : std::ldexp(x, static_cast<int>(std::min(std::max(y, T(-2200)), T(2200)))); });
  check_binary<T>(Op::add, [](T x, T y) { return x + y; });
  check_binary<T>(Op::subtract, [](T x, T y) { return x - y; });
  check_binary<T>(Op::multiply, [](T x, T y) { return x * y; });
  check_binary<T>(Op::divide, [](T x, T y) { return x / y; });
  check_binary<T>(
      Op::power, [](long double x, long double y) { return powl(x, y); }, close);
  check_binary<T>(
      Op::atan2, [](long double x, long double y) { return atan2l(x, y); }, close);
  check_binary<T>(
      Op::hypot, [](long double x, long double y) { return hypotl(x, y); }, close);
  check_binary<T>(Op::minimum, [](T x, T y) { return std::isnan(x) ? x : std::isnan(y) ? y : x < y ? x : y; });
  check_binary<T>(Op::maximum, [](T x, T y) { return std::isnan(x) ? x : std::isnan(y) ? y : x > y ? x : y; });

  const auto a = special_values<T>();
  const auto nan = run<bool>(Op::isnan, a, {}), inf = run<bool>(Op::isinf, a, {}), finite = run<bool>(Op::isfinite, a, {});
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(nan[k] == std::isnan(a[k]));
    CHECK(inf[k] == std::isinf(a[k]));
    CHECK(finite[k] == std::isfinite(a[k]));
  }
}

__extension__ using Wide = __int128;
/// The low bits of what the operation gives with as many bits as it needs.
template <class T>
T wrapped(Wide x) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x));
}

template <class T>
void check_int() {
  constexpr int bits = sizeof(T) * 8;
  check_unary<T>(Op::negative, [](T x) { return wrapped<T>(-Wide{x}); });
  check_unary<T>(Op::absolute, [](T x) { return wrapped<T>(x < 0 ? -Wide{x} : Wide{x}); });
  check_unary<T>(Op::sign, [](T x) { return (x > 0) - (x < 0); });
  check_unary<T>(Op::bitwise_not, [](T x) { return static_cast<T>(-1 - x); });
  check_binary<T>(Op::add, [](T x, T y) { return wrapped<T>(Wide{x} + y); });
  check_binary<T>(Op::subtract, [](T x, T y) { return wrapped<T>(Wide{x} - y); });
  check_binary<T>(Op::multiply, [](T x, T y) { return wrapped<T>(Wide{x} * y); });
  check_binary<T>(Op::floor_divide, [](T x, T y) {
    if (y == 0) return T(0);
    Wide q = Wide{x} / y;
    if (q * y != x && (x < 0) != (y < 0)) --q;
    return wrapped<T>(q);
  });
  check_binary<T>(Op::remainder, [](T x, T y) {
    if (y == 0) return T(0);
    const Wide r = Wide{x} % y;
    return wrapped<T>(r != 0 && (r < 0) != (y < 0) ? r + y : r);
  });
  check_binary<T>(Op::power, [](T x, T y) {
    if (y < 0) return x == 1 ? T(1) : x == -1 ? T(y % 2 ? -1 : 1) : T(0);
    if (x == 0 || x == 1) return y == 0 ? T(1) : x;
    if (x == -1) return T(y % 2 ? -1 : 1);
    if (x % 2 == 0 && y >= bits) return T(0);
    T result = 1;  // square and multiply from the top bit, another way round than the one tested
    for (int bit = bits - 2; bit >= 0; --bit) {
      result = wrapped<T>(Wide{result} * result);
      if (y >> bit & 1) result = wrapped<T>(Wide{result} * x);
    }
    return result;
  });
  check_binary<T>(Op::minimum, [](T x, T y) { return std::min(x, y); });
  check_binary<T>(Op::maximum, [](T x, T y) { return std::max(x, y); });
  check_binary<T>(Op::gcd, [](T x, T y) {
    const auto magnitude = [](T v) { return v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v); };
    return static_cast<T>(std::gcd(magnitude(x), magnitude(y)));
  });
  check_binary<T>(Op::bitwise_and, [](T x, T y) { return x & y; });
  check_binary<T>(Op::bitwise_or, [](T x, T y) { return x | y; });
  check_binary<T>(Op::bitwise_xor, [](T x, T y) { return x ^ y; });
  check_binary<T>(Op::left_shift, [](T x, T y) { return y < 0 || y >= bits ? T(0) : wrapped<T>(Wide{x} * (Wide{1} << y)); });
  check_binary<T>(Op::philox, [](T x, T y) { return static_cast<T>(testing::philox_reference(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y))); });
  check_binary<T>(Op::right_shift, [](T x, T y) { return y < 0 || y >= bits ? T(x < 0 ? -1 : 0) : T(x >> y); });
}

template <class T>
void check_comparisons() {
  check_binary<T, bool>(Op::equal, [](T x, T y) { return x == y; });
  check_binary<T, bool>(Op::not_equal, [](T x, T y) { return x != y; });
  check_binary<T, bool>(Op::less, [](T x, T y) { return x < y; });
  check_binary<T, bool>(Op::less_equal, [](T x, T y) { return x <= y; });
}

template <class From, class To>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const long double t = std::trunc(static_cast<long double>(x));
    using limits = std::numeric_limits<To>;
    return t >= static_cast<long double>(limits::min()) && t <= static_cast<long double>(limits::max()) ? static_cast<To>(t)
                                                                                                        : limits::min();
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    return wrapped<To>(x);
  } else {
    return static_cast<To>(x);
  }
}
template <class From, class To>
void check_cast() {
  const auto a = special_values<From>();
  const auto got = run<To>(Op::cast, a, {});
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO(TypeName<From>::text(), " ", static_cast<long double>(a[k]), " to ", TypeName<To>::text(), " gave ",
         static_cast<long double>(got[k]));
    CHECK(same<To>(got[k], converted<From, To>(a[k])));
  }
}
template <class From>
void check_casts() {
  check_cast<From, bool>();
  check_cast<From, std::int32_t>();
  check_cast<From, std::int64_t>();
  check_cast<From, float>();
  check_cast<From, double>();
}

template <class T>
void check_where() {
  const auto values = special_values<T>();
  const auto n = values.size();
  auto condition = std::make_unique<bool[]>(n);
  auto x = std::make_unique<T[]>(n), y = std::make_unique<T[]>(n), out = std::make_unique<T[]>(n);
  for (std::size_t k = 0; k < n; ++k) {
    condition[k] = k % 3 != 1;
    x[k] = values[k];
    y[k] = values[n - 1 - k];
  }
  const void* args[] = {condition.get(), x.get(), y.get()};
  elementwise_kernel(Op::where, dtype_of<T>, dtype_of<T>)(static_cast<std::int64_t>(n), args, out.get());
  for (std::size_t k = 0; k < n; ++k) CHECK(same<T>(out[k], k % 3 != 1 ? x[k] : y[k]));
}

}  // namespace

TEST_CASE("float ops") {
  check_float<float>();
  check_float<double>();
}

TEST_CASE("integer ops wrap and divide as NumPy does") {
  check_int<std::int32_t>();
  check_int<std::int64_t>();
}

TEST_CASE("bool ops") {
  check_unary<bool>(Op::absolute, [](bool x) { return x; });
  check_unary<bool>(Op::bitwise_not, [](bool x) { return !x; });
  check_binary<bool>(Op::add, [](bool x, bool y) { return x || y; });
  check_binary<bool>(Op::multiply, [](bool x, bool y) { return x && y; });
  check_binary<bool>(Op::minimum, [](bool x, bool y) { return x && y; });
  check_binary<bool>(Op::maximum, [](bool x, bool y) { return x || y; });
  check_binary<bool>(Op::bitwise_and, [](bool x, bool y) { return x && y; });
  check_binary<bool>(Op::bitwise_or, [](bool x, bool y) { return x || y; });
  check_binary<bool>(Op::bitwise_xor, [](bool x, bool y) { return x != y; });
}

TEST_CASE("comparisons, where and casts of every type") {
  check_comparisons<float>();
  check_comparisons<double>();
  check_comparisons<std::int32_t>();
  check_comparisons<std::int64_t>();
  check_comparisons<bool>();
  check_where<float>();
  check_where<double>();
  check_where<std::int32_t>();
  check_where<std::int64_t>();
  check_where<bool>();
  check_casts<float>();
  check_casts<double>();
  check_casts<std::int32_t>();
  check_casts<std::int64_t>();
  check_casts<bool>();
}

TEST_CASE("floor_divide and remainder of floats give what NumPy 2 gives") {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> values = {0., -0., 1., -2.5, 7., -0.3, 1e30, kInf, -kInf, kNaN};
  struct Pair {
    double quotient, remainder;
  };
  // numpy.floor_divide and numpy.remainder of each pair of values, first operand slowest, by NumPy 2.4
  // clang-format off
  const Pair expected[] = {
      {kNaN, kNaN}, {kNaN, kNaN}, {0., 0.}, {-0., -0.}, {0., 0.}, {-0., -0.}, {0., 0.}, {0., 0.}, {-0., -0.},
      {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {-0., 0.}, {0., -0.}, {-0., 0.}, {0., -0.}, {-0., 0.}, {-0., 0.},
      {0., -0.}, {kNaN, kNaN}, {kInf, kNaN}, {-kInf, kNaN}, {1., 0.}, {-1., -1.5}, {0., 1.},
      {-4., -0.19999999999999996}, {0., 1.}, {0., 1.}, {-1., -kInf}, {kNaN, kNaN}, {-kInf, kNaN}, {kInf, kNaN},
      {-3., 0.5}, {1., -0.}, {-1., 4.5}, {8., -0.10000000000000009}, {-1., 1e+30}, {-1., kInf}, {0., -2.5},
      {kNaN, kNaN}, {kInf, kNaN}, {-kInf, kNaN}, {7., 0.}, {-3., -0.5}, {1., 0.}, {-24., -0.19999999999999973},
      {0., 7.}, {0., 7.}, {-1., -kInf}, {kNaN, kNaN}, {-kInf, kNaN}, {kInf, kNaN}, {-1., 0.7}, {0., -0.3}, {-1., 6.7},
      {1., -0.}, {-1., 1e+30}, {-1., kInf}, {0., -0.3}, {kNaN, kNaN}, {kInf, kNaN}, {-kInf, kNaN}, {1e+30, 0.},
      {-4.0000000000000004e+29, -1.5}, {1.4285714285714285e+29, 5.}, {-3.3333333333333336e+30, -0.013213783150657965},
      {1., 0.}, {0., 1e+30}, {-1., -kInf}, {kNaN, kNaN}, {kInf, kNaN}, {-kInf, kNaN}, {kNaN, kNaN}, {kNaN, kNaN},
      {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {-kInf, kNaN}, {kInf, kNaN},
      {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN},
      {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN}, {kNaN, kNaN},
      {kNaN, kNaN}, {kNaN, kNaN}
  };
  // clang-format on
  std::vector<double> a, b;
  for (double x : values)
    for (double y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  const auto quotient = run<double>(Op::floor_divide, a, b), remainder = run<double>(Op::remainder, a, b);
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO(a[k], " divided by ", b[k], " gave ", quotient[k], " and ", remainder[k]);
    CHECK(same(quotient[k], expected[k].quotient));
    CHECK(same(remainder[k], expected[k].remainder));
  }

  // float32: a whole quotient, a remainder of the divisor's sign, and together the dividend
  const auto seed = std::random_device{}();
  std::mt19937 random(seed);
  INFO("seed ", seed);
  std::normal_distribution<float> normal(0, 10);
  std::vector<float> x(2000), y(2000);
  for (auto& v : x) v = normal(random);
  for (auto& v : y) v = normal(random);
  const auto q = run<float>(Op::floor_divide, x, y), r = run<float>(Op::remainder, x, y);
  for (std::size_t k = 0; k < x.size(); ++k) {
    CHECK(q[k] == std::floor(q[k]));
    CHECK(std::signbit(r[k]) == std::signbit(y[k]));
    CHECK(std::fabs(double(q[k]) * y[k] + r[k] - x[k]) <= 1e-6 * (std::fabs(x[k]) + std::fabs(y[k])));
  }
}

TEST_CASE("every row of the table has a kernel for the types it accepts and for no other") {
  constexpr DType types[] = {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64};
  for (int number = 0; number < trace::primitive_count(); ++number) {
    const auto& row = trace::primitive(static_cast<Op>(number));
    for (DType type : types) {
      INFO(row.name, " ", name(type));
      const DType result = row.result == trace::Result::boolean ? DType::bool_ : type;
      const bool takes = row.kind == trace::OpKind::elementwise && (row.accepts & trace::dtype_class(type));
      CHECK(static_cast<bool>(elementwise_kernel(row.op, type, result)) == takes);
    }
  }
}
