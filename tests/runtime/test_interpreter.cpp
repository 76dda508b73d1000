// The interpreter on hand-built loop nests: indices, stages, persistent buffers, reductions, chunks, ranges.
#include "runtime/host/interpreter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "host_data_stub.hpp"
#include "nest_builder.hpp"
#include "seed.hpp"

using namespace sinter;
using runtime::Interpreter;
using testing::kNone;
using testing::kOne;
using testing::NestBuilder;
using testing::Op;

namespace {

constexpr DType kF32 = DType::float32;
const float kPoison = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_values(std::int64_t n, std::uint64_t seed, float from = -2, float to = 2) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<float> uniform(from, to);
  std::vector<float> values(static_cast<std::size_t>(std::max<std::int64_t>(n, 1)));
  for (auto& value : values) value = uniform(random);
  return values;
}

std::uint64_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

struct Bound {
  std::int64_t outer = 1, inner = 1;
};
Bound bounds(const jit::LoopNest& nest) {
  Bound bound;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? bound.inner : bound.outer) *= nest.ints[axis];
  return bound;
}
void run(const jit::LoopNest& nest, std::vector<void*> pointers, std::vector<std::uint64_t> scalars = {}) {
  const Bound bound = bounds(nest);
  Interpreter(nest).run({pointers, nest.ints, scalars}, 0, bound.outer, 0, bound.inner);
}
/// Runs the nest in parts, in reverse order.
void run_in_pieces(const jit::LoopNest& nest, std::vector<void*> pointers, std::int64_t outer_step, std::int64_t inner_step) {
  const Bound bound = bounds(nest);
  const Interpreter interpreter(nest);
  for (std::int64_t outer = (bound.outer - 1) / outer_step * outer_step; outer >= 0; outer -= outer_step)
    for (std::int64_t inner = (bound.inner - 1) / inner_step * inner_step; inner >= 0; inner -= inner_step)
      interpreter.run({pointers, nest.ints, {}}, outer, std::min(outer + outer_step, bound.outer), inner, std::min(inner + inner_step, bound.inner));
}

/// softmax over the axis of `rows` elements. With `lanes_are_rows` rows are contiguous, else columns are.
jit::LoopNest softmax(std::int64_t points, std::int64_t rows, bool lanes_are_rows) {
  NestBuilder b({points}, {rows}, lanes_are_rows);
  const int at = lanes_are_rows ? b.affine({rows, 1}) : b.affine({1, points});
  b.stage(true);
  const int x = b.load(kF32, at);
  const int scaled = b.op(Op::multiply, {x, b.scalar(kF32)});
  const int kept = b.keep(scaled);
  const int max = b.reduce(Op::reduce_max, scaled);
  b.stage(true);
  const int e = b.op(Op::exp, {b.op(Op::subtract, {b.persistent(kept), max})});
  const int kept_e = b.keep(e);
  const int sum = b.reduce(Op::reduce_sum, e);
  b.stage(false);
  b.stage(true);
  b.store(b.op(Op::divide, {b.persistent(kept_e), sum}), at);
  return b.nest;
}

}  // namespace

TEST_CASE("pointwise: contiguous, broadcast, strided, reversed and scalar operands, of many sizes") {
  for (std::int64_t columns : {1, 3, 64, 1023, 1024, 1025, 2500}) {
    const std::int64_t rows = 3;
    const auto seed = sinter::testing::fresh_seed();
    INFO("columns ", columns, " seed ", seed);
    NestBuilder b({rows, columns});
    b.stage(false);
    const int contiguous = b.load(kF32, b.affine({columns, 1}));
    const int of_row = b.load(kF32, b.affine({1, 0}));
    const int of_column = b.load(kF32, b.affine({0, 1}));
    const int transposed = b.load(kF32, b.affine({1, rows}));
    const int backwards = b.load(kF32, b.affine({-columns, -1}));
    const int everybody = b.load(kF32, b.affine({}));
    const int s = b.scalar(kF32);
    int sum = b.op(Op::multiply, {of_row, contiguous});
    sum = b.op(Op::add, {sum, b.op(Op::multiply, {of_column, s})});
    sum = b.op(Op::subtract, {sum, b.op(Op::multiply, {transposed, everybody})});
    sum = b.op(Op::add, {sum, backwards});
    b.store(sum, b.affine({columns, 1}));
    b.store(b.op(Op::multiply, {of_row, s}), b.affine({1, rows}));  // a value that does not change along the lanes and is stored with a stride

    auto in0 = random_values(rows * columns, seed), in1 = random_values(rows, seed + 1), in2 = random_values(columns, seed + 2);
    auto in3 = random_values(rows * columns, seed + 3), in4 = random_values(rows * columns, seed + 4), in5 = random_values(1, seed + 5);
    std::vector<float> out0(in0.size(), kPoison), out1(in0.size(), kPoison);
    run(b.nest, {in0.data(), in1.data(), in2.data(), in3.data(), in4.data() + rows * columns - 1, in5.data(), out0.data(), out1.data()}, {bits_of(0.75f)});
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) {
        const float expected = in1[i] * in0[i * columns + j] + in2[j] * 0.75f - in3[j * rows + i] * in5[0] + in4[rows * columns - 1 - i * columns - j];
        CHECK(out0[i * columns + j] == doctest::Approx(expected).epsilon(1e-6));
        CHECK(out1[j * rows + i] == in1[i] * 0.75f);
      }
  }
}

TEST_CASE("indices with division and remainder, nested") {
  // Element t of a (6, 35) array in flat order, read like a transposed (14, 15) array, and reshaped once more.
  const std::int64_t rows = 6, columns = 3500;
  NestBuilder b({rows, columns});
  b.stage(false);
  const int flat = b.affine({columns, 1});
  const int by15 = b.parameter(15), by1400 = b.parameter(1400), by7 = b.parameter(7), by100 = b.parameter(100);
  jit::Index transposed;  // (t % 15) * 1400 + t / 15
  transposed.terms = {{by1400, -1, flat, kOne, by15}, {kOne, -1, flat, by15, kNone}};
  const int turned = b.add(transposed);
  jit::Index folded;  // (turned / 7) % 100 + 100 * (j / 7 % 15) + row + 5
  const int column = b.affine({0, 1});
  folded.terms = {{kOne, -1, turned, by7, by100}, {by100, -1, column, by7, by15}, {kOne, 0}};
  folded.constant = b.parameter(5);
  const int twice = b.add(folded);
  jit::Index strided;  // (3 * j) / 7 % 100
  strided.terms = {{kOne, -1, b.affine({0, 3}), by7, by100}};
  jit::Index wrapped;  // an index of an index, still affine: i * columns + j + 5
  wrapped.terms = {{kOne, -1, flat}};
  wrapped.constant = b.parameter(5);
  const int x = b.load(kF32, turned), y = b.load(kF32, twice), z = b.load(kF32, b.add(strided)), w = b.load(kF32, b.add(wrapped));
  b.store(b.op(Op::add, {b.op(Op::add, {x, y}), b.op(Op::add, {z, w})}), flat);
  b.store(b.index_value(twice), turned);
  b.store(b.index_value(flat), flat);
  b.store(b.index_value(b.affine({1, 0})), flat);

  const auto seed = sinter::testing::fresh_seed();
  INFO("seed ", seed);
  auto in0 = random_values(rows * columns, seed), in1 = random_values(2000, seed + 1), in2 = random_values(100, seed + 2);
  auto in3 = random_values(rows * columns + 5, seed + 3);
  std::vector<float> out(in0.size(), kPoison);
  std::vector<std::int64_t> where(in0.size(), -1), identity(in0.size(), -1), row(in0.size(), -1);
  run(b.nest, {in0.data(), in1.data(), in2.data(), in3.data(), out.data(), where.data(), identity.data(), row.data()});
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t t = i * columns + j, u = t % 15 * 1400 + t / 15, v = u / 7 % 100 + 100 * (j / 7 % 15) + i + 5;
      CHECK(out[t] == in0[u] + in1[v] + (in2[3 * j / 7 % 100] + in3[t + 5]));
      CHECK(where[u] == v);
      CHECK(identity[t] == t);
      CHECK(row[t] == i);
    }
}

TEST_CASE("empty axes: without points nothing is written, without rows the result is the neutral element") {
  const auto none = softmax(0, 5, true);
  float untouched = 42;
  run(none, {&untouched, &untouched}, {0});
  CHECK(untouched == 42);
  for (bool lanes_are_rows : {true, false}) {
    NestBuilder b({3}, {4, 0}, lanes_are_rows);
    b.stage(true);
    const int x = b.load(kF32, b.affine({1, 0, 1}));
    const int sum = b.reduce(Op::reduce_sum, x), product = b.reduce(Op::reduce_prod, x);
    b.stage(false);
    b.store(sum, b.affine({1}));
    b.store(product, b.affine({1}));
    std::vector<float> in(1), sums(3, kPoison), products(3, kPoison);
    run(b.nest, {in.data(), sums.data(), products.data()});
    CHECK(sums == std::vector<float>(3, 0));
    CHECK(products == std::vector<float>(3, 1));
  }
}

TEST_CASE("reductions over several row axes of values that vary along only some of them") {
  for (bool lanes_are_rows : {true, false}) {
    const std::int64_t points = 37, r0 = 5, r1 = 1100;
    NestBuilder b({2, points}, {r0, r1}, lanes_are_rows);
    b.stage(true);
    const int full = b.load(kF32, b.affine({points * r0 * r1, r0 * r1, r1, 1}));
    const int of_point = b.load(kF32, b.affine({points, 1}));
    const int of_row = b.load(kF32, b.affine({0, 0, 1}));
    const int sum = b.reduce(Op::reduce_sum, full), repeated = b.reduce(Op::reduce_sum, of_point);
    const int rows_only = b.reduce(Op::reduce_max, of_row);
    b.stage(false);
    const int mean = b.op(Op::divide, {sum, b.scalar(kF32)});
    b.stage(true);
    const int centred = b.op(Op::subtract, {b.load_again(0), mean});
    const int variance = b.reduce(Op::reduce_sum, b.op(Op::multiply, {centred, centred}));
    b.stage(false);
    for (int value : {mean, repeated, rows_only, variance}) b.store(value, b.affine({points, 1}));

    const auto seed = sinter::testing::fresh_seed();
    INFO("seed ", seed, " lanes are rows ", lanes_are_rows);
    auto in0 = random_values(2 * points * r0 * r1, seed), in1 = random_values(2 * points, seed + 1), in2 = random_values(r0, seed + 2);
    std::vector<std::vector<float>> out(4, std::vector<float>(2 * points, kPoison));
    run(b.nest, {in0.data(), in1.data(), in2.data(), out[0].data(), out[1].data(), out[2].data(), out[3].data()}, {bits_of(static_cast<float>(r0 * r1))});
    for (std::int64_t p = 0; p < 2 * points; ++p) {
      double total = 0, squares = 0;
      for (std::int64_t r = 0; r < r0 * r1; ++r) total += in0[p * r0 * r1 + r];
      const double expected = total / (r0 * r1);
      for (std::int64_t r = 0; r < r0 * r1; ++r) squares += std::pow(in0[p * r0 * r1 + r] - expected, 2);
      CHECK(std::fabs(out[0][p] - expected) <= 1e-7);
      CHECK(out[1][p] == doctest::Approx(in1[p] * r0 * r1).epsilon(1e-5));
      CHECK(out[2][p] == *std::max_element(in2.begin(), in2.end()));
      CHECK(out[3][p] == doctest::Approx(squares).epsilon(1e-5));
    }
  }
}

TEST_CASE("the last chunk ends where the row ends, vectorised along any axis") {
  for (std::int64_t total : {1, 99, 100, 101, 1000, 2049, 15003})
    for (std::int64_t size : {1, 7, 100})
      for (int layout = 0; layout < 3; ++layout) {
        const std::int64_t chunks = (total + size - 1) / size, columns = 3;
        const auto seed = sinter::testing::fresh_seed();
        INFO("total ", total, " size ", size, " layout ", layout, " seed ", seed);
        auto x = random_values(total * columns, seed);
        // vectorised along: 0: the row; 1: the columns, where each chunk is a point; 2: the chunks
        const bool lanes_are_rows = layout == 0, lanes_are_chunks = layout == 2;
        NestBuilder b(lanes_are_chunks ? std::vector<std::int64_t>{columns, chunks} : std::vector<std::int64_t>{chunks, columns}, {size}, lanes_are_rows);
        const int chunk = lanes_are_chunks ? 1 : 0;
        b.chunks(chunk, total);
        b.stage(true);
        const int value = b.load(kF32, lanes_are_chunks ? b.affine({1, size * columns, columns}) : b.affine({size * columns, 1, columns}));
        const int buffer = b.keep(value);
        const int sum = b.reduce(Op::reduce_sum, value);
        b.stage(true);
        const int largest = b.reduce(Op::reduce_max, b.op(Op::subtract, {b.persistent(buffer), sum}));
        b.stage(false);
        const int at = lanes_are_chunks ? b.affine({1, columns}) : b.affine({columns, 1});
        b.store(sum, at);
        b.store(largest, at);
        std::vector<float> sums(chunks * columns, kPoison), maxima(chunks * columns, kPoison);
        run(b.nest, {x.data(), sums.data(), maxima.data()});
        for (std::int64_t c = 0; c < chunks; ++c)
          for (std::int64_t j = 0; j < columns; ++j) {
            double expected = 0, max = -1e30;
            for (std::int64_t r = c * size; r < std::min((c + 1) * size, total); ++r) expected += x[r * columns + j];
            for (std::int64_t r = c * size; r < std::min((c + 1) * size, total); ++r) max = std::max<double>(max, x[r * columns + j]);
            CHECK(sums[c * columns + j] == doctest::Approx(expected).epsilon(1e-5));
            CHECK(maxima[c * columns + j] == doctest::Approx(max - expected).epsilon(1e-5));
          }
      }
}

TEST_CASE("a nest with many values reuses its tiles and computes the same") {
  const std::int64_t n = 1500;
  const auto seed = sinter::testing::fresh_seed();
  INFO("seed ", seed);
  std::mt19937_64 random(seed);
  NestBuilder b({n});
  b.stage(false);
  std::vector<int> values;
  std::vector<std::vector<float>> inputs, expected;
  for (int k = 0; k < 5; ++k) {
    values.push_back(b.load(kF32, b.affine({1})));
    inputs.push_back(random_values(n, seed + k + 1));
    expected.push_back(inputs.back());
  }
  for (int k = 0; k < 200; ++k) {
    const auto x = random() % values.size(), y = random() % values.size();
    const bool max = random() % 2;
    values.push_back(b.op(max ? Op::maximum : Op::subtract, {values[x], values[y]}));
    expected.emplace_back(n);
    for (std::int64_t i = 0; i < n; ++i) expected.back()[i] = max ? std::max(expected[x][i], expected[y][i]) : expected[x][i] - expected[y][i];
  }
  std::vector<void*> pointers;
  for (auto& input : inputs) pointers.push_back(input.data());
  std::vector<std::vector<float>> out;
  std::vector<std::size_t> stored = {60, 130, values.size() - 1, 2};
  for (auto which : stored) {
    b.store(values[which], b.affine({1}));
    out.emplace_back(n, kPoison);
  }
  for (auto& o : out) pointers.push_back(o.data());
  run(b.nest, pointers);
  for (std::size_t k = 0; k < stored.size(); ++k) CHECK(out[k] == expected[stored[k]]);
}

TEST_CASE("an output may be the buffer that an input was read from") {
  NestBuilder b({5});
  b.stage(false);
  const int x = b.load(kF32, b.affine({1}));
  b.store(b.op(Op::add, {x, x}), b.affine({1}));
  b.store(x, b.affine({1}));
  std::vector<float> data = {1, 2, 3, 4, 5}, copy(5, kPoison);
  run(b.nest, {data.data(), data.data(), copy.data()});
  CHECK(data == std::vector<float>{2, 4, 6, 8, 10});
  CHECK(copy == std::vector<float>{1, 2, 3, 4, 5});
}

TEST_CASE("a range of points computes only these points, with the same bits") {
  for (bool lanes_are_rows : {true, false}) {
    const std::int64_t points = 2300, rows = 40;
    const auto seed = sinter::testing::fresh_seed();
    INFO("seed ", seed);
    NestBuilder b({2, points}, {rows}, lanes_are_rows);
    b.stage(true);
    const int x = b.load(kF32, b.affine({points * rows, lanes_are_rows ? rows : 1, lanes_are_rows ? 1 : points}));
    const int buffer = b.keep(b.op(Op::exp, {x}));
    const int sum = b.reduce(Op::reduce_sum, x);
    b.stage(true);
    const int result = b.reduce(Op::reduce_sum, b.op(Op::multiply, {b.persistent(buffer), sum}));
    b.stage(false);
    b.store(result, b.affine({points, 1}));
    auto in = random_values(2 * points * rows, seed);
    std::vector<float> whole(2 * points, kPoison), pieces(2 * points, kPoison);
    run(b.nest, {in.data(), whole.data()});
    run_in_pieces(b.nest, {in.data(), pieces.data()}, lanes_are_rows ? 77 : 1, lanes_are_rows ? 1 : 333);
    CHECK(whole == pieces);

    // A range of points does not change the others.
    std::vector<float> part(2 * points, 5);
    const Interpreter interpreter(b.nest);
    std::vector<void*> pointers = {in.data(), part.data()};
    if (lanes_are_rows) interpreter.run({pointers, b.nest.ints, {}}, 10, 20, 0, 1);
    else interpreter.run({pointers, b.nest.ints, {}}, 0, 1, 10, 20);
    for (std::int64_t k = 0; k < 2 * points; ++k) CHECK(part[k] == (k >= 10 && k < 20 ? whole[k] : 5));
  }
}

TEST_CASE("sizes and literals are arguments: one interpreter serves them all") {
  NestBuilder b({1});
  b.stage(false);
  b.store(b.op(Op::multiply, {b.load(kF32, b.affine({1})), b.scalar(kF32)}), b.affine({1}));
  const Interpreter interpreter(b.nest);
  for (std::int64_t n : {1, 1023, 4000}) {
    auto in = random_values(n, sinter::testing::fresh_seed());
    std::vector<float> out(in.size(), kPoison);
    std::vector<void*> pointers = {in.data(), out.data()};
    std::vector<std::int64_t> ints = {n};
    std::vector<std::uint64_t> scalars = {bits_of(static_cast<float>(n))};
    interpreter.run({pointers, ints, scalars}, 0, 1, 0, n);
    for (std::int64_t k = 0; k < n; ++k) CHECK(out[k] == in[k] * static_cast<float>(n));
  }
}
