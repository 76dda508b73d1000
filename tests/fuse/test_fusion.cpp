// The kernels that formulas of real models and programs take.
#include <doctest/doctest.h>

#include <functional>

#include "formulas.hpp"
#include "host_data_stub.hpp"
#include "kernel_count.hpp"

using namespace sinter;

TEST_CASE("formulas take as few kernels as they can") {
  for (const auto& formula : fusion::formulas())
    for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
      CAPTURE(formula.name);
      CAPTURE(limits.target);
      CHECK(testing::plan_of(formula.record(), limits).steps.size() <=
            static_cast<std::size_t>(formula.max_kernels + (limits.sm > 0 ? formula.second_stages : 0)));
    }
}

TEST_CASE("a GPU sorts and scatters in time that grows with the number of elements, and compares all pairs of few") {
  const fuse::Limits limits = fuse::cuda_limits(90);
  struct Cost {
    double ops = 0, bytes = 0;
    std::size_t kernels = 0, calls = 0;
  };
  const auto cost_of = [&](const std::vector<Tensor>& results) {
    Cost cost;
    for (const fuse::Plan plan = testing::plan_of(results, limits); const fuse::Step& step : plan.steps) {
      const bool call = step.kind == fuse::Step::Kind::library;
      ++(call ? cost.calls : cost.kernels);
      cost.bytes += step.moved.now();
      if (!call) cost.ops += fuse::launched_work(plan.graph, step.kernel, limits).ops;
    }
    return cost;
  };
  using Formula = std::function<std::vector<Tensor>(std::int64_t)>;
  const auto floats = [](const Shape& shape) { return placeholder(shape, DType::float32); };
  const auto places = [](const Shape& shape) { return placeholder(shape, DType::int64); };
  const auto added = [](const Shape& shape, const std::vector<Index>& at, const Tensor& x) { return add_at(zeros(shape, DType::float32), at, x); };
  const std::vector<std::pair<const char*, Formula>> formulas{
      {"sort", [&](std::int64_t n) { return std::vector{sort(floats({n}))}; }},
      {"argsort of rows", [&](std::int64_t n) { return std::vector{argsort(exp(floats({n / 2000, 40000})), 1)}; }},
      {"topk", [&](std::int64_t n) { return std::vector{topk(floats({n}), 10).first}; }},
      {"gradient of an embedding", [&](std::int64_t n) { return std::vector{relu(added({50000, 64}, {places({n / 4})}, tanh(floats({n / 4, 64}))))}; }},
      {"gradient of a max pool",
       [&](std::int64_t n) {
         return std::vector{astype(added({n, 256}, {reshape(arange(n), {n, 1}), places({n, 64})}, floats({n, 64})), DType::bfloat16) * 2};
       }},
      {"assignment",
       [&](std::int64_t n) {
         Tensor x = floats({n, 4});
         x(places({n / 2})) = exp(floats({n / 2, 4}));
         return std::vector{x + 1};
       }},
  };
  for (const auto& [name, formula] : formulas) {
    CAPTURE(name);
    const Cost cost = cost_of(formula(200'000)), larger = cost_of(formula(1'600'000));
    CHECK(cost.calls >= 1);
    CHECK(cost.kernels + cost.calls <= 5);
    CHECK(larger.ops <= 12 * cost.ops + 1);  // eight times as many elements
    CHECK(larger.bytes <= 12 * cost.bytes);
    for (const Cost& each : {cost, larger}) CHECK(each.ops / limits.throughput <= 20 * each.bytes / limits.bandwidth);
  }
  // One or two kernels compare few elements.
  for (const std::vector<Tensor>& few : {std::vector{sort(exp(floats({1000, 64})))}, std::vector{added({1000}, {places({1000})}, floats({1000}))}}) {
    const Cost cost = cost_of(few);
    CHECK(cost.calls == 0);
    CHECK(cost.kernels <= 2);
  }
  // Scatters at the same places share the inverted index.
  const Tensor at = places({100'000});
  const Cost both = cost_of({added({100'000}, {at}, floats({100'000})), added({100'000}, {at}, floats({100'000}))});
  CHECK(both.calls == 1);
}

TEST_CASE("rows that no result needs are not computed") {
  const Tensor x = placeholder({512, 512, 512}, DType::float32);
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    const auto slice = testing::plan_of({softmax(x)(Slice{}, 0)}, limits), alone = testing::plan_of({softmax(x(Slice{}, 0))}, limits);
    CHECK(testing::bytes_moved(slice) == testing::bytes_moved(alone));
    REQUIRE(slice.steps.size() == 1);
    CHECK(slice.steps[0].kernel.parallel_points() == 512);
    CHECK(slice.steps[0].kernel.row_points() == 512);
  }
}

TEST_CASE("the structure that finds a plan is independent of literals, sizes, lines and names, and of nothing else") {
  const auto key_of = [](const std::vector<Tensor>& tensors) {
    std::vector<trace::RecordedPtr> roots;
    for (const Tensor& tensor : tensors) roots.push_back(tensor.node());
    trace::Traversal traversal;
    traversal.walk(roots);
    traversal.finish(roots, false);
    return traversal.key();
  };
  const auto key = [&](const Tensor& tensor) { return key_of({tensor}); };
  const auto input = [](DType dtype = DType::float32, const Shape& shape = {20, 30}) { return placeholder(shape, dtype); };
  const auto formula = [](const Tensor& x, float a, float b) { return sum(tanh(x * a + b), -1); };
  const Tensor x = input();
  CHECK(key(formula(x, 2, 3)) == key(formula(input(), 4, 5)));
  CHECK(key(x + 1) == key(x + 2));
  CHECK(key(x + 1) != key(x - 1));
  CHECK(key(x + 1) != key(input(DType::float64) + 1));
  CHECK(key(x + 1) == key(input(DType::float32, {7, 50}) + 1));
  CHECK(key(x + 1) != key(input(DType::float32, {20, 20}) + 1));  // equal sizes are one symbol
  CHECK(key(x + 1) != key(input(DType::float32, {20, 1}) + 1));
  CHECK(key(sum(x, 0)) != key(sum(x, 1)));
  CHECK(key(x(Slice{1, 5})) == key(x(Slice{2, 6})));
  CHECK(key(x(Slice{0, 4})) != key(x(Slice{1, 5})));
  const Tensor a = input(), b = input();
  CHECK(key(a - b) == key(b - a));
  CHECK(key(a - b) != key(a - a));
  CHECK(key_of({a, b}) != key_of({a, a}));
}
