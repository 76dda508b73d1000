// The check of where a plan from a file reads and writes, on kernels built by hand. Each of them is refused as soon as one more element would be needed.
#include <doctest/doctest.h>

#include "engine/reach.hpp"
#include "nest_builder.hpp"
#include "sinter/errors.hpp"

using namespace sinter;
using sinter::testing::NestBuilder;
using sinter::testing::Op;

namespace {

constexpr DType kF32 = DType::float32;

/// A kernel that reads a leaf of `input` bytes and writes a value of `output` bytes, both from the offsets on.
struct Kernel {
  explicit Kernel(jit::LoopNest nest, std::int64_t input, std::int64_t output, std::int64_t input_offset = 0, std::int64_t output_offset = 0) {
    nest.inputs[0].buffer = 0;
    nest.outputs[0].buffer = 1;
    executable.numbers = nest.ints;
    executable.numbers.insert(executable.numbers.end(), {input_offset, output_offset, output});
    auto planned = std::make_shared<engine::Planned>();
    planned->values = {{.dtype = kF32, .leaf = 0}, {.dtype = kF32, .bytes = static_cast<int>(executable.numbers.size()) - 1}};
    planned->steps.emplace_back().nest = std::move(nest);
    executable.planned = std::move(planned);
    executable.library.resize(1);
    terms.leaf_bytes = {input};
  }
  bool passes() const {
    try {
      engine::check_reach(executable, terms);
      return true;
    } catch (const InternalError&) {
      return false;
    }
  }
  engine::Executable executable;
  engine::ReachTerms terms;
};

/// Sums each of `points` rows.
jit::LoopNest row_sums(std::int64_t points, std::int64_t length) {
  NestBuilder b({points}, {length}, true);
  b.stage(true);
  const int sum = b.reduce(Op::reduce_sum, b.load(kF32, b.affine({length, 1})));
  b.stage(false);
  b.store(sum, b.affine({1}));
  return b.nest;
}

/// Doubles the elements of each of `points` rows.
jit::LoopNest doubled(std::int64_t points, std::int64_t length) {
  NestBuilder b({points}, {length}, true);
  b.stage(true);
  const int x = b.load(kF32, b.affine({length, 1}));
  b.store(b.op(Op::add, {x, x}), b.affine({length, 1}));
  return b.nest;
}

}  // namespace

TEST_CASE("a kernel reads and writes exactly its buffers") {
  CHECK(Kernel(row_sums(6, 5), 120, 24).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 119, 24).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 120, 23).passes());
  CHECK(Kernel(row_sums(6, 5), 132, 32, 3, 2).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 131, 32, 3, 2).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 132, 31, 3, 2).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 200, 200, -1, 0).passes());
  CHECK_FALSE(Kernel(row_sums(6, 5), 200, 200, 0, -1).passes());
}

TEST_CASE("rows without elements read nothing, but their results are written") {
  CHECK(Kernel(row_sums(6, 0), 0, 24).passes());
  CHECK_FALSE(Kernel(row_sums(7, 0), 0, 24).passes());
  CHECK(Kernel(doubled(6, 0), 0, 0).passes());
  CHECK(Kernel(row_sums(0, 5), 0, 0).passes());
}

TEST_CASE("other offsets are checked again, with the sizes of other leaves") {
  Kernel kernel(row_sums(6, 5), 200, 24);
  kernel.executable.reached = engine::check_reach(kernel.executable, kernel.terms);
  std::int64_t& offset = kernel.executable.numbers[kernel.executable.numbers.size() - 3];
  const auto passes = [&](std::int64_t at, std::int64_t bytes) {
    offset = at;
    try {
      engine::check_offsets(kernel.executable, {bytes});
      return true;
    } catch (const InternalError&) {
      return false;
    }
  };
  CHECK(passes(20, 200));
  CHECK_FALSE(passes(21, 200));
  CHECK(passes(21, 204));
  CHECK_FALSE(passes(-1, 200));
  CHECK_FALSE(passes(0, 116));
}
