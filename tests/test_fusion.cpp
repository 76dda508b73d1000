// The kernels that formulas of real models and programs take: bench/fusion.hpp lists them, bench/fusion.cpp prints them.
#include "../bench/fusion.hpp"

#include <doctest/doctest.h>

#include "host_data_stub.hpp"
#include "kernel_count.hpp"

using namespace sinter;

TEST_CASE("formulas take as few kernels as they can") {
  for (const auto& formula : fusion::formulas())
    for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
      CAPTURE(formula.name);
      CAPTURE(limits.target);
      CHECK(testing::plan_of(formula.record(), limits).steps.size() <= static_cast<std::size_t>(formula.most));
    }
}

TEST_CASE("rows that are not wanted are not computed") {
  const Tensor x = placeholder({512, 512, 512}, DType::float32);
  for (const auto& limits : {fuse::cpu_limits(), fuse::cuda_limits(90)}) {
    const auto slice = testing::plan_of({softmax(x)(Slice{}, 0)}, limits), alone = testing::plan_of({softmax(x(Slice{}, 0))}, limits);
    CHECK(slice.bytes_moved == alone.bytes_moved);
    REQUIRE(slice.steps.size() == 1);
    CHECK(slice.steps[0].kernel.parallel_points() == 512);
    CHECK(slice.steps[0].kernel.row_points() == 512);
  }
}
