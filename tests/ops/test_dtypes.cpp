// Element types that NumPy has not: their promotion, conversions and rounding; and what every element type can do. Functions of each type are golden
// expressions (test_golden).
#include "program.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <sstream>

#include <unistd.h>

#include "bytes_of.hpp"

using sinter::testing::bytes_of;

TEST_CASE("promotion with floating types that NumPy lacks") {
  const auto both = [](DType a, DType b) { return (sn::placeholder({1}, a) + sn::placeholder({1}, b)).dtype(); };
  for (int i = 0; i < sn::kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (sn::is_numpy(type)) continue;
    CAPTURE(sn::name(type));
    for (int k = 0; k < sn::kDTypeCount; ++k) {
      const auto other = static_cast<DType>(k);
      CAPTURE(sn::name(other));
      const bool same_size = sn::is_floating(other) && sn::itemsize(other) == sn::itemsize(type) && other != type;
      if (same_size && sn::itemsize(type) == 1) {
        CHECK_THROWS_WITH_AS(both(type, other), doctest::Contains("have no common type; convert one of them with astype first"), sn::DTypeError);
        CHECK_THROWS_AS(sn::concatenate({sn::placeholder({1}, type), sn::placeholder({1}, other)}), sn::DTypeError);
        CHECK_THROWS_AS(sn::promote_types(type, other), sn::DTypeError);
        CHECK_FALSE(sn::can_cast(type, other));
        continue;
      }
      const bool wider = sn::is_floating(other) && sn::itemsize(other) > sn::itemsize(type);
      CHECK(both(type, other) == (same_size ? DType::float32 : wider ? other : type));
      CHECK(both(other, type) == both(type, other));
      CHECK(sn::can_cast(type, other) == (wider || other == type));
    }
    CHECK((sn::placeholder({1}, type) * 2.5).dtype() == type);
    CHECK((sn::placeholder({1}, type) + 1).dtype() == type);
    CHECK(sn::sum(sn::placeholder({1}, type)).dtype() == type);
  }
}

namespace {

/// Returns x rounded to a floating type by its unit in the last place, ties to even.
template <class T> double rounded(double x) {
  using limits = std::numeric_limits<T>;
  if (x == 0 || std::isnan(x)) return x;
  const double beyond = limits::has_infinity ? std::numeric_limits<double>::infinity() : std::nan("");
  if (std::isinf(x)) return std::copysign(beyond, x);
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), limits::min_exponent - 1) - (limits::digits - 1));
  const double r = std::nearbyint(x / unit) * unit;
  return std::abs(r) > static_cast<double>(limits::max()) ? std::copysign(beyond, x) : r;
}
/// Returns the value of bits read as sign, exponent and fraction.
template <class T> double decoded(std::uint32_t bits) {
  constexpr int fraction_bits = T::format.fraction, exponent_bits = T::format.exponent, bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1), fraction = bits & ((1 << fraction_bits) - 1);
  double size = std::ldexp(fraction + (exponent > 0 ? 1 << fraction_bits : 0), std::max(exponent, 1) - bias - fraction_bits);
  if (exponent == (1 << exponent_bits) - 1) {
    if (T::format.finite_only) size = fraction == (1 << fraction_bits) - 1 ? std::nan("") : size;
    else size = fraction ? std::nan("") : std::numeric_limits<double>::infinity();
  }
  return bits >> (exponent_bits + fraction_bits) ? -size : size;
}
bool same(double a, double b) { return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b); }

/// Returns numbers of random bits, which have every exponent, and midpoints of two values of the narrow type with their neighbours.
template <class From, class To> std::vector<From> to_round() {
  using Word = std::conditional_t<sizeof(From) == 4, std::uint32_t, std::uint64_t>;
  std::mt19937_64 random(7);
  std::vector<From> values;
  for (int k = 0; k < 20000; ++k) values.push_back(std::bit_cast<From>(static_cast<Word>(random())));
  const auto add_around = [&](double x) {
    const auto middle = static_cast<From>(x);
    values.insert(values.end(), {middle, std::nextafter(middle, From(0)), std::nextafter(middle, From(1e30))});
  };
  for (int k = 0; k < (sizeof(To) == 1 ? 256 : 20000); ++k) {
    const auto bits = static_cast<decltype(To::bits)>(sizeof(To) == 1 ? k : random());
    const auto next = static_cast<decltype(To::bits)>(bits + 1);
    if (next != 0) add_around((decoded<To>(bits) + decoded<To>(next)) / 2);
  }
  const To largest = std::numeric_limits<To>::max(), before = std::bit_cast<To>(static_cast<decltype(To::bits)>(largest.bits - 1));
  for (const double sign : {1.0, -1.0})
    for (const double steps : {0.5, 1.0, 2.0}) add_around(sign * (largest + (static_cast<double>(largest) - before) * steps));
  return values;
}

}  // namespace

#define SINTER_NARROW sn::half, sn::bfloat16, sn::float8_e4m3, sn::float8_e4m3fn, sn::float8_e5m2
TEST_CASE_TEMPLATE("narrow floating types are converted with correct rounding", T, SINTER_NARROW) {
  constexpr DType dtype = sn::dtype_of<T>;
  std::vector<T> all(std::size_t{1} << T::format.bits());
  for (std::size_t k = 0; k < all.size(); ++k) all[k].bits = static_cast<decltype(T::bits)>(k);
  const Tensor x = sn::from_span(all);
  const std::vector<float> wide = x.astype(DType::float32).template to_vector<float>();
  const std::vector<T> back = sn::from_span(wide).astype(dtype).template to_vector<T>();
  int wrong = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double want = decoded<T>(all[k].bits);
    wrong += !same(wide[k], want) + !same(static_cast<float>(all[k]), want);
    wrong += std::isnan(want) ? !std::isnan(static_cast<float>(back[k])) : back[k].bits != all[k].bits;
  }
  CHECK(wrong == 0);
  const auto check = [&](const auto& values) {
    const std::vector<T> got = sn::from_span(values).astype(dtype).template to_vector<T>();
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double want = rounded<T>(static_cast<double>(values[k]));
      const bool right = same(decoded<T>(got[k].bits), want) && same(static_cast<float>(T(values[k])), want);
      if (!right && ++wrong < 4) CHECK_MESSAGE(right, static_cast<double>(values[k]), " gives bits ", got[k].bits);
    }
    CHECK(wrong == 0);
  };
  check(to_round<float, T>());
  check(to_round<double, T>());
  std::vector<std::int32_t> integers;
  std::mt19937 random(9);
  for (int k = 0; k < 5000; ++k) integers.push_back(static_cast<std::int32_t>(random()) >> (k % 31));
  constexpr std::int32_t middle = (1 << 30) + (1 << (30 - std::numeric_limits<T>::digits));  // its neighbours are it when they are rounded to float32 first
  integers.insert(integers.end(), {middle - 1, middle, middle + 1, -middle - 1});
  check(integers);
}

TEST_CASE_TEMPLATE("narrow floating values are computed as float, and as double together with a double", T, SINTER_NARROW) {
  const T a(1.5f), b(-0.25f);
  static_assert(std::is_same_v<decltype(a + b), float> && std::is_same_v<decltype(a * 2), float> && std::is_same_v<decltype(1.0 / a), double>);
  CHECK(a + b == 1.25f);
  CHECK(a - 1 == 0.5f);
  CHECK(2.f * b == -0.5f);
  CHECK(1.0 / a == 1.0 / 1.5);
  CHECK(-a == -1.5f);
  std::ostringstream text;
  text << a << " " << b;
  CHECK(text.str() == "1.5 -0.25");
}

TEST_CASE_TEMPLATE("results of narrow floating types are rounded after every operation, fused or not", T, SINTER_NARROW) {
  std::mt19937 random(11);
  std::vector<T> values;
  for (int k = 0; k < 37 * 53; ++k) values.push_back(T(std::uniform_real_distribution<float>(-3, 3)(random)));
  const Tensor x = sn::from_span(values, sn::Shape{37, 53});
  const auto formula = [&](auto&& done) {
    Tensor y = done(x * x);
    y = done(y + x);
    y = done(y * 1.7);
    y = done(y - done(sn::max(y, -1, true)));
    y = done(sn::exp(y));
    y = done(y / done(sn::sum(y, -1, true)));
    y = done(sn::where(done(x > 0), y, done(-y)));
    return done(sn::sqrt(done(sn::abs(y))));
  };
  const Tensor fused = formula([](const Tensor& y) { return y; });
  const Tensor steps = formula([](const Tensor& y) {
    sn::eval(y);
    return y;
  });
  CHECK(fused.dtype() == sn::dtype_of<T>);
  CHECK(bytes_of(fused) == bytes_of(steps));
}

namespace {

template <class T> void check_values() {
  constexpr DType dtype = sn::dtype_of<T>;
  CAPTURE(sn::name(dtype));
  using limits = std::numeric_limits<T>;
  const auto as_double = [](const Tensor& x) {
    std::vector<double> values;
    for (const auto v : x.to_vector<T>()) values.push_back(static_cast<double>(v));
    return values;
  };
  constexpr bool flag = std::is_same_v<T, bool>;
  CHECK(as_double(sn::zeros({3}, dtype)) == std::vector<double>{0, 0, 0});
  CHECK(as_double(sn::ones({2}, dtype)) == std::vector<double>{1, 1});
  CHECK(as_double(sn::full({2}, 3, dtype)) == std::vector<double>(2, flag ? 1 : 3));
  CHECK(as_double(sn::full({1}, T(1))) == std::vector<double>{1});
  CHECK(sn::full({1}, T(1)).dtype() == dtype);
  CHECK(as_double(sn::arange(4, dtype)) == (flag ? std::vector<double>{0, 1, 1, 1} : std::vector<double>{0, 1, 2, 3}));
  CHECK(as_double(sn::linspace(0, 1, 2, true, dtype)) == std::vector<double>{0, 1});
  CHECK(sn::ones({}, dtype).item<T>() == T(1));
  const std::array<T, 4> list = {T(1), T(0), limits::max(), limits::lowest()};
  const Tensor x = sn::from_span(list);
  std::array<T, 4> copy;
  x.copy_to(std::span<T>(copy));
  CHECK(copy == list);
  CHECK(std::memcmp(copy.data(), x.data<T>().data(), 4 * sizeof(T)) == 0);
  CHECK(sn::max(x).item<T>() == limits::max());
  CHECK(sn::min(x).item<T>() == limits::lowest());
  CHECK(sn::to_string(x).size() > 4);
  CHECK(x(sn::Slice{{}, {}, -1}).to_vector<T>()[3] == T(1));
  if constexpr (std::is_integral_v<T> && !flag) {
    CHECK(sn::full({1}, limits::max(), dtype).template item<T>() == limits::max());
    CHECK((x + limits::max()).dtype() == dtype);  // a literal of the tensor's own type
    if constexpr (sizeof(T) < 8) {
      const std::int64_t above = std::int64_t{limits::max()} + 1, below = std::int64_t{limits::lowest()} - 1;
      for (const std::int64_t out : {above, below}) {
        CHECK_THROWS_AS(x + out, sn::ValueError);
        CHECK_THROWS_AS(sn::full({1}, out, dtype), sn::ValueError);
        CHECK_THROWS_AS(sn::full({1}, static_cast<double>(out), dtype), sn::ValueError);
        CHECK(sn::all(x < out).template item<bool>() == (out > 0));
        CHECK(sn::all(x > out).template item<bool>() == (out < 0));
        CHECK(sn::all(out >= x).template item<bool>() == (out > 0));
        CHECK(sn::all(x != out).template item<bool>());
        CHECK_FALSE(sn::any(x == out).template item<bool>());
      }
    }
    // Products of matrices wrap.
    const Tensor m = (sn::arange(12).reshape({3, 4}) * 77 + 5).astype(dtype), n = (sn::arange(8).reshape({4, 2}) * -91 + 13).astype(dtype);
    const auto a = m.to_vector<T>(), b = n.to_vector<T>(), c = sn::matmul(m, n).to_vector<T>();
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += static_cast<std::uint64_t>(a[i * 4 + k]) * static_cast<std::uint64_t>(b[k * 2 + j]);
        CHECK(c[i * 2 + j] == static_cast<T>(sum));
      }
  } else if constexpr (!flag) {
    const Tensor m = (sn::arange(12).reshape({3, 4}) / 4).astype(dtype), n = (sn::arange(8).reshape({4, 2}) / 8).astype(dtype);
    const auto a = as_double(m), b = as_double(n), c = as_double(sn::matmul(m, n));
    CHECK(sn::matmul(m, n).dtype() == dtype);
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += a[i * 4 + k] * b[k * 2 + j];
        CHECK(c[i * 2 + j] == static_cast<double>(T(sum)));
      }
  }
  const auto file = (std::filesystem::temp_directory_path() / ("sinter_dtypes_" + std::to_string(::getpid()) + ".npy")).string();
  if (sn::traits(dtype).npy.empty() && dtype != DType::bfloat16) {
    CHECK_THROWS_AS(sn::save_npy(file, x), sn::DTypeError);
  } else {
    sn::save_npy(file, x * T(1));
    const Tensor y = sn::load_npy(file);
    CHECK(y.dtype() == dtype);
    CHECK(bytes_of(y) == bytes_of(x));
    std::remove(file.c_str());
  }
}

}  // namespace

TEST_CASE("every type is created, read, printed, multiplied and saved") {
  for (int i = 0; i < sn::kDTypeCount; ++i) sn::visit_storage(static_cast<DType>(i), []<class T>() { check_values<T>(); });
}
