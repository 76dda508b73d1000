// Functions that arrange, convolve, round and query types, against loops over random numbers; NumPy's own results are in tests/golden/cases.txt.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "program.hpp"
#include "reference.hpp"
#include "says.hpp"
#include "seed.hpp"

namespace sn = sinter;
using namespace sinter::testing;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

const std::uint32_t seed = test_seed();
std::mt19937 rng{seed};

void same(const Tensor& got, const std::vector<double>& want, double within = 0) {
  const auto values = sinter::testing::values(got);
  REQUIRE(values.size() == want.size());
  for (std::size_t k = 0; k < want.size(); ++k) {
    CAPTURE(k);
    REQUIRE(std::fabs(values[k] - want[k]) <= within * std::max(1.0, std::fabs(want[k])));
  }
}

}  // namespace

TEST_CASE("convolutions of every mode, of types and lengths") {
  for (const DType type : {DType::float64, DType::float32, DType::int32, DType::int8, DType::bool_}) {
    if (on_cuda() && type != DType::float32) continue;
    for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{9, 4}, {4, 9}, {5, 5}, {1, 1}, {7, 1}, {1, 6}, {130, 17}, {70, 32}, {90, 33}}) {
      if (on_cuda() && n != 9) continue;
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
      // Correlating is convolving with the reversed operand.
      same(sn::correlate(a, sn::flip(v), sn::ConvolveMode::full), full, within);
      same(sn::correlate(a, sn::flip(v)), part(shorter - 1, longer - shorter + 1), within);
    }
  }
  says<sn::ShapeError>([] { sn::convolve(sn::ones({0}), sn::ones({2})); }, "convolve: vectors with elements are taken, not shape (0,)");
  says<sn::ShapeError>([] { sn::correlate(sn::ones({2, 2}), sn::ones({2})); }, "correlate: vectors with elements are taken, not shape (2, 2)");
}

TEST_CASE("what lies beside a vector has no part in its convolution, whatever it is convolved with") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType type : {DType::float16, DType::float32, DType::float64}) {
    if (on_cuda() && type != DType::float32) continue;
    for (const auto& [n, m] : {std::pair<std::int64_t, std::int64_t>{3, 2}, {5, 8}, {20, 9}, {10, 10}, {40, 32}, {33, 50}}) {
      if (on_cuda() && n != 3 && n != 20) continue;
      // Positive numbers, with an infinity or NaN at one place of one operand: sums that contain it are that value, all others are finite.
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

TEST_CASE("inserted, erased, appended, cycled") {
  const auto [x, r] = random(rng, {3, 4}, DType::float32, -5, 5);
  const auto row = random(rng, {4}, DType::float32, -5, 5);
  for (const std::int64_t at : {0, 1, 3, -1}) {
    if (on_cuda() && at != 1) continue;
    const Tensor whole = sn::insert(x, at, row.first, 0);
    CHECK(whole.shape() == Shape{4, 4});
    same(whole(at < 0 ? 3 + at : at), row.second.v);
    same(sn::erase(whole, at < 0 ? 3 + at : at, 0), r.v);
    same(sn::insert(x, at, 7.f, 1)(sn::Slice{}, at < 0 ? 4 + at : at), {7, 7, 7});
    same(sn::erase(sn::insert(x, at, sn::ones({2})), at < 0 ? 12 + at : at).reshape({13})(at < 0 ? 12 + at : at), {1});
  }
  CHECK(sn::insert(x, 1, sn::ones({2, 4}), 0).shape() == Shape{5, 4});
  same(sn::append(x, row.first(sn::newaxis), 0)(3), row.second.v);
  CHECK(sn::append(x, 1).shape() == Shape{13});
  const Tensor cycled = sn::cycle_to(x, {5, 7});
  std::vector<double> again;
  for (std::size_t k = 0; k < 35; ++k) again.push_back(r.v[k % 12]);
  same(cycled, again);
  same(sn::cycle_to(x, {2, 2}), {r.v[0], r.v[1], r.v[2], r.v[3]});
  same(sn::cycle_to(sn::zeros({0}), {2}), {0, 0});
  CHECK(sn::cycle_to(x, {0, 3}).shape() == Shape{0, 3});
  says<sn::IndexError>([x = x] { sn::erase(x, 3, 0); }, "delete: place 3 is out of bounds for axis 0 with size 3");
  says<sn::IndexError>([x = x] { sn::insert(x, 14, 1); }, "insert: place 14 is out of bounds for axis 0 with size 12");
  says<sn::ShapeError>([] { sn::vsplit(sn::ones({4}), 2); }, "vsplit: shape (4,) has fewer than 2 axes");
}

TEST_CASE("sequences, powers, places") {
  const auto geometric = values(sn::geomspace(2, 54, 4));
  same(sn::geomspace(2, 54, 4), {2, 6, 18, 54}, 1e-15);
  CHECK(geometric.back() == 54);
  same(sn::geomspace(-8, -1, 4, false), {-8, -8 / std::pow(8, 0.25), -8 / std::sqrt(8.0), -8 / std::pow(8, 0.75)}, 1e-15);
  says<sn::ValueError>([] { sn::geomspace(-1, 1); }, "geomspace: there is no geometric sequence from -1 to 1");
  same(sn::logspace(0, 4, 5, true, 2), {1, 2, 4, 8, 16}, 1e-15);
  same(sn::vander(Tensor{2, 3}, 3), {4, 2, 1, 9, 3, 1});
  CHECK(sn::vander(sn::ones({2}), 0).shape() == Shape{2, 0});
  const Tensor places = sn::indices({2, 3});
  same(places(0) * 3 + places(1), {0, 1, 2, 3, 4, 5});
  CHECK(sn::indices({}).shape() == Shape{0});
  same(sn::tri(2, 3, 1), {1, 1, 0, 1, 1, 1});
  same(sn::diagflat(Tensor{1., 2.}, -1), {0, 0, 0, 1, 0, 0, 0, 2, 0});
  CHECK(sn::identity(0).shape() == Shape{0, 0});
}

TEST_CASE("rounding to decimals, polynomials, windows, unwrapping") {
  const auto [x, r] = random(rng, {40}, DType::float64, -100, 100);
  std::vector<double> tenths, tens, hundreds;
  for (const double v : r.v) tenths.push_back(std::nearbyint(v * 10) / 10), tens.push_back(std::nearbyint(v / 10) * 10);
  same(sn::round(x, 1), tenths);
  same(sn::round(x, -1), tens);
  same(sn::round(Tensor{14, 15, 25, -35}, -1), {10, 20, 20, -40});
  CHECK(sn::round(Tensor{14, 15}, 2).dtype() == DType::int32);

  const Tensor p = random(rng, {4}, DType::float64, -2, 2).first, at = random(rng, {3, 5}, DType::float64, -2, 2).first;
  const auto c = values(p), t = values(at);
  std::vector<double> heights;
  for (const double v : t) heights.push_back(((c[0] * v + c[1]) * v + c[2]) * v + c[3]);
  same(sn::polyval(p, at), heights, 1e-13);
  const Tensor points = sn::linspace(-1, 1, 12);
  same(sn::polyfit(points, sn::polyval(p, points), 3), c, 1e-10);
  says<sn::ShapeError>([] { sn::polyfit(sn::ones({3}), sn::ones({4}), 1); }, "polyfit: points of shapes (3,) and (4,)");

  for (const std::int64_t n : {0, 1, 2, 9}) {
    CHECK(sn::hanning(n).shape() == Shape{n});
    CHECK(sn::bartlett(n).shape() == Shape{n});
  }
  std::vector<double> hann;
  for (int k = 0; k < 9; ++k) hann.push_back(0.5 - 0.5 * std::cos(2 * std::numbers::pi * k / 8));
  same(sn::hanning(9), hann, 1e-15);
  same(sn::blackman(3), {0, 1, 0}, 1e-15);

  std::vector<double> phase{0.25};
  for (int k = 0; k < 30; ++k) phase.push_back(phase.back() + std::uniform_real_distribution<double>(-3, 3)(rng));
  std::vector<double> wrapped;
  for (const double v : phase) wrapped.push_back(std::remainder(v, 2 * std::numbers::pi));
  same(sn::unwrap(sn::from_span(wrapped)), phase, 1e-12);
  CHECK(sn::unwrap(sn::zeros({0})).shape() == Shape{0});
}

TEST_CASE("products of vectors, and what leaves NaN out") {
  const auto [a, ra] = random(rng, {2, 3, 5}, DType::float64, -1, 1);
  const auto [v, rv] = random(rng, {5}, DType::float64, -1, 1);
  std::vector<double> products;
  for (std::size_t row = 0; row < 6; ++row) {
    products.push_back(0);
    for (std::size_t k = 0; k < 5; ++k) products.back() += ra.v[row * 5 + k] * rv.v[k];
  }
  same(sn::matvec(a, v), products, 1e-14);
  same(sn::vecmat(v, sn::matrix_transpose(a)), products, 1e-14);
  same(sn::vdot(a(0, 0), v), {products[0]}, 1e-14);
  const Tensor x{{NAN, 2., 1.}, {3., NAN, 7.}};
  same(sn::nanargmax(x, 1), {1, 2});
  same(sn::nanargmin(x, 0), {1, 0, 0});
  same(sn::nanargmax(Tensor{3, 9, 4}), {1});
  CHECK(sn::array_equal(x, x).item<bool>() == false);
  CHECK(sn::array_equal(x, x, true).item<bool>());
  CHECK(!sn::array_equal(x, x(0)).item<bool>());
  same(sn::isposinf(Tensor{INFINITY, -INFINITY, NAN, 1.}), {1, 0, 0, 0});
  same(sn::isneginf(Tensor{INFINITY, -INFINITY, NAN, 1.}), {0, 1, 0, 0});
}

TEST_CASE("types beside each other, and their limits") {
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
    if (!on_cuda()) same(sn::full_like(sn::ones({2}, a), 1), {1, 1});
    CHECK(sn::isdtype(a, "numeric") == !sn::is_bool(a));
    CHECK(sn::isdtype(a, "integral") == sn::is_integer(a));
  }
  CHECK(sn::result_type({1, 2.5f}) == DType::float32);
  CHECK(sn::result_type({true, 1}) == DType::int64);
  says<sn::ValueError>([] { sn::result_type({}); }, "result_type: there is no operand");
  says<sn::ValueError>([] { sn::isdtype(DType::int8, "whole"); },
                       "isdtype: 'whole' is no kind of types: bool, signed integer, unsigned integer, integral, real floating, complex floating, numeric");
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

TEST_CASE("int64 among uint64, element for element") {
  if (on_cuda()) return;  // it has the kernels of isin, and many
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

int main(int argc, char** argv) {
  std::printf("SINTER_TEST_SEED=%u\n", seed);
  return run_tests(argc, argv);
}
