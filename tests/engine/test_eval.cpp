// Programs whose sizes decide how they run, against a float64 reference. The same binary runs on every executor (SINTER_DEVICE, SINTER_BACKEND, SINTER_FUSE
// decide). Single functions are golden expressions (test_golden), and views of results are enumerated (test_results).
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

// |got - want| within ulps of the float32 (or float64) at want, plus an absolute part for results of cancellation.
void check_close(const Tensor& got, const Ref& want, double relative, double absolute, const std::string& what) {
  CAPTURE(what);
  REQUIRE(got.shape() == want.shape);
  const auto list = values(got);
  for (std::size_t k = 0; k < list.size(); ++k) {
    const double g = list[k], w = want.v[k];
    if (std::isnan(w) && std::isnan(g)) continue;
    if (g == w) continue;
    const bool close = std::abs(g - w) <= absolute + relative * std::abs(w);
    if (!close) {
      CAPTURE(k);
      CAPTURE(g);
      CAPTURE(w);
      REQUIRE(close);
    }
  }
}

}  // namespace

TEST_CASE("softmax, log_softmax, layer_norm, rms_norm, var, std and logsumexp over rows and columns") {
  std::mt19937 rng(test_seed() + 3);
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{7, 33}, Shape{64, 1000}, Shape{2, 9000}, Shape{300, 4}})
    for (const int axis : {-1, 0}) {
      const auto [x, ref] = random(rng, shape, DType::float32, -4, 4);
      const std::vector<std::int64_t> axes{axis < 0 ? 1 : 0};
      const double n = static_cast<double>(shape[axes[0]]);
      Shape kept = shape;
      kept[axes[0]] = 1;
      const auto keep = [&](Ref r) { return Ref{kept, r.v}; };
      const auto plus = [](double a, double b) { return a + b; };
      const Ref high = keep(reduce(ref, axes, -1e300, [](double a, double b) { return std::max(a, b); }));
      const Ref e = map(zip(ref, high, [](double a, double b) { return a - b; }), [](double v) { return std::exp(v); });
      const Ref total = keep(reduce(e, axes, 0, plus));
      check_close(sn::softmax(x, axis), zip(e, total, std::divides<double>()), 2e-6, 1e-9, "softmax");
      const Ref log_sum = zip(map(total, [](double v) { return std::log(v); }), high, plus);
      check_close(sn::log_softmax(x, axis), zip(ref, log_sum, std::minus<double>()), 2e-6, 4e-6, "log_softmax");
      check_close(sn::logsumexp(x, axis, true), log_sum, 2e-6, 2e-6, "logsumexp");
      const Ref mean = map(keep(reduce(ref, axes, 0, plus)), [&](double v) { return v / n; });
      const Ref centred = zip(ref, mean, std::minus<double>());
      const Ref variance = map(keep(reduce(map(centred, [](double v) { return v * v; }), axes, 0, plus)), [&](double v) { return v / n; });
      check_close(sn::var(x, axis, true), variance, 4e-6, 1e-6, "var");
      check_close(sn::stddev(x, axis, true), map(variance, [](double v) { return std::sqrt(v); }), 4e-6, 1e-6, "std");
      // If a few values are close together, the rounding of their mean is large relative to their deviation.
      const double few = n < 30 ? 1e-3 : 4e-6;
      if (n > 1)
        check_close(sn::layer_norm(x, {}, {}, 1e-5, axis), zip(centred, variance, [](double c, double v) { return c / std::sqrt(v + 1e-5); }), 4e-6, few,
                    "layer_norm");
      const Ref squares = map(keep(reduce(map(ref, [](double v) { return v * v; }), axes, 0, plus)), [&](double v) { return v / n; });
      check_close(sn::rms_norm(x, {}, 1e-6, axis), zip(ref, squares, [](double c, double v) { return c / std::sqrt(v + 1e-6); }), 4e-6, 4e-6, "rms_norm");
    }
}

TEST_CASE("large reductions in two stages: rows, columns, all elements, of sizes that no tile divides") {
  std::mt19937 rng(test_seed() + 4);
  const auto [x, ref] = random(rng, {400003}, DType::float32, 0, 1);
  double total = 0, largest = -1;
  for (double v : ref.v) total += v, largest = std::max(largest, v);
  CHECK(sn::sum(x).item<float>() == doctest::Approx(total).epsilon(1e-6));
  CHECK(sn::max(x).item<float>() == static_cast<float>(largest));
  CHECK(sn::sum(x, {}, false, DType::float64).item<double>() == doctest::Approx(total).epsilon(1e-13));
  const auto [tall, tall_ref] = random(rng, {200001, 3}, DType::float32, 0, 1);
  check_close(sn::sum(tall, 0), reduce(tall_ref, {0}, 0, [](double a, double b) { return a + b; }), 2e-6, 0, "tall columns");
  // A view whose elements are not in the order of the chunks, and a last chunk that is not full.
  const auto [turned, turned_ref] = random(rng, {64, 33, 64}, DType::float64, 0, 1);
  check_close(sn::sum(sn::permute(turned, {2, 0, 1})), reduce(turned_ref, {0, 1, 2}, 0, [](double a, double b) { return a + b; }), 1e-12, 0, "turned");
  const auto [wide, wide_ref] = random(rng, {3, 200001}, DType::float64, 0, 1);
  check_close(sn::sum(wide, 1), reduce(wide_ref, {1}, 0, [](double a, double b) { return a + b; }), 1e-12, 0, "long rows");
}

TEST_CASE("a batch of products is one library call, whose operands are turned and repeated without copies") {
  if (sn::testing::on_gpu()) return;  // no library there yet
  std::mt19937 rng(test_seed() + 6);
  const auto a = random(rng, {7, 1, 9, 5}, DType::float32, -1, 1), b = random(rng, {4, 6, 9}, DType::float32, -1, 1);
  const auto before = sn::counters();
  const Tensor c = sn::matmul(sn::permute(a.first, {0, 1, 3, 2}), sn::permute(b.first, {0, 2, 1}));  // (7, 1, 5, 9) x (4, 9, 6)
  const auto got = values(c);
  const auto after = sn::counters();
  CHECK(after.library_calls - before.library_calls == 1);
  CHECK(after.kernels_launched == before.kernels_launched);
  REQUIRE(c.shape() == Shape{7, 4, 5, 6});
  each({7, 4, 5, 6}, [&](const Coords& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < 9; ++k) sum += a.second.v[flat(a.second.shape, {at[0], 0, k, at[2]})] * b.second.v[flat(b.second.shape, {at[1], at[3], k})];
    CHECK(got[flat({7, 4, 5, 6}, at)] == doctest::Approx(sum).epsilon(1e-4));
  });
}

TEST_CASE("logsumexp of nothing is log 0") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor none = sn::zeros({2, 0}, DType::float32);
  CHECK(sn::logsumexp(none).item<float>() == -inf);
  CHECK(sn::logsumexp(none, 1).to_vector<float>() == std::vector<float>(2, static_cast<float>(-inf)));
  CHECK(sn::logsumexp(none, 1, true).shape() == Shape{2, 1});
  CHECK(sn::logsumexp(none, 0).to_vector<float>().empty());
  CHECK(sn::logsumexp(sn::zeros({0}, DType::int32)).item<double>() == -inf);
}

TEST_CASE("several outputs at once, aliases and evaluated operands") {
  std::mt19937 rng(test_seed() + 6);
  const auto [x, ref] = random(rng, {31, 64}, DType::float32, -2, 2);
  const Tensor e = sn::exp(x), row = sn::sum(e, 1), flat_view = x.reshape({-1}), again = e * 2.0f;
  sn::eval(e, row, flat_view, again);
  const Ref e_ref = map(ref, [](double v) { return std::exp(v); });
  check_close(e, e_ref, 5e-7, 0, "e");
  check_close(row, reduce(e_ref, {1}, 0, [](double a, double b) { return a + b; }), 2e-6, 0, "row");
  check_close(again, map(e_ref, [](double v) { return 2 * v; }), 5e-7, 0, "again");
  CHECK(values(flat_view) == ref.v);
  check_close(sn::sum(e - again), Ref{{}, {-[&] {
                                        double s = 0;
                                        for (double v : e_ref.v) s += v;
                                        return s;
                                      }()}},
              1e-5, 0, "of evaluated");
}

TEST_CASE("an element of an evaluated array is read without a kernel") {
  std::mt19937 rng(test_seed());
  std::vector<double> want(7 * 5);
  for (double& v : want) v = std::uniform_real_distribution<double>(-1, 1)(rng);
  const Tensor x = sn::from_span(want, {7, 5}) + 0.0;
  sn::eval(x);
  const auto before = sn::counters().kernels_launched;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 5; ++j) {
      const double element = want[static_cast<std::size_t>(5 * i + j)];
      CHECK(x(i, j).item<double>() == element);
      CHECK(x(i)(j - 5).item<double>() == element);
      CHECK(x.T()(j)(sn::Slice{i, {}, 3})(0).item<double>() == element);
      CHECK(x(sn::Slice{{}, {}, -1})(6 - i, sn::Slice{j, j + 1}).reshape({}).item<double>() == element);
      CHECK(x(i, j).astype(sn::DType::bool_).item<bool>() == (element != 0));
    }
  if (!on_gpu()) CHECK(sn::counters().kernels_launched == before + 35);  // the casts
}
