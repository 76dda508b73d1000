// Functions that are composed of primitives, in float32, float64 and float16, compared with plain C++ in long double. test_dtypes compares types and special
// values with NumPy; test_llvm_math measures the primitives' accuracy.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "program.hpp"

namespace {

using Real = long double;

Real sigmoid(Real x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::fmax(x, Real(0)) + std::log1p(std::exp(-std::fabs(x))); }
Real relu6(Real x) { return x < 0 ? 0 : x > 6 ? 6 : x; }  // a NaN stays
Real elu(Real x, Real alpha) { return x > 0 ? x : alpha * std::expm1(x); }

struct Function {
  const char* name;
  Tensor (*ours)(const sn::Arg&);
  Real (*reference)(Real);
  double ulps;  // allowed error if factors are rounded one by one
};
const Function kFunctions[] = {
    {"sigmoid", sn::sigmoid, sigmoid, 1.7},
    {"silu", sn::silu, +[](Real x) { return x * sigmoid(x); }, 2.75},
    {"gelu", +[](const sn::Arg& x) { return sn::gelu(x); }, +[](Real x) { return x * std::erfc(-x * std::sqrt(Real(0.5))) / 2; }, 4},
    {"softplus", sn::softplus, softplus, 3},
    {"mish", sn::mish, +[](Real x) { return x * std::tanh(softplus(x)); }, 5},
    {"leaky_relu", +[](const sn::Arg& x) { return sn::leaky_relu(x, 0.25); }, +[](Real x) { return x < 0 ? x / 4 : x; }, 0.51},
    {"elu", +[](const sn::Arg& x) { return sn::elu(x, 0.5); }, +[](Real x) { return elu(x, 0.5); }, 2},
    {"celu", +[](const sn::Arg& x) { return sn::celu(x, 2); }, +[](Real x) { return x > 0 ? x : 2 * std::expm1(x / 2); }, 2},
    {"selu", sn::selu, +[](Real x) { return Real(1.0507009873554804934193349852946L) * elu(x, Real(1.6732632423543772848170429916717L)); }, 5},
    {"hard_sigmoid", sn::hard_sigmoid, +[](Real x) { return relu6(x + 3) / 6; }, 1e30},  // x + 3 loses digits by cancellation, so the error is absolute
    {"hard_swish", sn::hard_swish, +[](Real x) { return x * relu6(x + 3) / 6; }, 1e30},
    {"sinc", sn::sinc,
     +[](Real x) { return x == 0 ? 1 : std::sin(Real(3.14159265358979323846264338327950288L) * x) / (Real(3.14159265358979323846264338327950288L) * x); },
     1e30},
};

template <class T> constexpr int kDigits = std::numeric_limits<T>::digits;

/// Returns moderate numbers and both tails, up to where the result vanishes.
template <class T> std::vector<T> arguments() {
  std::mt19937_64 random(5);
  std::vector<T> x{T(0.f), T(-0.f), std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()};
  const double end = kDigits<T> == 53 ? 700 : kDigits<T> == 24 ? 85 : 9;
  for (const double width : {0.1, 1.0, 4.0, 13.0, end})
    for (int k = 0; k < 700; ++k) {
      const double v = std::uniform_real_distribution<double>(-width, width)(random);
      if (std::fabs(v) < end) x.push_back(static_cast<T>(static_cast<float>(v)));
    }
  return x;
}

}  // namespace

TEST_CASE_TEMPLATE("activations are accurate from the middle to the tails", T, float, double, sn::half) {
  const std::vector<T> x = arguments<T>();
  const Tensor given = sn::from_span(x);
  for (const Function& f : kFunctions) {
    CAPTURE(f.name);
    const std::vector<T> got = f.ours(given).template to_vector<T>();
    int wrong = 0;
    for (std::size_t k = 0; k < x.size() && wrong < 3; ++k) {
      const auto v = static_cast<Real>(static_cast<double>(x[k]));
      const Real want = f.reference(v);
      const auto value = static_cast<double>(got[k]);
      if (std::isnan(v) || !std::isfinite(v)) {
        if (std::isnan(want) ? std::isnan(value) : value == static_cast<double>(want)) continue;
        if (!std::isfinite(v) && std::isnan(want)) continue;  // inf * 0 in the reference's formula
      } else {
        int exponent = 0;
        std::frexp(want, &exponent);
        // On CUDA the errors of its float32 functions (2 ULP) and of its normal distribution (5 ULP) are added.
        const double ulps = f.ulps + (sinter::testing::on_gpu() ? 4 : 0);
        const Real unit = std::ldexp(Real(1), std::max(exponent, std::numeric_limits<T>::min_exponent) - kDigits<T>);
        const Real absolute = f.ulps > 1e29 ? std::ldexp(std::fabs(v) + 4, 1 - kDigits<T>) : ulps * unit;
        // A factor that is subnormal has few digits itself.
        const Real subnormal = 8 * (1 + std::fabs(v)) * static_cast<Real>(static_cast<double>(std::numeric_limits<T>::denorm_min()));
        if (std::fabs(value - want) <= absolute + subnormal) continue;
      }
      ++wrong;
      CAPTURE(static_cast<double>(x[k]));
      CHECK(value == static_cast<double>(want));
    }
  }
}

TEST_CASE_TEMPLATE("small whole and half powers, as products and roots, are within the bounds of power", T, float, double, sn::half) {
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(11);
  std::vector<T> x{limits::infinity(), static_cast<T>(-limits::infinity()), limits::quiet_NaN(), limits::max(), limits::min(), limits::denorm_min()};
  for (const float v : {0.f, -0.f, 1.f, -1.f}) x.push_back(static_cast<T>(v));
  const double span = kDigits<T> == 53 ? 1000 : kDigits<T> == 24 ? 120 : 14;
  for (const double width : {0.5, 4.0, span / 8, span})
    for (int k = 0; k < 300; ++k) {
      const double sign = k % 4 == 0 ? -1 : 1;
      x.push_back(static_cast<T>(
          static_cast<std::conditional_t<kDigits<T> == 53, double, float>>(sign * std::exp2(std::uniform_real_distribution<double>(-width, width)(random)))));
    }
  const Tensor given = sn::from_span(x);
  for (double n = -8; n <= 8; n += 0.5) {
    if (n == 0 || n == 0.5 || (std::fabs(n) > 4.5 && n != std::trunc(n))) continue;  // x**0.5 is NumPy's sqrt
    CAPTURE(n);
    const Tensor y = sn::power(given, n);
    CHECK(y.dtype() == given.dtype());
    CHECK(sn::explain(y).find("power") == std::string::npos);
    const std::vector<T> got = y.template to_vector<T>();
    const bool in_float32 = n == 3 || n == 4 || n == 1.5 || n == -0.5;  // others are computed in double and rounded once
    const double ulps = kDigits<T> == 24 && in_float32 ? 1.93 : 0.75;
    int wrong = 0;
    for (std::size_t k = 0; k < x.size() && wrong < 3; ++k) {
      const auto base = static_cast<double>(x[k]);
      const Real want = std::pow(static_cast<Real>(base), static_cast<Real>(n));
      const auto value = static_cast<double>(got[k]);
      int exponent = 0;
      std::frexp(want, &exponent);
      const Real unit = std::ldexp(Real(1), std::max(exponent, limits::min_exponent) - kDigits<T>),
                 largest = static_cast<Real>(static_cast<double>(limits::max()));
      const bool right = std::isnan(want)                ? std::isnan(value)
                         : std::isinf(want) || want == 0 ? value == static_cast<double>(want) && std::signbit(value) == std::signbit(want)
                         : std::isinf(value)             ? std::fabs(want) >= largest - unit && (value < 0) == (want < 0)
                                                         : std::fabs(value - want) <= ulps * unit;
      if (right) continue;
      ++wrong;
      CAPTURE(base);
      CHECK(value == static_cast<double>(want));
    }
  }
  const Tensor whole = Tensor{std::int64_t{-7}, std::int64_t{0}, std::int64_t{3'000'000'000}};
  CHECK(sn::power(whole, 5).template to_vector<std::int64_t>() ==
        std::vector<std::int64_t>{-16807, 0, static_cast<std::int64_t>(243ull * 1000000000 * 1000000000 * 1000000000 * 1000000000 * 1000000000)});
  CHECK(sn::power(whole, 2.5).dtype() == DType::float64);
  CHECK_THROWS_AS(sn::power(whole, -3), sn::ValueError);
}

namespace {

/// Returns a number whose quotient by `divisor` has a significand of M / 2^24 + distance / (divisor's significand 2^(24 + shift)) with an odd M, or 0: with
/// whole significands A, B and distances c, A 2^k = B M - c, so that M is c / B modulo 2^k.
float beside_middle(float divisor, int shift, int distance) {
  int exponent = 0;
  const auto b = static_cast<std::uint64_t>(std::isfinite(divisor) ? std::ldexp(std::frexp(std::fabs(divisor), &exponent), 24) : 0);
  if (b % 2 == 0 || exponent < -60 || exponent > 60) return 0;
  std::uint64_t inverse = b;
  for (int step = 0; step < 5; ++step) inverse *= 2 - b * inverse;
  const int k = 24 + shift;
  const std::uint64_t c = static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
  for (std::uint64_t m = c * inverse % (std::uint64_t{1} << k); m < std::uint64_t{1} << 25; m += std::uint64_t{1} << k) {
    const std::uint64_t a = (b * m - c) >> k;
    if (m % 2 == 1 && m >> 24 == 1 && a >> 23 == 1) return std::ldexp(static_cast<float>(a), exponent - 24);
  }
  return 0;
}

}  // namespace

TEST_CASE_TEMPLATE("quotients by one number are rounded as divisions are, in rows, columns and alone", T, float, double) {
  using limits = std::numeric_limits<T>;
  std::mt19937_64 random(sinter::testing::fresh_seed());
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const std::vector<T> special{T(0),          -T(0),        1, -1, 3, limits::infinity(), -limits::infinity(), limits::quiet_NaN(), limits::denorm_min(),
                               limits::max(), limits::min()};
  const auto any = [&] {
    if (whole(0, 9) < 3) return special[static_cast<std::size_t>(whole(0, static_cast<int>(special.size()) - 1))];
    const int exponent = whole(0, 2) ? whole(-6, 6) : whole(-limits::max_exponent - 10, limits::max_exponent - 1);
    const T size = std::ldexp(std::uniform_real_distribution<T>(1, 2)(random), exponent);
    return whole(0, 1) ? size : -size;
  };
  const auto check = [](T got, T above, T below) {
    const T want = above / below;
    INFO(above, " / ", below, " gives ", got);
    if (std::isnan(want) || std::isinf(want) || want == 0 || !sinter::testing::on_gpu()) {
      REQUIRE((std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want)));
      return;
    }
    // On a GPU the remainder of the least numerators is not exact.
    const bool least = std::fabs(above) < std::ldexp(T(1), 4 - limits::max_exponent + limits::digits) || std::fabs(want) < limits::min();
    const Real ulp = std::ldexp(Real(1), std::max(std::ilogb(want), limits::min_exponent - 1) + 1 - limits::digits);
    REQUIRE(std::fabs(Real(got) - Real(above) / Real(below)) <= (least ? Real(1.5) : Real(0.5005)) * ulp);
  };
  for (int trial = 0; trial < 12; ++trial) {
    const std::int64_t rows = whole(1, 40), columns = whole(1, 150);
    std::vector<T> x(static_cast<std::size_t>(rows * columns)), of_row(static_cast<std::size_t>(rows)), of_column(static_cast<std::size_t>(columns));
    for (auto* const list : {&x, &of_row, &of_column})
      for (T& v : *list) v = any();
    const T alone = any();
    if constexpr (limits::digits == 24)
      for (std::size_t r = 0; r < of_row.size(); r += 2)  // numerators whose quotients are next to the middle between two floats
        for (std::size_t k = 0; k < of_column.size(); ++k)
          if (const float hard = beside_middle(of_row[r], whole(0, 1), whole(-6, 6)); hard > 0) x[r * of_column.size() + k] = hard;
    std::vector<T> over;  // each row's divisor in all of its columns, so that the row's maximum is the divisor
    for (const T divisor : of_row) over.insert(over.end(), static_cast<std::size_t>(columns), divisor);
    const Tensor given = sn::from_span(x, {rows, columns});
    Tensor rows_direct = given / sn::from_span(of_row, {rows, 1}), columns_direct = given / sn::from_span(of_column, {1, columns}), by_literal = given / alone;
    Tensor row_maximum = given / sn::max(sn::from_span(over, {rows, columns}), 1, true);
    const auto a = rows_direct.template to_vector<T>(), b = columns_direct.template to_vector<T>(), c = by_literal.template to_vector<T>(),
               d = row_maximum.template to_vector<T>();
    for (std::size_t r = 0; r < of_row.size(); ++r)
      for (std::size_t k = 0; k < of_column.size(); ++k) {
        const std::size_t i = r * of_column.size() + k;
        check(a[i], x[i], of_row[r]);
        check(b[i], x[i], of_column[k]);
        check(c[i], x[i], alone);
        check(d[i], x[i], of_row[r]);
      }
  }
}

TEST_CASE("the tails that a formula with one exponential would lose are accurate") {
  const auto near = [](const Tensor& y, double want, double share) {
    const double got = y.astype(DType::float64).item<double>();
    INFO(got, " for ", want);
    CHECK(std::fabs(got - want) <= share * std::fabs(want));
  };
  near(sn::sigmoid(Tensor{-88.7f}), 3.006635e-39, 1e-3);
  near(sn::silu(Tensor{-91.f}), -2.743112e-38, 1e-3);
  near(sn::gelu(Tensor{-11.7f}), -7.456046e-31, 1e-3);
  near(sn::sigmoid(Tensor{-740.0}), 4.18874e-322, 0.02);
  near(sn::gelu(Tensor{-37.0}), -37 * 5.72557122252457682e-300, 1e-4);
  near(sn::gelu(Tensor{-9.f}, sn::Approximate::tanh), -9.0 / (1 + std::exp(2 * 0.79788456080286535588 * (9 + 0.044715 * 729))), 1e-4);
}

TEST_CASE_TEMPLATE("elementwise functions of several arguments", T, float, double) {
  std::mt19937_64 random(9);
  std::vector<T> a(3 * 101), b(101), c(3 * 101);
  for (auto* list : {&a, &b, &c})
    for (T& v : *list) v = static_cast<T>(std::round(std::normal_distribution<double>(0, 8)(random)) / 4);
  const Tensor x = sn::from_span(a, sn::Shape{3, 101}), row = sn::from_span(b), z = sn::from_span(c, sn::Shape{3, 101});
  const auto check = [&](const char* name, const Tensor& y, auto reference, double tolerance) {
    CAPTURE(name);
    const std::vector<T> got = y.template to_vector<T>();
    REQUIRE(got.size() == a.size());
    int wrong = 0;
    for (std::size_t k = 0; k < got.size() && wrong < 3; ++k) {
      const double want = static_cast<double>(reference(Real(a[k]), Real(b[k % b.size()]), Real(c[k])));
      if (std::isnan(want) ? std::isnan(got[k]) : std::fabs(got[k] - want) <= tolerance * (1 + std::fabs(want))) continue;
      ++wrong;
      CAPTURE(k);
      CHECK(static_cast<double>(got[k]) == want);
    }
  };
  const double eps = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  check("lerp", sn::lerp(x, row, z), [](Real p, Real q, Real t) { return p + t * (q - p); }, 8 * eps);
  check("logaddexp", sn::logaddexp(x, row), [](Real p, Real q, Real) { return std::log(std::exp(p) + std::exp(q)); }, eps);
  check("logaddexp2", sn::logaddexp2(x, row), [](Real p, Real q, Real) { return std::log2(std::exp2(p) + std::exp2(q)); }, eps);
  check("select", sn::select({x < 0, row > 1}, {row, z}, 7), [](Real p, Real q, Real r) { return p < 0 ? q : q > 1 ? r : 7; }, 0);
  check(
      "piecewise", sn::piecewise(x, {x < 0, x < -1}, {row, z, Tensor(sn::full({}, 5))}), [](Real p, Real q, Real r) { return p < -1  ? r
                                                                                                                             : p < 0 ? q
                                                                                                                                     : 5; }, 0);
  check("heaviside", sn::heaviside(x, row), [](Real p, Real q, Real) { return p < 0 ? 0 : p > 0 ? 1 : q; }, 0);
  check("divmod", sn::divmod(x, row).first * row + sn::divmod(x, row).second, [](Real p, Real q, Real) { return q == 0 ? NAN : p; }, eps);
  check("clipped", sn::fmin(sn::fmax(x, row), z), [](Real p, Real q, Real r) { return std::fmin(std::fmax(p, q), r); }, 0);
  check(
      "isclose", sn::isclose(x, row, 0.25, 0.5).astype(sn::dtype_of<T>), [](Real p, Real q, Real) { return std::fabs(p - q) <= 0.5 + 0.25 * std::fabs(q); }, 0);
  CHECK(sn::allclose(x, x + 1e-9).template item<bool>());
  CHECK_FALSE(sn::allclose(x, x + 1).template item<bool>());
  const Tensor both = sn::concatenate({x, z}, 1);
  check("glu", sn::glu(both), [](Real p, Real, Real r) { return p * sigmoid(r); }, eps);
  check("swiglu", sn::swiglu(both), [](Real p, Real, Real r) { return p * sigmoid(p) * r; }, eps);
  const Tensor stacked = sn::concatenate({x, z}, 0);
  check("glu of rows", sn::glu(stacked, 0), [](Real p, Real, Real r) { return p * sigmoid(r); }, eps);
}

TEST_CASE_TEMPLATE("ldexp rounds once, and frexp is its inverse", T, float, double) {
  std::vector<T> x{T(0), -T(0), T(1), std::numeric_limits<T>::max(), std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::infinity()};
  std::mt19937_64 random(3);
  constexpr int range = std::numeric_limits<T>::max_exponent - std::numeric_limits<T>::min_exponent + std::numeric_limits<T>::digits;
  for (int k = 0; k < 2000; ++k)
    x.push_back(std::ldexp(static_cast<T>(std::uniform_real_distribution<double>(-2, 2)(random)), static_cast<int>(random() % range) - range / 2));
  std::vector<std::int64_t> n(x.size());
  for (std::size_t k = 0; k < n.size(); ++k) n[k] = static_cast<std::int64_t>(random() % (3 * range)) - 3 * range / 2;
  n[2] = std::int64_t{1} << 40;
  const Tensor given = sn::from_span(x), exponents = sn::from_span(n);
  const std::vector<T> scaled = sn::ldexp(given, exponents).template to_vector<T>();
  const auto [fraction, exponent] = sn::frexp(given);
  REQUIRE(exponent.dtype() == DType::int32);
  const std::vector<T> f = fraction.template to_vector<T>();
  const std::vector<std::int32_t> e = exponent.template to_vector<std::int32_t>();
  for (std::size_t k = 0; k < x.size(); ++k) {
    CAPTURE(x[k]);
    REQUIRE(scaled[k] == std::ldexp(x[k], static_cast<int>(std::min<std::int64_t>(n[k], 100000))));
    int want = 0;
    REQUIRE(f[k] == std::frexp(x[k], &want));
    if (std::isfinite(x[k])) REQUIRE(e[k] == want);
  }
}

TEST_CASE_TEMPLATE("uint64 and signed integers are compared exactly", T, std::int8_t, std::int16_t, std::int32_t, std::int64_t) {
  using limits = std::numeric_limits<T>;
  const std::vector<T> some{limits::min(), limits::min() + 1, -2, -1, 0, 1, 2, limits::max() - 1, limits::max()};
  std::vector<T> x;
  std::vector<std::uint64_t> y;
  for (const T element : some)
    for (const std::uint64_t other :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, static_cast<std::uint64_t>(limits::max()), static_cast<std::uint64_t>(limits::max()) + 1,
          static_cast<std::uint64_t>(limits::min()), static_cast<std::uint64_t>(-1)}) {
      x.push_back(element);
      y.push_back(other);
    }
  const Tensor a = sn::from_span(x), b = sn::from_span(y);
  const auto check = [&](const Tensor& found, auto compare) {
    const auto values = found.to_vector<bool>();
    for (std::size_t k = 0; k < x.size(); ++k) {
      INFO(static_cast<std::int64_t>(x[k]), " and ", y[k]);
      CHECK(values[k] == compare(x[k], y[k]));
    }
  };
  const auto turned = [](auto compare) { return [compare](auto left, auto right) { return compare(right, left); }; };
  check(a == b, [](auto l, auto r) { return std::cmp_equal(l, r); }), check(b == a, [](auto l, auto r) { return std::cmp_equal(l, r); });
  check(a != b, [](auto l, auto r) { return std::cmp_not_equal(l, r); }), check(b != a, [](auto l, auto r) { return std::cmp_not_equal(l, r); });
  const auto less = [](auto l, auto r) { return std::cmp_less(l, r); };
  const auto less_equal = [](auto l, auto r) { return std::cmp_less_equal(l, r); };
  check(a < b, less), check(b > a, less), check(b < a, turned(less)), check(a > b, turned(less));
  check(a <= b, less_equal), check(b >= a, less_equal), check(b <= a, turned(less_equal)), check(a >= b, turned(less_equal));
}

TEST_CASE("errors of elementwise functions name the function and the type") {
  const Tensor x = sn::zeros({4}, DType::float32), i = sn::zeros({4}, DType::int32);
  CHECK_THROWS_AS(sn::ldexp(x, x), sn::DTypeError);
  CHECK_THROWS_AS(sn::gcd(x, i), sn::DTypeError);
  CHECK_THROWS_AS(sn::bitwise_count(x), sn::DTypeError);
  CHECK_THROWS_AS(sn::select({x > 0}, {x, x}), sn::ValueError);
  CHECK_THROWS_AS(sn::piecewise(x, {x > 0}, {}), sn::ValueError);
  CHECK_THROWS_AS(sn::celu(x, 0), sn::ValueError);
  CHECK_THROWS_AS(sn::glu(sn::zeros({3, 5})), sn::ShapeError);
}

TEST_CASE("one kernel computes a function of float32 and of float64") {
  const Tensor x = sn::from_span(std::vector<float>{0.25f, 0.5f, 0.75f}, {3}), wide = x.astype(DType::float64);
  CHECK(sn::max(sn::abs(sn::erfinv(x) - sn::erfinv(wide)) + sn::abs(sn::lgamma(x) - sn::lgamma(wide))).item<double>() < 1e-6);
}

TEST_CASE_TEMPLATE("the bits of the least integer's magnitude are counted in its own width", T, std::int8_t, std::int16_t, std::int32_t, std::int64_t) {
  using limits = std::numeric_limits<T>;
  const Tensor x = sn::from_span(std::vector<T>{limits::min(), limits::max(), -1, 0, static_cast<T>(limits::min() + 1)}, {5});
  CHECK(sn::bitwise_count(x).to_vector<std::uint8_t>() == std::vector<std::uint8_t>{1, limits::digits, 1, 0, limits::digits});
}
