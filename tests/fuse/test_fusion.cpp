// The kernels that formulas of real models and programs take: bench/fusion.hpp lists them, bench/fusion.cpp prints them.
#include "../../bench/fusion.hpp"

#include <doctest/doctest.h>

#include "host_data_stub.hpp"
#include "kernel_count.hpp"

using namespace sinter;

TEST_CASE("formulas take as few kernels as they can") {
  for (const auto& formula : fusion::formulas())
    for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
      CAPTURE(formula.name);
      CAPTURE(limits.target);
      CHECK(testing::plan_of(formula.record(), limits).steps.size() <= static_cast<std::size_t>(formula.most + (limits.sm > 0 ? formula.second_stages : 0)));
    }
}

TEST_CASE("rows that are not wanted are not computed") {
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
    trace::Outline outline;
    outline.walk(roots);
    outline.finish(roots, false);
    return outline.key();
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
  CHECK(key(x + 1) != key(input(DType::float32, {20, 20}) + 1));  // sizes that are equal are one
  CHECK(key(x + 1) != key(input(DType::float32, {20, 1}) + 1));
  CHECK(key(sum(x, 0)) != key(sum(x, 1)));
  CHECK(key(x(Slice{1, 5})) == key(x(Slice{2, 6})));
  CHECK(key(x(Slice{0, 4})) != key(x(Slice{1, 5})));
  const Tensor a = input(), b = input();
  CHECK(key(a - b) == key(b - a));
  CHECK(key(a - b) != key(a - a));
  CHECK(key_of({a, b}) != key_of({a, a}));
}
