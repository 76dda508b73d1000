// Every row of the table of primitives, on every type it takes, against the C++ language or long double, value by value.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host_data_stub.hpp"
#include "kernels/primitives/interpreter_kernels.hpp"
#include "primitive_reference.hpp"
#include "seed.hpp"
#include "sinter/dtype.hpp"

using namespace sinter;
using kernels::elementwise_kernel;
using trace::Op;

namespace {

const std::uint32_t seed = testing::test_seed();

template <class T> std::vector<T> special_values() {
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(seed);
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

/// The same bits, but for which NaN it is.
template <class T> bool same(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    return x == y && std::signbit(x) == std::signbit(y);
  } else {
    return x == y;
  }
}

template <class T> struct TypeName {
  static std::string text() { return std::string(name(dtype_of<T>)); }
};

/// Runs op over tiles of n elements and, for binary ops, over each element by itself; both must agree. Returns the results.
template <class R, class T> std::vector<R> run(Op op, const std::vector<T>& a, const std::vector<T>& b) {
  const auto n = static_cast<std::int64_t>(a.size());
  std::vector<R> out(a.size());
  auto raw = std::make_unique<T[]>(2 * a.size());  // std::vector<bool> has no elements
  auto result = std::make_unique<R[]>(a.size());
  std::copy(a.begin(), a.end(), raw.get());
  if (!b.empty()) std::copy(b.begin(), b.end(), raw.get() + n);
  const void* args[] = {raw.get(), raw.get() + n, nullptr};
  std::memset(result.get(), 0x01, a.size() * sizeof(R));
  const kernels::TileFn kernel = elementwise_kernel(op, dtype_of<T>, dtype_of<R>);
  REQUIRE(static_cast<bool>(kernel));
  kernel(n, args, result.get());
  std::copy_n(result.get(), n, out.begin());
  if (!b.empty()) {
    for (std::int64_t k = 0; k < n; ++k) {
      const void* one[] = {raw.get() + k, raw.get() + n + k, nullptr};
      R again;
      kernel(1, one, &again);
      CHECK(same<R>(again, out[k]));
    }
  }
  return out;
}

template <class R, class T> void check_results(Op op, const std::vector<T>& a, const std::vector<T>& b) {
  const auto got = run<R>(op, a, b);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const T x = a[k], y = b.empty() ? T() : T(b[k]);
    INFO(trace::name(op), " ", TypeName<T>::text(), " of ", static_cast<long double>(x), ", ", static_cast<long double>(y), " gave ",
         static_cast<long double>(got[k]), ", seed ", seed);
    CHECK(testing::is_right<T>(op, x, y, static_cast<R>(got[k])));
  }
}

/// Every elementwise row that takes T, on special and random values, of two operands in all pairs.
template <class T> void check_ops() {
  const auto values = special_values<T>();
  std::vector<T> left, right;
  for (T x : values)
    for (T y : values) left.push_back(x), right.push_back(y);
  for (int number = 0; number < trace::primitive_count(); ++number) {
    const auto& row = trace::primitive(static_cast<Op>(number));
    if (!trace::is_elementwise(row.op) || row.op == Op::cast || row.op == Op::where || !(row.accepts & trace::dtype_class(dtype_of<T>))) continue;
    const auto& a = row.arity == 1 ? values : left;
    const auto& b = row.arity == 1 ? std::vector<T>{} : right;
    if (row.result == trace::Result::boolean) check_results<bool>(row.op, a, b);
    else check_results<T>(row.op, a, b);
  }
}

__extension__ using Wide = __int128;
/// Returns the low bits of the operation's unbounded result.
template <class T> T wrapped(Wide x) { return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x)); }

template <class From, class To> To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    const long double t = std::trunc(static_cast<long double>(x));
    using limits = std::numeric_limits<To>;
    return t >= static_cast<long double>(limits::min()) && t <= static_cast<long double>(limits::max()) ? static_cast<To>(t) : limits::min();
  } else if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    return wrapped<To>(x);
  } else {
    return static_cast<To>(x);
  }
}
template <class From, class To> void check_cast() {
  const auto a = special_values<From>();
  const auto got = run<To>(Op::cast, a, {});
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO(TypeName<From>::text(), " ", static_cast<long double>(a[k]), " to ", TypeName<To>::text(), " gave ", static_cast<long double>(got[k]));
    CHECK(same<To>(got[k], converted<From, To>(a[k])));
  }
}
template <class From> void check_casts() {
  check_cast<From, bool>();
  check_cast<From, std::int32_t>();
  check_cast<From, std::int64_t>();
  check_cast<From, float>();
  check_cast<From, double>();
}

template <class T> void check_where() {
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

TEST_CASE_TEMPLATE("every elementwise op", T, bool, std::int32_t, std::int64_t, float, double) { check_ops<T>(); }

TEST_CASE("where and casts of every type") {
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
