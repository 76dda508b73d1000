// Convolutions, promotion of types and searches among integers, compared with loops over random numbers. tests/golden/cases.txt compares single functions with
// NumPy.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{test_seed()};

void same(const Tensor& got, const std::vector<double>& want, double within = 0) {
  const auto values = sinter::testing::values(got);
  REQUIRE(values.size() == want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    CAPTURE(k);
    REQUIRE(std::fabs(values[k] - want[k]) <= within * std::max(1.0, std::fabs(want[k])));
  }
}

}  // namespace

TEST_CASE("convolve with every mode, type and length") {
  for (const DType type : {DType::float64, DType::float32, DType::int32, DType::int8, DType::bool_}) {
    if (on_gpu() && type != DType::float32) continue;
    for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{9, 4}, {4, 9}, {5, 5}, {1, 1}, {7, 1}, {1, 6}, {130, 17}, {70, 32}, {90, 33}}) {
      if (on_gpu() && n != 9) continue;
      const auto [a, ra] = random(rng, {n}, type, -3, 3);
      const auto [v, rv] = random(rng, {m}, type, -3, 3);
      std::vector<double> full(static_cast<std::size_t>(n + m - 1));
      for (std::size_t i = 0; i < ra.v.size(); ++i)
        for (std::size_t k = 0; k < rv.v.size(); ++k) full[i + k] += ra.v[i] * rv.v[k];
      if (type == DType::int8)
        for (double& x : full) x = static_cast<std::int8_t>(static_cast<std::int64_t>(x));
      if (type == DType::bool_)
        for (double& x : full) x = x != 0;
      const auto part = [&](std::int64_t begin, std::int64_t count) { return std::vector<double>(full.begin() + begin, full.begin() + begin + count); };
      const double within = type == DType::float64 ? 1e-14 : type == DType::float32 ? 1e-5 : 0;
      const std::int64_t longer = std::max(n, m), shorter = std::min(n, m);
      CAPTURE(n);
      CAPTURE(m);
      same(sn::convolve(a, v), full, within);
      same(sn::convolve(a, v, sn::ConvolveMode::same), part((shorter - 1) / 2, longer), within);
      same(sn::convolve(a, v, sn::ConvolveMode::valid), part(shorter - 1, longer - shorter + 1), within);
      CHECK(sn::convolve(a, v).dtype() == type);
      // A correlation is a convolution with the reversed operand.
      same(sn::correlate(a, sn::flip(v), sn::ConvolveMode::full), full, within);
      same(sn::correlate(a, sn::flip(v)), part(shorter - 1, longer - shorter + 1), within);
    }
  }
  says<sn::ShapeError>([] { sn::convolve(sn::ones({0}), sn::ones({2})); }, "convolve: the operands must be vectors with elements, not of shape (0,)");
  says<sn::ShapeError>([] { sn::correlate(sn::ones({2, 2}), sn::ones({2})); }, "correlate: the operands must be vectors with elements, not of shape (2, 2)");
}

TEST_CASE("elements outside a vector do not influence its convolution, even with infinities and NaN") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType type : {DType::float16, DType::float32, DType::float64}) {
    if (on_gpu() && type != DType::float32) continue;
    for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{3, 2}, {5, 8}, {20, 9}, {10, 10}, {40, 32}, {33, 50}}) {
      if (on_gpu() && n != 3 && n != 20) continue;
      // The numbers are positive except for one infinity or NaN. Sums that contain it have this value, all others are finite.
      for (const double special : {inf, nan}) {
        for (const bool in_first : {false, true}) {
          std::vector<double> a(static_cast<std::size_t>(n)), v(static_cast<std::size_t>(m)), full(a.size() + v.size() - 1);
          for (double& x : a) x = static_cast<double>(rng() % 4 + 1);
          for (double& x : v) x = static_cast<double>(rng() % 4 + 1);
          std::vector<double>& one = in_first ? a : v;
          one[rng() % one.size()] = special;
          for (std::size_t i = 0; i < a.size(); ++i)
            for (std::size_t k = 0; k < v.size(); ++k) full[i + k] += a[i] * v[k];
          const auto equal = [&](const Tensor& got, std::int64_t begin, std::int64_t count) {
            const auto list = sinter::testing::values(got);
            REQUIRE(list.size() == static_cast<std::size_t>(count));
            for (std::size_t k = 0; k < list.size(); ++k) {
              CAPTURE(k);
              const double want = full[static_cast<std::size_t>(begin) + k];
              REQUIRE((std::isnan(want) ? std::isnan(list[k]) : list[k] == want));
            }
          };
          const Tensor x = sn::astype(sn::from_pointer(a.data(), {n}), type), y = sn::astype(sn::from_pointer(v.data(), {m}), type);
          const std::int64_t longer = std::max(n, m), shorter = std::min(n, m);
          CAPTURE(n);
          CAPTURE(m);
          equal(sn::convolve(x, y), 0, n + m - 1);
          equal(sn::convolve(x, y, sn::ConvolveMode::same), (shorter - 1) / 2, longer);
          equal(sn::convolve(x, y, sn::ConvolveMode::valid), shorter - 1, longer - shorter + 1);
          equal(sn::correlate(x, sn::flip(y), sn::ConvolveMode::full), 0, n + m - 1);
        }
      }
    }
  }
}

TEST_CASE("promotion of two types, and the limits of types") {
  for (int i = 0; i < sn::kDTypeCount; ++i) {
    const auto a = static_cast<DType>(i);
    CAPTURE(sn::name(a));
    for (int k = 0; k < sn::kDTypeCount; ++k) {
      const auto b = static_cast<DType>(k);
      if (a != b && sn::is_floating(a) && sn::is_floating(b) && sn::itemsize(a) + sn::itemsize(b) == 2) {
        says<sn::DTypeError>([&] { sn::promote_types(a, b); }, "promote_types: " + std::string(sn::name(a)) + " and " + std::string(sn::name(b)) +
                                                                   " have no common type; convert one of them with astype first");
        continue;
      }
      const DType both = (sn::zeros({1}, a) * sn::zeros({1}, b)).dtype();
      CHECK(sn::result_type({a, b}) == both);
      CHECK(sn::promote_types(a, b) == both);
      CHECK(sn::can_cast(a, b, sn::Casting::no) == (a == b));
      if (sn::can_cast(a, b)) CHECK(sn::can_cast(a, b, sn::Casting::same_kind));
    }
    CHECK(sn::result_type({sn::ones({2}, a), 2.5f}) == (sn::ones({2}, a) * 2.5f).dtype());
    CHECK(sn::empty_like(sn::ones({2, 3}, a)).dtype() == a);
    if (!on_gpu()) same(sn::full_like(sn::ones({2}, a), 1), {1, 1});
    CHECK(sn::isdtype(a, "numeric") == !sn::is_bool(a));
    CHECK(sn::isdtype(a, "integral") == sn::is_integer(a));
  }
  CHECK(sn::result_type({1, 2.5f}) == DType::float32);
  CHECK(sn::result_type({true, 1}) == DType::int64);
  says<sn::ValueError>([] { sn::result_type({}); }, "result_type: there is no operand");
  says<sn::ValueError>(
      [] { sn::isdtype(DType::int8, "whole"); },
      "isdtype: unknown kind 'whole'; the kinds are bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric");
  CHECK(sn::finfo(DType::float64).eps == 0x1p-52);
  CHECK(sn::finfo(DType::float16).max == 65504);
  CHECK(sn::finfo(DType::bfloat16).eps == 0x1p-7);
  CHECK(sn::finfo(DType::float8_e4m3).max == 240);
  CHECK(sn::finfo(DType::float8_e4m3fn).max == 448);
  CHECK(sn::finfo(DType::float8_e5m2).max == 57344);
  CHECK(sn::finfo(DType::float8_e5m2).smallest_subnormal == 0x1p-16);
  CHECK(sn::finfo(DType::float32).smallest_subnormal == 0x1p-149);
  CHECK(sn::iinfo(DType::uint64).max == ~std::uint64_t{0});
  CHECK(sn::iinfo(DType::int16).min == -32768);
  says<sn::DTypeError>([] { sn::finfo(DType::int8); }, "finfo: int8 is not a floating type");
  same(sn::zeros_like(sn::ones({2, 2}), DType::int8) + sn::ones_like(Tensor{1, 2}), {1, 1, 1, 1});
}

TEST_CASE("isin compares int64 with uint64 exactly") {
  if (on_gpu()) return;  // other tests run the many kernels of isin there
  std::vector<std::int64_t> x;
  std::vector<std::uint64_t> y;
  for (int k = 0; k < 200; ++k) {
    const std::int64_t near = static_cast<std::int64_t>((std::uint64_t{1} << 53) + rng() % 6);
    x.push_back(rng() % 2 ? near : -near);
    y.push_back(rng() % 3 ? (std::uint64_t{1} << 53) + 2 * (rng() % 3) : std::uint64_t{0} - (std::uint64_t{1} << 53) - rng() % 6);
  }
  std::vector<double> found, back;
  for (const auto e : x) found.push_back(e >= 0 && std::find(y.begin(), y.end(), static_cast<std::uint64_t>(e)) != y.end());
  for (const auto e : y) back.push_back(e <= ~std::uint64_t{0} / 2 && std::find(x.begin(), x.end(), static_cast<std::int64_t>(e)) != x.end());
  same(sn::isin(sn::from_span(x), sn::from_span(y)), found);
  same(sn::isin(sn::from_span(y), sn::from_span(x)), back);
  for (double& b : back) b = 1 - b;
  same(sn::isin(sn::from_span(y), sn::from_span(x), true), back);
}
