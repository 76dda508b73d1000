// Reductions over any axes to few results. On a GPU they are split so that all multiprocessors have work. They are compared with sums in float64, on the
// executor that the environment names.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "engine/engine.hpp"
#include "jit/cuda/geometry.hpp"
#include "program.hpp"

using namespace sinter::testing;
using Axes = std::vector<std::int64_t>;

namespace {

struct Statistics {
  double count = 0, sum = 0, magnitude = 0, largest = -std::numeric_limits<double>::infinity(), squares = 0;
  std::int64_t place = 0;  // position of the first maximum, in the order of the reduced axes
};

/// Computes the statistics of each result in two loops over the elements; the second one adds the squares.
std::vector<Statistics> statistics(const std::vector<float>& x, const Shape& shape, const Axes& axes) {
  std::vector<std::int64_t> step(shape.size(), 0);
  std::int64_t results = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == axes.end()) {
      step[axis] = results;
      results *= shape[axis];
    }
  std::vector<Statistics> found(static_cast<std::size_t>(results));
  const auto each = [&](auto visit) {
    std::vector<std::int64_t> at(shape.size(), 0);
    for (const float value : x) {
      std::int64_t result = 0;
      for (std::size_t axis = 0; axis < at.size(); ++axis) result += at[axis] * step[axis];
      visit(found[static_cast<std::size_t>(result)], double{value});
      for (std::size_t axis = at.size(); axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
    }
  };
  each([](Statistics& s, double value) {
    if (value > s.largest) s.largest = value, s.place = static_cast<std::int64_t>(s.count);
    s.count += 1;
    s.sum += value;
    s.magnitude += std::abs(value);
  });
  each([](Statistics& s, double value) { s.squares += (value - s.sum / s.count) * (value - s.sum / s.count); });
  return found;
}

/// Few results of many elements, over leading, middle and several axes: reductions with few blocks on a GPU.
struct Case {
  Shape shape;
  Axes axes;
};
std::vector<Case> cases() {
  const auto any = [](std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(numbers()); };
  return {{{any(1000, 1400), any(70, 100)}, {0}},
          {{any(600, 800), 128}, {0}},
          {{any(7, 9), any(10, 16), 16, 64}, {0, 1, 2}},
          {{any(7, 9), any(2, 4), any(50, 70), any(60, 80)}, {0, 2, 3}},
          {{2, any(600, 700), any(60, 120)}, {1}},
          {{any(60000, 80000)}, {0}},
          {{2, any(66000, 70000)}, {1}},
          {{any(30, 60), 5, any(300, 500)}, {0, 2}}};
}

std::vector<float> numbers(std::int64_t count) {
  std::normal_distribution<float> of(0.5f, 1.f);
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& value : x) value = of(sn::testing::numbers());
  return x;
}

/// Returns x in several layouts: contiguous, with the axes reversed in memory, and beginning one element later.
std::vector<std::pair<const char*, Tensor>> layouts(const std::vector<float>& x, const Shape& shape) {
  const Tensor plain = sn::from_span(x, shape);
  std::vector<float> later{0};
  later.insert(later.end(), x.begin(), x.end());
  return {{"plain", plain},
          {"turned", sn::contiguous(plain.T()).T()},
          {"later", sn::from_span(later, {static_cast<std::int64_t>(later.size())}).at({sn::Slice{1, {}}}).reshape(shape)}};
}

}  // namespace

TEST_CASE("sum, max, var and argmax over any axes") {
  for (const Case& c : cases()) {
    const std::vector<float> x = numbers(sn::element_count(c.shape));
    const std::vector<Statistics> want = statistics(x, c.shape, c.axes);
    for (auto& [layout, tensor] : layouts(x, c.shape)) {
      INFO(std::string(layout), " ", fmt::format("{} over {}", fmt::join(c.shape, "x"), fmt::join(c.axes, ",")));
      sn::eval(tensor);
      // Computes the results together, as siblings, and each alone.
      std::vector<Tensor> results = {sn::sum(tensor, c.axes), sn::max(tensor, c.axes), sn::var(tensor, c.axes), sn::mean(tensor * 2.f + 1.f, c.axes)};
      if (c.axes.size() == 1) results.push_back(sn::argmax(tensor, c.axes[0]));
      if (numbers()() % 2) sn::eval(results);
      const auto sum = results[0].to_vector<float>(), maxima = results[1].to_vector<float>(), var = results[2].to_vector<float>(),
                 mean = results[3].to_vector<float>();
      REQUIRE(sum.size() == want.size());
      for (std::size_t k = 0; k < want.size(); ++k) {
        const Statistics& w = want[k];
        REQUIRE(std::abs(sum[k] - w.sum) <= 4 * (1 + std::log2(w.count)) * 0x1p-23 * w.magnitude);
        REQUIRE(maxima[k] == static_cast<float>(w.largest));
        REQUIRE(std::abs(var[k] - w.squares / w.count) <= 1e-4 * (w.squares / w.count) + 1e-12);
        REQUIRE(std::abs(mean[k] - (2 * w.sum / w.count + 1)) <= 1e-5 * (2 * w.magnitude / w.count + 1));
        if (results.size() > 4) REQUIRE(results[4].to_vector<std::int64_t>()[k] == w.place);
        if (results.size() > 4 && k == 8) results.pop_back();  // every result needs another pass over x here, so a few results are enough
      }
    }
  }
}

TEST_CASE("softmax of columns together with its sum") {
  const Case c = cases()[0];
  const std::vector<float> x = numbers(sn::element_count(c.shape));
  const std::vector<Statistics> want = statistics(x, c.shape, c.axes);
  const auto columns = static_cast<std::size_t>(c.shape[1]);
  std::vector<double> sums(columns, 0);
  for (std::size_t i = 0; i < x.size(); ++i) sums[i % columns] += std::exp(x[i] - want[i % columns].largest);
  const Tensor tensor = sn::from_span(x, c.shape), soft = sn::softmax(tensor, 0), total = sn::sum(soft, {0});
  sn::eval(soft, total);
  const auto got = soft.to_vector<float>(), ones = total.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(std::abs(got[i] - std::exp(x[i] - want[i % columns].largest) / sums[i % columns]) <= 2e-5 * got[i]);
  for (float one : ones) REQUIRE(std::abs(one - 1) < 1e-4);
}

TEST_CASE("a NaN or infinity in one piece of a column reaches the column's result") {
  const std::int64_t rows = 1000, columns = 70;
  std::vector<float> x(static_cast<std::size_t>(rows * columns), 1.f);
  x[static_cast<std::size_t>(777 * columns + 3)] = std::numeric_limits<float>::quiet_NaN();
  x[static_cast<std::size_t>(5 * columns + 4)] = std::numeric_limits<float>::infinity();
  for (std::int64_t row = 0; row < rows; ++row) x[static_cast<std::size_t>(row * columns + 5)] = -std::numeric_limits<float>::infinity();
  const Tensor tensor = sn::from_span(x, {rows, columns});
  const auto sum = sn::sum(tensor, {0}).to_vector<float>(), maxima = sn::max(tensor, {0}).to_vector<float>();
  const auto any = sn::any(sn::isnan(tensor), {0}).to_vector<bool>();
  CHECK(std::isnan(sum[3]));
  CHECK(std::isnan(maxima[3]));
  CHECK(any[3]);
  CHECK(sum[4] == std::numeric_limits<float>::infinity());
  CHECK(maxima[5] == -std::numeric_limits<float>::infinity());
  CHECK(sum[6] == 1000);
  CHECK(!any[6]);
}

TEST_CASE("a GPU's multiprocessors have two blocks each") {
  struct Asked {
    const char* what;
    Tensor result;
  };
  const auto of = [](const Shape& shape) { return sn::placeholder(shape, DType::float32); };
  for (const auto& [what, result] : {Asked{"16384x4096 over 0", sn::sum(of({16384, 4096}), {0})}, Asked{"100000x512 over 0", sn::sum(of({100000, 512}), {0})},
                                     Asked{"8192x768 over 0", sn::sum(of({8192, 768}), {0})}, Asked{"NHW", sn::mean(of({32, 56, 56, 256}), {0, 1, 2})},
                                     Asked{"NHW, NCHW", sn::mean(of({32, 256, 56, 56}), {0, 2, 3})}, Asked{"all of 2^20", sn::sum(of({1 << 20}))},
                                     Asked{"a transposed array's rows", sn::sum(of({100000, 512}).T(), {1})}}) {
    CAPTURE(std::string(what));
    for (const int sm : {80, 90, 100}) {
      const auto limits = sn::fuse::cuda_limits(sm);
      const auto planned = sn::engine::Engine::get().histories_of({result.node()}, fmt::format("sm_{}", sm)).front().planned;
      REQUIRE(planned);
      const auto& nest = planned->steps[0].nest;
      CAPTURE(sn::jit::to_string(nest.schedule, sn::fuse::Backend::cuda));
      const auto g = sn::jit::cuda::geometry(nest, nest.ints, limits.units);
      CHECK(g.grid >= 2u * static_cast<unsigned>(limits.units));
      CHECK(nest.schedule.vector == 4);
    }
  }
}
