// The error of float32 sums on the CPU over any axes of any view, measured with float64, is bounded by the logarithm of their length.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

namespace {

Tensor stored(const Shape& shape, float value) {
  std::vector<float> values(static_cast<std::size_t>(sn::element_count(shape)), value);
  return sn::from_span(values, shape);
}

void check(const Tensor& x, const std::vector<std::int64_t>& axes) {
  const Tensor got = axes.empty() ? sn::sum(x) : sn::sum(x, axes);
  const Tensor exact = axes.empty() ? sn::sum(x, {}, false, sn::DType::float64) : sn::sum(x, axes, false, sn::DType::float64);
  const Tensor magnitude = axes.empty() ? sn::sum(sn::abs(x), {}, false, sn::DType::float64) : sn::sum(sn::abs(x), axes, false, sn::DType::float64);
  const auto a = sinter::testing::values(got), b = sinter::testing::values(exact), m = sinter::testing::values(magnitude);
  const double length = static_cast<double>(x.size()) / static_cast<double>(std::max<std::size_t>(a.size(), 1));
  for (std::size_t k = 0; k < a.size(); ++k) {
    INFO("result ", k, " of ", a.size(), " over ", length, " elements");
    REQUIRE(std::fabs(a[k] - b[k]) <= 4 * (1 + std::log2(std::max(length, 1.0))) * 0x1p-23 * m[k]);
  }
}

}  // namespace

TEST_CASE("sums over short inner axes and over columns of many rows") {
  const Slice all{};
  const Tensor a = stored({50000, 3}, 0.1f), b = stored({65536, 2}, 0.1f), rows = stored({1000000, 4}, 0.1f);
  check(a.at({all, Slice{0, 2}}), {});
  check(b.at({all, Slice{0, 1}}), {});
  check(a.at({all, Slice{0, 2}}), {0});
  check(rows, {0});
  check(rows, {});
  check(rows.T(), {1});
  CHECK(std::fabs(sn::sum(a.at({all, Slice{0, 2}})).item<float>() - 10000.f) <= 0.01f);
  CHECK(std::fabs(sn::sum(b.at({all, Slice{0, 1}})).item<float>() - 6553.6f) <= 0.01f);
}

TEST_CASE("sums over random axes of random views") {
  std::mt19937 rng(sinter::testing::fresh_seed());
  const auto pick = [&](int n) { return static_cast<std::int64_t>(rng() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 40 && !sinter::testing::time_is_over(); ++round) {
    const Shape shapes[] = {{70000}, {300, 200}, {40, 30, 50}, {2, 3, 4000}, {9000, 2, 3}, {7, 11, 13, 17}, {0, 5}, {1, 1}};
    Tensor x = sinter::testing::random(rng, shapes[pick(8)], sn::DType::float32, round % 2 ? 0 : -1, 1).first;
    if (pick(2) && x.ndim() > 1) x = x.T();
    if (pick(2) && x.size() > 0) x = x.at({sn::ellipsis, Slice{pick(2), {}, 1 + pick(3)}});
    if (pick(3) == 0 && x.size() > 0) x = x.at({Slice{{}, {}, -1}, sn::ellipsis});
    std::vector<std::int64_t> axes;
    for (std::int64_t axis = 0; axis < x.ndim(); ++axis)
      if (pick(2)) axes.push_back(axis);
    check(x, axes);
  }
}

TEST_CASE("a sum has the same bits whether its operand is stored or fused") {
  if (sinter::testing::on_gpu()) return;  // a thread's share depends on the kernel
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&)>> functions = {
      {"sin", [](const Tensor& x) { return sn::sin(x); }},
      {"exp", [](const Tensor& x) { return sn::exp(x); }},
      {"pow", [](const Tensor& x) { return sn::pow(x, 1.7); }},
      {"lgamma", [](const Tensor& x) { return sn::lgamma(x); }},
      {"a chain", [](const Tensor& x) { return sn::tanh(sn::exp(sn::sin(x) * 2.) - sn::log(x)) * sn::erf(x); }},
      {"a wider type", [](const Tensor& x) { return sn::astype(sn::sin(sn::astype(x, sn::DType::float64)), x.dtype()); }},
      {"places", [](const Tensor& x) { return x * sn::astype(sn::arange(x.size(-1)), x.dtype()); }},
  };
  const std::vector<std::pair<const char*, Tensor (*)(const Tensor&, std::int64_t)>> sums = {
      {"sum", [](const Tensor& x, std::int64_t axis) { return sn::sum(x, axis); }},
      {"prod", [](const Tensor& x, std::int64_t axis) { return sn::prod(x * 0.01f + 1.f, axis); }},
      {"max", [](const Tensor& x, std::int64_t axis) { return sn::max(x, axis); }},
      {"var", [](const Tensor& x, std::int64_t axis) { return sn::var(x, axis); }},
      {"cumsum", [](const Tensor& x, std::int64_t axis) { return sn::cumsum(x, axis); }},
  };
  std::mt19937 rng(sinter::testing::fresh_seed());
  for (const sn::DType dtype : sinter::testing::shuffled(std::vector{sn::DType::float32, sn::DType::float64}))
    for (const Shape& shape :
         {Shape{1 + static_cast<std::int64_t>(rng() % 2000)}, Shape{1 + static_cast<std::int64_t>(rng() % 100)}, Shape{2000}, Shape{5, 77}, Shape{300, 5}}) {
      const Tensor x = sinter::testing::random(rng, shape, dtype, 0.1, 3).first;
      for (const auto& [name, function] : sinter::testing::shuffled(functions)) {
        if (sinter::testing::time_is_over()) return;
        const Tensor stored = function(x);
        sn::eval(stored);
        for (const auto& [sum_name, sum] : sums)
          for (std::int64_t axis = 0; axis < x.ndim(); ++axis) {
            if (sinter::testing::time_is_over()) return;
            INFO(std::string(sum_name), " of ", std::string(name), " over axis ", axis, " of ", sn::to_string(shape), " ", std::string(sn::name(dtype)));
            CHECK(sinter::testing::values(sum(function(x), axis)) == sinter::testing::values(sum(stored, axis)));
          }
      }
    }
}
