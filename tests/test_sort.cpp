// Sorting against the standard library's, for every dtype, axis and layout, with work before and after.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "program.hpp"
#include "reference.hpp"

namespace sn = sinter;
using namespace sinter::testing;
using sn::DType;
using sn::Shape;
using sn::Tensor;

namespace {

std::mt19937 rng{std::random_device{}()};

Ref sorted(const Ref& x, std::size_t axis) {
  Ref out = x;
  Shape lines = x.shape;
  lines[axis] = 1;
  each(lines, [&](const Coords& first) {
    if (x.shape[axis] == 0) return;
    std::vector<double> line;
    Coords at = first;
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) line.push_back(x.v[static_cast<std::size_t>(flat(x.shape, at))]);
    std::stable_sort(line.begin(), line.end(), [](double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; });
    for (at[axis] = 0; at[axis] < x.shape[axis]; ++at[axis]) out.v[static_cast<std::size_t>(flat(x.shape, at))] = line[static_cast<std::size_t>(at[axis])];
  });
  return out;
}

void same(const Tensor& got, const Ref& want) {
  REQUIRE(got.shape() == want.shape);
  const auto found = values(got);
  for (std::size_t k = 0; k < found.size(); ++k) {
    CAPTURE(k);
    REQUIRE((found[k] == want.v[k] || (std::isnan(found[k]) && std::isnan(want.v[k]))));
  }
}

}  // namespace

TEST_CASE("every dtype, along every axis") {
  for (int d = 0; d < sn::kDTypeCount; ++d)
    for (const Shape& shape : {Shape{1}, Shape{37}, Shape{0}, Shape{5, 0}, Shape{0, 3}, Shape{6, 21}, Shape{3, 1, 8}}) {
      const auto [x, rx] = random(rng, shape, static_cast<DType>(d), 0, 50);
      CAPTURE(sn::name(x.dtype()));
      CAPTURE(sn::to_string(shape));
      for (std::size_t axis = 0; axis < shape.size(); ++axis) same(sn::sort(x, static_cast<std::int64_t>(axis)), sorted(rx, axis));
      same(sn::sort(x), sorted(rx, shape.size() - 1));
      same(sn::sort(x, std::nullopt), sorted(Ref{{x.size()}, rx.v}, 0));
    }
}

TEST_CASE("NaN comes last, infinities at the ends") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = {nan, 2.f, -inf, nan, inf, -1.f, 0.f};
  same(sn::sort(x), Ref{{7}, {-inf, -1, 0, 2, inf, nan, nan}});
  same(sn::sort(sn::log(Tensor{{-1.f, 1.f, 0.f}})), Ref{{1, 3}, {-inf, 0, nan}});
}

TEST_CASE("sorted in the midst of a program, through views") {
  for (int round = 0; round < 4; ++round) {
    const auto [x, rx] = random_view(rng, random(rng, {4, 9, 6}, DType::float64, -3, 3));
    const std::size_t axis = rng() % rx.shape.size();
    const Tensor s = sn::sort(x * 2. + 1., static_cast<std::int64_t>(axis));
    const Ref want = sorted(map(rx, [](double v) { return v * 2 + 1; }), axis);
    same(s - 1., map(want, [](double v) { return v - 1; }));
    same(sn::sort(x, static_cast<std::int64_t>(axis)), sorted(rx, axis));
    const Tensor back = sn::flip(s, static_cast<std::int64_t>(axis)), sum = sn::sum(s);
    sn::eval(back, sum);
    double total = 0;
    for (double v : want.v) total += v;
    CHECK(values(sum)[0] == doctest::Approx(total).epsilon(1e-9).scale(1));
    same(sn::sort(back, static_cast<std::int64_t>(axis)), want);
  }
}

TEST_CASE("misuse names the op") {
  CHECK_THROWS_WITH_AS(sn::sort(Tensor{1.f, 2.f}, 1), doctest::Contains("sort"), sn::AxisError);
  CHECK_THROWS_AS(sn::sort(sn::full({}, 1.f)), sn::AxisError);
}

int main(int argc, char** argv) { return run_tests(argc, argv); }
