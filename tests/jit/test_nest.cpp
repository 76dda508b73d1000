// Loop nests with guarded accesses, indices that are values, checks and scans, on every executor. The executors must agree with plain loops, and must not
// access memory for which a guard is false.
#include <doctest/doctest.h>

#include <functional>

#include "cuda_fixture.hpp"
#include "llvm_runner.hpp"
#include "nest_builder.hpp"
#include "runtime/host/interpreter.hpp"

using namespace sinter;
using sinter::test::Array;
using sinter::test::Random;
using sinter::testing::kOne;
using sinter::testing::NestBuilder;
using sinter::testing::Op;
using sinter::testing::share_rows;

namespace {

constexpr DType kF32 = DType::float32, kF64 = DType::float64, kI32 = DType::int32, kI64 = DType::int64, kBool = DType::bool_;

struct Result {
  std::vector<Array> outputs;
  std::vector<std::int64_t> flags;
};

std::vector<Array> poisoned(const jit::LoopNest& nest, const std::vector<std::size_t>& counts) {
  std::vector<Array> outputs;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    outputs.emplace_back(nest.outputs[k].dtype, counts[k]);
    std::fill(outputs[k].bytes.begin(), outputs[k].bytes.end(), std::byte{0xa5});
  }
  return outputs;
}

/// The buffers are on the host; `run` gets their addresses.
Result on_host(const jit::LoopNest& nest, std::vector<Array> inputs, const std::vector<std::size_t>& counts,
               const std::function<void(const std::vector<void*>&)>& run) {
  Result result{poisoned(nest, counts), std::vector<std::int64_t>(2 * nest.checks)};
  std::vector<void*> pointers;
  for (auto* arrays : {&inputs, &result.outputs})
    for (Array& a : *arrays) pointers.push_back(a.bytes.data());
  if (nest.checks > 0) pointers.push_back(result.flags.data());
  run(pointers);
  return result;
}

Result on_cuda(const jit::LoopNest& nest, const std::vector<Array>& inputs, const std::vector<std::size_t>& counts, const std::vector<std::uint64_t>& scalars) {
  auto& gpu = test::gpu();
  const jit::Binary binary = test::compiler().compile(jit::generate_cuda(nest, gpu.info().sm));
  Result result{poisoned(nest, counts), std::vector<std::int64_t>(2 * nest.checks)};
  std::vector<runtime::BufferPtr> buffers;
  const auto upload = [&](const void* data, std::size_t bytes) {
    buffers.push_back(gpu.allocate(std::max<std::size_t>(bytes, 1)));
    gpu.upload(*buffers.back(), data, bytes);
  };
  for (const Array& a : inputs) upload(a.bytes.data(), a.bytes.size());
  for (const Array& a : result.outputs) upload(a.bytes.data(), a.bytes.size());
  if (nest.checks > 0) upload(result.flags.data(), 8 * result.flags.size());
  std::vector<void*> pointers;
  for (const auto& b : buffers) pointers.push_back(b->data());
  gpu.launch(*gpu.load(nest, binary), nest, {pointers, nest.ints, scalars});
  for (std::size_t k = 0; k < counts.size(); ++k) gpu.download(result.outputs[k].bytes.data(), *buffers[inputs.size() + k], result.outputs[k].bytes.size());
  if (nest.checks > 0) gpu.download(result.flags.data(), *buffers.back(), 8 * result.flags.size());
  return result;
}

/// A run uses LLVM or the CUDA device, not both. With both, and sometimes with CUDA alone, glibc reported a corrupt heap at exit, after all checks had passed.
/// The cause is not known yet.
bool with_cuda() { return std::getenv("SINTER_NEST_CUDA") != nullptr; }

/// Runs the nest on the interpreter, and as LLVM code for each instruction set of the processor or on the CUDA device.
void everywhere(const jit::LoopNest& nest, const std::vector<Array>& inputs, const std::vector<std::size_t>& counts,
                const std::function<void(const Result&)>& check, const std::vector<std::uint64_t>& scalars = {}) {
  INFO(jit::to_string(nest));
  std::int64_t outer = 1, inner = 1;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? inner : outer) *= nest.ints[axis];
  const Result interpreted = on_host(
      nest, inputs, counts, [&](const std::vector<void*>& pointers) { runtime::Interpreter(nest).run({pointers, nest.ints, scalars}, 0, outer, 0, inner); });
  {
    INFO("interpreter");
    check(interpreted);
  }
  if (!with_cuda() && testing::llvm_compiler())
    for (const jit::CpuTarget& cpu : testing::cpu_levels()) {
      const Result compiled = on_host(
          nest, inputs, counts, [&](const std::vector<void*>& pointers) { testing::run(nest, testing::compile(nest, cpu)->entry(), pointers, scalars, 2); });
      INFO("llvm, vectors of ", cpu.vector_bytes, " bytes");
      check(compiled);
      for (std::size_t k = 0; k < counts.size(); ++k) CHECK(compiled.outputs[k].bytes == interpreted.outputs[k].bytes);  // one arithmetic
    }
  if (!with_cuda()) return;
  const Result cuda = on_cuda(nest, inputs, counts, scalars);
  INFO("cuda");
  INFO(jit::generate_cuda(nest, 80).text);
  check(cuda);
}

Array random_array(DType dtype, std::size_t count, Random& random) {
  Array a(dtype, count);
  for (std::size_t i = 0; i < count; ++i) {
    if (dtype == kF32) a.set(i, static_cast<float>(random.uniform(-4, 4)));
    else if (dtype == kF64) a.set(i, random.uniform(-4, 4));
    else if (dtype == kI32) a.set(i, static_cast<std::int32_t>(random.integer(-1000, 1000)));
    else if (dtype == kI64) a.set(i, random.integer(-1000, 1000));
    else a.set(i, static_cast<std::uint8_t>(random.integer(0, 1)));
  }
  return a;
}

Array integers(const std::vector<std::int64_t>& values) { return Array(values); }

/// Returns low <= index < high as a value.
int within(NestBuilder& b, int index, std::int64_t low, std::int64_t high) {
  const auto constant = [&](std::int64_t value) {
    jit::Index i;
    i.constant = b.parameter(value);
    return b.index_value(b.add(i));
  };
  const int at = b.index_value(index);
  return b.op(Op::bitwise_and, {b.op(Op::less_equal, kBool, {constant(low), at}), b.op(Op::less, kBool, {at, constant(high)})});
}
/// The axes' strides, and a constant.
int affine(NestBuilder& b, std::vector<std::int64_t> strides, std::int64_t constant) {
  const int index = b.affine(std::move(strides));
  if (constant != 0) b.nest.indices[index].constant = b.parameter(constant);
  return index;
}

}  // namespace

TEST_CASE("padding in two dimensions: memory outside x is never read") {
  Random random;
  CAPTURE(random.seed);
  for (const auto& [dtype, vector, sizes] :
       testing::sampled(std::array{kF32, kF64, kI32, kI64, kBool}, std::array{1, 4},
                        std::vector<std::array<std::int64_t, 4>>{{3, 5, 2, 1}, {1, 1, 0, 3}, {40, 300, 1, 7}, {0, 4, 3, 5}})) {
    const auto& [m, n, low, high] = sizes;
    const std::int64_t rows = m + low + high, columns = n + low + high;
    if (columns % vector != 0) continue;
    NestBuilder b({rows, columns});
    b.nest.schedule.vector = vector;
    b.stage(false);
    const int inside = b.op(Op::bitwise_and, {within(b, b.affine({1, 0}), low, low + m), within(b, b.affine({0, 1}), low, low + n)});
    const int fill = b.scalar(dtype);
    const int at = affine(b, {n, 1}, -(low * n + low));
    const int turned = affine(b, {1, std::max<std::int64_t>(m, 2)}, -(low * std::max<std::int64_t>(m, 2) + low));
    const int straight = b.guarded(b.load(dtype, at), inside, fill);
    const int zeroed = b.guarded(b.load(dtype, turned), inside);
    b.store(straight, b.affine({columns, 1}));
    b.store(zeroed, b.affine({columns, 1}));
    b.store_if(inside, straight, b.affine({columns, 1}));
    const Array x = random_array(dtype, m * n, random), y = random_array(dtype, std::max<std::int64_t>(m, 2) * n, random);
    Array seven(dtype, 1);
    if (dtype == kF32) seven.set(0, 7.f);
    else if (dtype == kF64) seven.set(0, 7.);
    else if (dtype == kI32) seven.set<std::int32_t>(0, 7);
    else if (dtype == kI64) seven.set<std::int64_t>(0, 7);
    else seven.set<std::uint8_t>(0, 1);
    std::uint64_t bits = 0;
    std::memcpy(&bits, seven.bytes.data(), seven.bytes.size());
    const auto size = static_cast<std::size_t>(rows * columns);
    everywhere(b.nest, {x, y}, {size, size, size},
               [&](const Result& got) {
                 int wrong = 0;
                 for (std::int64_t i = 0; i < rows; ++i)
                   for (std::int64_t j = 0; j < columns; ++j) {
                     const std::int64_t k = i - low, l = j - low, p = i * columns + j;
                     const bool in = k >= 0 && k < m && l >= 0 && l < n;
                     wrong += got.outputs[0].number(p) != (in ? x.number(k * n + l) : seven.number(0));
                     wrong += got.outputs[1].number(p) != (in ? y.number(k + l * std::max<std::int64_t>(m, 2)) : 0);
                     Array untouched(dtype, 1);
                     std::fill(untouched.bytes.begin(), untouched.bytes.end(), std::byte{0xa5});
                     const double expected = in ? x.number(k * n + l) : untouched.number(0), stored = got.outputs[2].number(p);
                     wrong += !(stored == expected);
                   }
                 CHECK(wrong == 0);
               },
               {bits});
  }
}

TEST_CASE("a guard that is the same for all lanes, and one that is false everywhere") {
  Random random;
  CAPTURE(random.seed);
  const std::int64_t m = 5, n = 1500;
  NestBuilder b({m, n});
  b.stage(false);
  const int row = within(b, b.affine({1, 0}), 1, 4), never = within(b, b.affine({0, 1}), n, n + 1);
  const int of_row = b.guarded(b.load(kF32, b.affine({1, 0})), row);
  const int full = b.guarded(b.load(kF32, b.affine({n, 1})), row, of_row);
  const int nothing = b.guarded(b.load(kF32, b.affine({n, 1})), never, full);
  b.store(full, b.affine({n, 1}));
  b.store(nothing, b.affine({n, 1}));
  b.store_if(b.op(Op::bitwise_and, {row, within(b, b.affine({0, 1}), 0, 1)}), of_row, b.affine({1, 0}));  // only one lane of each row is active
  const Array x = random_array(kF32, m, random), y = random_array(kF32, m * n, random);
  everywhere(b.nest, {x, y, Array(kF32, 0)}, {static_cast<std::size_t>(m * n), static_cast<std::size_t>(m * n), static_cast<std::size_t>(m)},
             [&](const Result& got) {
               int wrong = 0;
               for (std::int64_t i = 0; i < m; ++i)
                 for (std::int64_t j = 0; j < n; ++j) {
                   const double expected = i >= 1 && i < 4 ? y.number(i * n + j) : 0;
                   wrong += got.outputs[0].number(i * n + j) != expected;
                   wrong += got.outputs[1].number(i * n + j) != expected;
                 }
               for (std::int64_t i = 1; i < 4; ++i) wrong += got.outputs[2].number(i) != x.number(i);
               CHECK(wrong == 0);
             });
}

TEST_CASE("gathers of rows, of elements and at gathered indices; an invalid index sets its flag and reads nothing") {
  Random random;
  CAPTURE(random.seed);
  for (const auto& [bad, sizes] :
       testing::sampled(std::array<std::int64_t, 3>{0, 1000, -3}, std::vector<std::array<std::int64_t, 2>>{{1, 1}, {7, 300}, {300, 7}, {64, 64}})) {
    const auto& [count, width] = sizes;
    const std::int64_t size = 50;
    NestBuilder b({count, width});
    b.stage(false);
    const int which = b.load(kI64, b.affine({1, 0}));
    jit::Index zero, end;
    end.constant = b.parameter(size);
    const auto valid = [&](int value) {
      const int low = b.index_value(b.add(zero)), high = b.index_value(b.add(end));
      return b.op(Op::bitwise_and, {b.op(Op::less_equal, kBool, {low, value}), b.op(Op::less, kBool, {value, high})});
    };
    const int fine = valid(which);
    b.check(fine, which);
    jit::Index table;  // which * width + column
    table.terms = {{b.parameter(width), -1, -1, kOne, jit::kNone, which}, {kOne, 1}};
    const int element = b.guarded(b.load(kF32, b.add(table)), fine);
    const int again = b.load(kI64, b.affine({0, 1}));  // one index for each column, itself looked up by the row's
    jit::Index mixed;
    mixed.terms = {{kOne, -1, -1, kOne, jit::kNone, again}};
    const int both = valid(again);
    b.check(both, again);
    const int single = b.guarded(b.load(kF32, b.add(mixed)), both);
    b.store(element, b.affine({width, 1}));
    b.store(single, b.affine({width, 1}));
    jit::Index position;  // (which * 3 + column) / 2 % 5
    position.terms = {{b.parameter(3), -1, -1, kOne, jit::kNone, which}, {kOne, 1}};
    jit::Index folded;
    folded.terms = {{kOne, -1, b.add(position), b.parameter(2), b.parameter(5)}};
    b.store_if(fine, b.index_value(b.add(folded)), b.affine({width, 1}));

    std::vector<std::int64_t> rows(count), columns(width);
    for (auto& r : rows) r = random.integer(0, size - 1);
    for (auto& c : columns) c = random.integer(0, size - 1);
    if (bad != 0) rows[count / 2] = bad;
    const Array x = random_array(kF32, size * width, random), y = random_array(kF32, size, random);
    const auto elements = static_cast<std::size_t>(count * width);
    everywhere(b.nest, {integers(rows), x, integers(columns), y}, {elements, elements, elements}, [&](const Result& got) {
      int wrong = 0;
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < width; ++j) {
          const bool in = rows[i] >= 0 && rows[i] < size;
          wrong += got.outputs[0].number(i * width + j) != (in ? x.number(rows[i] * width + j) : 0);
          wrong += got.outputs[1].number(i * width + j) != y.number(columns[j]);
          if (in) wrong += got.outputs[2].number(i * width + j) != static_cast<double>((rows[i] * 3 + j) / 2 % 5);
        }
      CHECK(wrong == 0);
      CHECK(got.flags == std::vector<std::int64_t>{bad != 0, bad, 0, 0});
    });
  }
}

namespace {

/// Returns the prefix sums of a row, in double (or exactly for integers).
std::vector<double> prefixes(Op op, const std::vector<double>& values) {
  std::vector<double> result;
  double total = 0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const double v = values[k];
    if (k == 0) total = v;
    else if (op == Op::reduce_sum) total += v;
    else if (op == Op::reduce_prod) total *= v;
    else if (std::isnan(total) || std::isnan(v)) total = NAN;
    else total = op == Op::reduce_min ? std::min(total, v) : std::max(total, v);
    result.push_back(total);
  }
  return result;
}

}  // namespace

TEST_CASE("scans of rows and columns with a prologue, an epilogue and a sum") {
  Random random;
  CAPTURE(random.seed);
  for (const auto& [dtype, op, row_threads, sizes] :  // no threads share a row where lanes walk across the rows
       testing::sampled(std::array{kF32, kF64, kI32, kI64}, std::array{Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max}, std::array{0, 32, 128},
                        std::vector<std::array<std::int64_t, 2>>{{1, 1}, {3, 5}, {2, 700}, {70, 40}})) {
    const auto& [points, rows] = sizes;
    const bool lanes_are_rows = row_threads != 0;
    NestBuilder b({points}, {rows}, lanes_are_rows);
    share_rows(b.nest, lanes_are_rows ? row_threads : 32);
    const int at = lanes_are_rows ? b.affine({rows, 1}) : b.affine({1, points});
    b.stage(true);
    const int x = b.load(dtype, at), before = b.op(Op::negative, {x});
    const int prefix = b.scan(op, before), after = b.op(Op::subtract, {prefix, x});
    const int total = b.reduce(Op::reduce_max, prefix);
    b.store(after, at);
    const int buffer = b.keep(prefix);
    if (!lanes_are_rows) {  // a kernel of columns keeps nothing on CUDA
      b.nest.stages.back().keeps.clear();
      b.nest.persistent.clear();
    }
    b.stage(false);
    b.store(total, b.affine({1}));
    b.stage(true);
    b.store(lanes_are_rows ? b.persistent(buffer) : b.load_again(0), at);
    Array values(dtype, points * rows);
    for (std::size_t i = 0; i < values.count(); ++i) {
      if (dtype == kF32) values.set(i, static_cast<float>(random.uniform(0.9, 1.1)));
      else if (dtype == kF64) values.set(i, random.uniform(0.9, 1.1));
      else if (dtype == kI32) values.set(i, static_cast<std::int32_t>(op == Op::reduce_prod ? random.integer(0, 1) * 2 - 1 : random.integer(-99, 99)));
      else values.set(i, op == Op::reduce_prod ? random.integer(0, 1) * 2 - 1 : random.integer(-99, 99));
    }
    const auto size = static_cast<std::size_t>(points * rows);
    const double tolerance = dtype == kF32 ? 2e-7 * static_cast<double>(rows + 2) : dtype == kF64 ? 1e-13 : 0;
    everywhere(b.nest, {values}, {size, static_cast<std::size_t>(points), size}, [&](const Result& got) {
      double worst = 0;
      for (std::int64_t p = 0; p < points; ++p) {
        std::vector<double> row;
        const auto place = [&](std::int64_t r) { return lanes_are_rows ? p * rows + r : r * points + p; };
        for (std::int64_t r = 0; r < rows; ++r) row.push_back(-values.number(place(r)));
        const auto expected = prefixes(op, row);
        double largest = expected[0];
        for (std::int64_t r = 0; r < rows; ++r) {
          largest = std::max(largest, expected[r]);
          const double scale = 1 + std::fabs(expected[r]);
          const double last = lanes_are_rows ? expected[r] : values.number(place(r));
          for (double error : {got.outputs[0].number(place(r)) - (expected[r] - values.number(place(r))), got.outputs[2].number(place(r)) - last})
            worst = std::isnan(error) ? 1e9 : std::max(worst, std::fabs(error) / scale);
        }
        worst = std::max(worst, std::fabs(got.outputs[1].number(p) - largest) / (1 + std::fabs(largest)));
      }
      CHECK(worst <= tolerance);
    });
  }
}

TEST_CASE("a scan of values that an earlier pass staged") {
  Random random;
  CAPTURE(random.seed);
  for (const auto& [row_threads, rows] : testing::sampled(std::array{32, 128}, std::array<std::int64_t, 4>{1, 7, 33, 700})) {
    const std::int64_t points = 5;
    NestBuilder b({points}, {rows}, true);
    share_rows(b.nest, row_threads);
    const int at = b.affine({rows, 1});
    b.stage(true);
    const int x = b.load(kF64, at), sum = b.reduce(Op::reduce_sum, x), buffer = b.keep(x);
    b.stage(true);
    b.store(b.scan(Op::reduce_min, b.op(Op::divide, {b.persistent(buffer), sum})), at);
    const Array values = random_array(kF64, points * rows, random);
    everywhere(b.nest, {values}, {static_cast<std::size_t>(points * rows)}, [&](const Result& got) {
      double worst = 0;
      for (std::int64_t p = 0; p < points; ++p) {
        double total = 0;
        for (std::int64_t r = 0; r < rows; ++r) total += values.number(p * rows + r);
        double smallest = INFINITY;
        for (std::int64_t r = 0; r < rows; ++r) {
          smallest = std::min(smallest, values.number(p * rows + r) / total);
          worst = std::max(worst, std::fabs(got.outputs[0].number(p * rows + r) - smallest) / (1e-3 + std::fabs(smallest)));
        }
      }
      CHECK(worst < 1e-6);
    });
  }
}

TEST_CASE("a scan over several row axes is in row-major order; empty rows write nothing; NaN propagates") {
  for (bool lanes_are_rows : {true, false}) {
    NestBuilder b({2}, {3, 4}, lanes_are_rows);
    share_rows(b.nest, 32);
    b.stage(true);
    const int at = b.affine({12, 4, 1});
    b.store(b.scan(Op::reduce_sum, b.load(kI64, at)), at);
    std::vector<std::int64_t> x(24), expected(24);
    for (int i = 0; i < 24; ++i) x[i] = i * i, expected[i] = x[i] + (i % 12 ? expected[i - 1] : 0);
    everywhere(b.nest, {integers(x)}, {24}, [&](const Result& got) { CHECK(got.outputs[0].bytes == integers(expected).bytes); });

    NestBuilder none({2}, {0}, lanes_are_rows);
    share_rows(none.nest, 32);
    none.stage(true);
    const int nowhere = none.affine({0, 1});
    none.store(none.scan(Op::reduce_sum, none.load(kI64, nowhere)), nowhere);
    everywhere(none.nest, {Array(kI64, 0)}, {1}, [&](const Result& got) { CHECK(got.outputs[0].at<std::uint8_t>(0) == 0xa5); });

    NestBuilder nan({1}, {100}, lanes_are_rows);
    share_rows(nan.nest, 32);
    nan.stage(true);
    const int where = nan.affine({0, 1});
    nan.store(nan.scan(Op::reduce_max, nan.load(kF32, where)), where);
    std::vector<float> values(100, 1.f);
    values[40] = NAN;
    everywhere(nan.nest, {values}, {100}, [&](const Result& got) {
      for (std::size_t i = 0; i < 100; ++i) CHECK(std::isnan(got.outputs[0].at<float>(i)) == (i >= 40));
    });
  }
}

TEST_CASE("verify refuses undefined values") {
  const auto broken = [](const std::function<void(NestBuilder&)>& change) {
    NestBuilder b({4}, {3}, true);
    b.stage(true);
    const int x = b.load(kF32, b.affine({3, 1})), i = b.index_value(b.affine({0, 1}));
    const int yes = b.op(Op::less, kBool, {i, i});
    b.guarded(b.load_again(0), yes, x);
    b.scan(Op::reduce_sum, x);
    b.check(yes, i);
    b.store(x, b.affine({3, 1}));
    CHECK_NOTHROW(jit::verify(b.nest));
    change(b);
    CHECK_THROWS_AS(jit::verify(b.nest), InternalError);
  };
  broken([](NestBuilder& b) { b.nest.instrs[3].guard = 0; });                                        // no bool
  broken([](NestBuilder& b) { b.nest.instrs[3].guard = 3; });                                        // itself
  broken([](NestBuilder& b) { b.nest.instrs[3].guard = -1; });                                       // a fill alone
  broken([](NestBuilder& b) { b.nest.instrs[3].fill = 1; });                                         // of another type
  broken([](NestBuilder& b) { b.nest.instrs[4].op = Op::add; });                                     // no reduction
  broken([](NestBuilder& b) { b.nest.stages[0].checks[0].number = 1; });                             // no flag
  broken([](NestBuilder& b) { b.nest.stages[0].stores[0].guard = 0; });                              // no bool
  broken([](NestBuilder& b) { b.nest.indices[0].terms[1] = {kOne, -1, -1, kOne, jit::kNone, 1}; });  // not computed yet
}
