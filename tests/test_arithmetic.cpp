// The CPU has one arithmetic: the interpreter and compiled code give the same bits, on every instruction level, for every
// reduction in every layout and every primitive; and what a sum loses does not grow with its length.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "device/host/interpreter.hpp"
#include "llvm_runner.hpp"
#include "nest_builder.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

#define NEEDS_LLVM               \
  if (!llvm_compiler()) {        \
    MESSAGE("skipped: no LLVM"); \
    return;                      \
  }

void interpret(const jit::LoopNest& nest, const std::vector<void*>& pointers, const std::vector<std::uint64_t>& scalars = {}) {
  std::int64_t outer = 1, inner = 1;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.vector_axis ? inner : outer) *= nest.ints[axis];
  device::Interpreter(nest).run({pointers, nest.ints, scalars}, 0, outer, 0, inner);
}

/// The same bits; of NaN only that both are.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// ---- reductions

struct Shape {
  std::vector<std::int64_t> parallel, rows;
};

/// Row-major strides for the axes in the order given by `order`, with a gap after the innermost.
std::vector<std::int64_t> strides(const std::vector<std::int64_t>& sizes, const std::vector<int>& order, std::int64_t gap) {
  std::vector<std::int64_t> result(sizes.size());
  std::int64_t stride = gap;
  for (std::size_t k = order.size(); k-- > 0;) {
    result[order[k]] = stride;
    stride *= sizes[order[k]];
  }
  return result;
}

/// out[p] = reduction of x * x or of x, and a second one beside it.
template <class T>
void check_reduction(Op op, const Shape& shape, bool lanes_are_rows, bool long_body, std::mt19937_64& random) {
  NestBuilder b(shape.parallel, shape.rows, lanes_are_rows);
  std::vector<std::int64_t> sizes = shape.parallel;
  sizes.insert(sizes.end(), shape.rows.begin(), shape.rows.end());
  std::vector<int> order(sizes.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  std::shuffle(order.begin(), order.end(), random);
  const std::int64_t gap = 1 + static_cast<std::int64_t>(random() % 2);
  const std::vector<std::int64_t> at = strides(sizes, order, gap);
  b.stage(true);
  const int x = b.load(dtype_of<T>, b.affine(at));
  int value = x;
  if (long_body)
    for (int k = 0; k < 12; ++k) value = b.op(k % 2 ? Op::minimum : Op::maximum, {value, x});
  const int first = b.reduce(op, value), second = b.reduce(Op::reduce_max, x);
  b.stage(false);
  std::vector<std::int64_t> out_strides(sizes.size(), 0);
  std::int64_t points = 1;
  for (std::size_t axis = shape.parallel.size(); axis-- > 0;) {
    out_strides[axis] = points;
    points *= shape.parallel[axis];
  }
  b.store(first, b.affine(out_strides));
  b.store(second, b.affine(out_strides));

  std::int64_t elements = gap, row_points = 1;
  for (std::int64_t size : sizes) elements *= size;
  for (std::int64_t size : shape.rows) row_points *= size;
  const auto input = std::make_unique<T[]>(elements);
  for (std::int64_t k = 0; k < elements; ++k) {
    const double v = std::uniform_real_distribution<double>(0, 1)(random);
    if (op == Op::reduce_prod) input[k] = static_cast<T>(0.5 + v);
    else input[k] = std::is_floating_point_v<T> ? static_cast<T>(v) : static_cast<T>(v * 3);
  }
  INFO(trace::name(op), " ", name(dtype_of<T>), " ", jit::to_string(b.nest));
  std::string text;
  for (auto size : sizes) text += std::to_string(size) + " ";
  INFO("sizes ", text);
  const auto expected = std::make_unique<T[]>(2 * points), got = std::make_unique<T[]>(2 * points);
  interpret(b.nest, {input.get(), expected.get(), expected.get() + points});
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::fill_n(got.get(), 2 * points, T(77));
    run(b.nest, compile(b.nest, cpu)->entry(), {input.get(), got.get(), got.get() + points}, {}, 3);
    for (std::int64_t k = 0; k < 2 * points; ++k) {
      INFO("point ", k, " ", got[k], " interpreted ", expected[k], " with ", cpu.features);
      REQUIRE(same(got[k], expected[k]));
    }
  }
  if (op != Op::reduce_sum || !std::is_floating_point_v<T> || long_body) return;
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::int64_t p = 0; p < points; ++p) {
    std::int64_t base = 0, rest = p;
    for (std::size_t axis = shape.parallel.size(); axis-- > 0;) {
      base += rest % shape.parallel[axis] * at[axis];
      rest /= shape.parallel[axis];
    }
    double sum = 0;
    for (std::int64_t r = 0; r < row_points; ++r) {
      std::int64_t place = base, left = r;
      for (std::size_t axis = sizes.size(); axis-- > shape.parallel.size();) {
        place += left % sizes[axis] * at[axis];
        left /= sizes[axis];
      }
      sum += static_cast<double>(input[place]);
    }
    const double bound = 4 * (1 + std::log2(static_cast<double>(std::max<std::int64_t>(row_points, 1)))) * std::numeric_limits<T>::epsilon() * sum;
    REQUIRE(std::fabs(static_cast<double>(expected[p]) - sum) <= bound);
  }
}

template <class T>
void check_reductions(Op op, std::mt19937_64& random) {
  const auto size = [&](std::int64_t most) { return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most)); };
  const Shape shapes[] = {
      {{size(4)}, {size(9000)}},         {{size(90)}, {size(700)}},          {{size(3), size(70)}, {size(40)}},
      {{size(5)}, {size(900), size(3)}}, {{size(3)}, {size(20), size(200)}}, {{size(40)}, {size(30), size(3), size(7)}},
      {{1}, {4096 * 5 + size(100), 1}},  {{1}, {9000, 2}},                   {{3}, {0}},
  };
  for (const Shape& shape : shapes)
    for (const bool lanes_are_rows : {true, false}) check_reduction<T>(op, shape, lanes_are_rows, random() % 3 == 0, random);
}

}  // namespace

TEST_CASE("reductions: interpreter and compiled code agree to the bit in every layout, and sums lose little") {
  NEEDS_LLVM
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (const Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max}) check_reductions<float>(op, random);
  check_reductions<double>(Op::reduce_sum, random);
  check_reductions<std::int32_t>(Op::reduce_sum, random);
  check_reductions<std::int64_t>(Op::reduce_prod, random);
  check_reductions<bool>(Op::reduce_sum, random);
  check_reductions<bool>(Op::reduce_min, random);
}

TEST_CASE("sums of a constant, which err in one direction, are bounded by the logarithm of their length") {
  NEEDS_LLVM
  const std::int64_t n = 3'000'000;
  const std::vector<float> x(n, 0.1f);
  const double expected = static_cast<double>(0.1f) * static_cast<double>(n);
  for (const Shape& shape : {Shape{{1}, {n}}, Shape{{1}, {n / 2, 2}}, Shape{{1}, {n, 1}}})
    for (const bool lanes_are_rows : {true, false}) {
      NestBuilder b(shape.parallel, shape.rows, lanes_are_rows);
      b.stage(true);
      const int sum = b.reduce(Op::reduce_sum, b.load(DType::float32, shape.rows.size() == 2 ? b.affine({0, shape.rows[1], 1}) : b.affine({0, 1})));
      b.stage(false);
      b.store(sum, b.affine({}));
      float compiled = 0, interpreted = 0;
      run(b.nest, compile(b.nest, jit::host_cpu())->entry(), {const_cast<float*>(x.data()), &compiled}, {});
      interpret(b.nest, {const_cast<float*>(x.data()), &interpreted});
      CHECK(compiled == interpreted);
      CHECK(std::fabs(compiled - expected) <= 4 * std::log2(static_cast<double>(n)) * 0x1p-23 * expected);
    }
}
