// The CPU has one arithmetic: the interpreter and compiled code give the same bits on every instruction set, for every primitive and for every reduction in
// every layout. The error of a sum hardly grows with its length.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>

#include "draws.hpp"
#include "kernels/primitives/interpreter_functions.hpp"
#include "llvm_runner.hpp"
#include "nest_builder.hpp"
#include "runtime/host/interpreter.hpp"
#include "seed.hpp"

using namespace sinter;
using namespace sinter::testing;

namespace {

void interpret(const jit::LoopNest& nest, const std::vector<void*>& pointers, const std::vector<std::uint64_t>& scalars = {}) {
  std::int64_t outer = 1, inner = 1;
  for (int axis = 0; axis < nest.parallel; ++axis) (axis == nest.lane_axis() ? inner : outer) *= nest.ints[axis];
  runtime::Interpreter(nest).run({pointers, nest.ints, scalars}, 0, outer, 0, inner);
}

/// Compares bits; for NaN, only that both are NaN.
template <class T> bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

// ---- reductions

struct Space {
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

/// out[p] = a reduction of x * x or of x, and a second reduction of the same row.
template <class T> void check_reduction(Op op, const Space& shape, bool lanes_are_rows, bool long_body, std::mt19937_64& random) {
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

template <class T> void check_reductions(Op op, std::mt19937_64& random) {
  const auto size = [&](std::int64_t bound) { return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound)); };
  const Space shapes[] = {
      {{size(4)}, {size(9000)}},
      {{size(90)}, {size(700)}},
      {{size(3), size(70)}, {size(40)}},
      {{size(5)}, {size(900), size(3)}},
      {{size(3)}, {size(20), size(200)}},
      {{size(40)}, {size(30), size(3), size(7)}},
      {{1}, {4096 * 5 + size(100), 1}},
      {{1}, {9000, 2}},
      {{3}, {0}},
  };
  for (const auto& [shape, lanes_are_rows] : sampled(shapes, std::array{true, false})) check_reduction<T>(op, shape, lanes_are_rows, random() % 3 == 0, random);
}

// ---- scans

/// out[p, r] = the scan of x[p, 0..r], together with a reduction of the same row.
template <class T> void check_scan(Op op, const Space& shape, bool lanes_are_rows, std::mt19937_64& random) {
  NestBuilder b(shape.parallel, shape.rows, lanes_are_rows);
  std::vector<std::int64_t> sizes = shape.parallel;
  sizes.insert(sizes.end(), shape.rows.begin(), shape.rows.end());
  std::vector<int> order(sizes.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  const int at = b.affine(strides(sizes, order, 1));
  b.stage(true);
  const int x = b.load(dtype_of<T>, at);
  b.store(b.scan(op, x), at);
  const int smallest = b.reduce(Op::reduce_min, x);
  b.stage(false);
  std::vector<std::int64_t> point(sizes.size(), 0);
  point[0] = 1;
  b.store(smallest, b.affine(point));
  const std::int64_t points = shape.parallel[0];
  std::int64_t row = 1;
  for (const std::int64_t size : shape.rows) row *= size;
  const auto input = std::make_unique<T[]>(points * row);
  for (std::int64_t k = 0; k < points * row; ++k) {
    const double v = std::uniform_real_distribution<double>(0, 1)(random);
    if (op == Op::reduce_prod) input[k] = static_cast<T>(0.5 + v);
    else input[k] = std::is_floating_point_v<T> ? static_cast<T>(v) : static_cast<T>(v * 5);
  }
  INFO(trace::name(op), " ", name(dtype_of<T>), " rows of ", row, " ", jit::to_string(b.nest));
  const auto expected = std::make_unique<T[]>(points * row + points), got = std::make_unique<T[]>(points * row + points);
  interpret(b.nest, {input.get(), expected.get(), expected.get() + points * row});
  for (const jit::CpuTarget& cpu : cpu_levels()) {
    std::fill_n(got.get(), points * row + points, T(77));
    run(b.nest, compile(b.nest, cpu)->entry(), {input.get(), got.get(), got.get() + points * row}, {}, 3);
    for (std::int64_t k = 0; k < points * row + points; ++k) {
      INFO("element ", k, " ", got[k], " interpreted ", expected[k], " with ", cpu.features);
      REQUIRE(same(got[k], expected[k]));
    }
  }
  for (std::int64_t p = 0; p < points; ++p) {
    double so_far = 0;
    for (std::int64_t r = 0; r < row; ++r) {
      const auto v = static_cast<double>(input[p * row + r]);
      so_far = r == 0                  ? v
               : op == Op::reduce_sum  ? so_far + v
               : op == Op::reduce_prod ? so_far * v
               : op == Op::reduce_min  ? std::min(so_far, v)
                                       : std::max(so_far, v);
      if (std::is_floating_point_v<T>)
        REQUIRE(static_cast<double>(expected[p * row + r]) == doctest::Approx(so_far).epsilon((2 + r * (sizeof(T) == 8)) * std::numeric_limits<T>::epsilon()));
      else if (op != Op::reduce_prod) REQUIRE(static_cast<std::int64_t>(expected[p * row + r]) == static_cast<std::int64_t>(so_far));
    }
  }
}

template <class T> void check_scans(Op op, std::mt19937_64& random) {
  const auto size = [&](std::int64_t bound) { return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound)); };
  const Space shapes[] = {{{size(4)}, {size(3000)}}, {{size(70)}, {size(70)}}, {{2}, {size(40), size(70)}}, {{3}, {1}}, {{2}, {0}}};
  for (const auto& [shape, lanes_are_rows] : sampled(shapes, std::array{true, false})) check_scan<T>(op, shape, lanes_are_rows, random);
}

// ---- reductions that end early

/// any, all, and the first position where x equals v, for rows with few hits or none.
void check_early_end(std::int64_t points, std::int64_t row, bool lanes_are_rows, std::mt19937_64& random) {
  NestBuilder b({points}, {row}, lanes_are_rows);
  const int at = b.affine({row, 1}), out = b.affine({1, 0});
  const auto one_stage = [&](auto reduction) {
    b.stage(true);
    const int result = reduction(b.load(DType::bool_, at));
    b.stage(false);
    b.store(result, out);
  };
  b.stage(false);
  const int bound = b.scalar(DType::int64);
  one_stage([&](int x) { return b.reduce(Op::reduce_max, x); });
  one_stage([&](int x) { return b.reduce(Op::reduce_min, b.op(Op::bitwise_not, {x})); });
  one_stage([&](int x) { return b.reduce(Op::reduce_min, b.op(Op::where, DType::int64, {x, b.index_value(at), bound})); });
  const std::int64_t limit = random() % 3 == 0 ? row / 2 : points * row;  // positions after the smallest hit do not count
  const auto input = std::make_unique<bool[]>(points * row);
  for (std::int64_t p = 0; p < points; ++p)
    for (std::uint64_t hits = random() % 4; hits-- > 0;) input[p * row + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(row))] = true;
  struct Results {
    std::unique_ptr<bool[]> any, all;
    std::unique_ptr<std::int64_t[]> place;
  };
  const auto computed = [&](auto execute) {
    Results r{std::make_unique<bool[]>(points), std::make_unique<bool[]>(points), std::make_unique<std::int64_t[]>(points)};
    execute(std::vector<void*>{input.get(), input.get(), input.get(), r.any.get(), r.all.get(), r.place.get()},
            std::vector<std::uint64_t>{static_cast<std::uint64_t>(limit)});
    for (std::int64_t p = 0; p < points; ++p) {
      const bool* const begin = input.get() + p * row;
      const std::int64_t first = std::find(begin, begin + row, true) - begin;
      INFO("row ", p, " of ", row, ", first hit ", first, ", bound ", limit);
      REQUIRE(r.any[p] == (first < row));
      REQUIRE(r.all[p] == (first == row));
      const std::int64_t smallest = std::find(begin, begin + row, false) == begin + row ? points * row : limit;  // the value of a row without hits
      REQUIRE(r.place[p] == (first < row ? std::min(smallest, p * row + first) : limit));
    }
  };
  computed([&](const auto& pointers, const auto& scalars) { interpret(b.nest, pointers, scalars); });
  for (const jit::CpuTarget& cpu : cpu_levels())
    computed([&](const auto& pointers, const auto& scalars) { run(b.nest, compile(b.nest, cpu)->entry(), pointers, scalars, 3); });
}

// ---- primitives

/// Edge values of the type, then moderate ones, then any bits at all.
template <class T> std::vector<T> operands(std::size_t n, std::mt19937_64& random) {
  using limits = std::numeric_limits<T>;
  std::vector<T> values;
  if constexpr (std::is_same_v<T, bool>) {
    values = {};
  } else if constexpr (std::is_floating_point_v<T>) {
    for (const T v : {T(0), T(1), T(0.5), T(2), T(3), T(1e-40), limits::denorm_min(), limits::min(), limits::max(), limits::infinity(), T(88.7), T(104),
                      T(1e10), T(4e6), limits::epsilon(), T(0x1p31), T(0x1p32), T(0x1p63), T(0x1p64)})
      values.insert(values.end(), {v, -v, std::nextafter(v, T(0)), std::nextafter(v, limits::infinity())});
    values.push_back(limits::quiet_NaN());
  } else {
    for (const T v : {limits::min(), limits::max(), T(0), T(1), T(-1), T(2), T(31), T(32), T(63), T(64)}) values.push_back(v);
  }
  std::vector<T> result(n);
  for (std::size_t k = 0; k < n; ++k) {
    const std::uint64_t bits = random();
    if (!values.empty() && k % 3 == 0) {
      result[k] = values[bits % values.size()];
    } else if constexpr (std::is_same_v<T, bool>) {
      result[k] = bits & 1;
    } else if (k % 3 == 1) {
      const double moderate = std::normal_distribution<double>(0, 8)(random);
      if constexpr (std::is_floating_point_v<T>) result[k] = static_cast<T>(moderate);
      else result[k] = static_cast<T>(static_cast<std::int64_t>(moderate));
    } else {
      std::memcpy(&result[k], &bits, sizeof(T));
    }
  }
  return result;
}

/// Calls f.operator()<T>() for the C++ type of every dtype in which kernels compute.
template <class Function> void for_each_computed(Function&& f) {
  for (int number = 0; number < kDTypeCount; ++number)
    visit_storage(static_cast<DType>(number), [&]<class T>() {
      if constexpr (!is_storage_only(dtype_of<T>)) f.template operator()<T>();
    });
}

template <class T, class R> void check_primitive(Op op, const jit::CpuTarget& cpu, std::mt19937_64& random) {
  constexpr std::int64_t n = 6007;
  const int arity = trace::primitive(op).arity;
  NestBuilder b({n});
  b.stage(false);
  const int index = b.affine({1});
  const auto condition = operands<bool>(n, random);
  std::vector<std::vector<T>> x;
  std::vector<void*> pointers;
  std::vector<int> loads;
  auto flags = std::make_unique<bool[]>(n);
  std::copy(condition.begin(), condition.end(), flags.get());
  std::vector<std::unique_ptr<T[]>> memory;
  for (int k = 0; k < arity; ++k) {
    if (arity == 3 && k == 0) {
      loads.push_back(b.load(DType::bool_, index));
      pointers.push_back(flags.get());
      continue;
    }
    const auto values = operands<T>(n, random);
    memory.push_back(std::make_unique<T[]>(n));
    std::copy(values.begin(), values.end(), memory.back().get());
    loads.push_back(b.load(dtype_of<T>, index));
    pointers.push_back(memory.back().get());
  }
  const int value = arity == 1   ? b.op(op, dtype_of<R>, {loads[0]})
                    : arity == 2 ? b.op(op, dtype_of<R>, {loads[0], loads[1]})
                                 : b.op(op, dtype_of<R>, {loads[0], loads[1], loads[2]});
  b.store(value, index);
  const auto compiled = std::make_unique<R[]>(n), interpreted = std::make_unique<R[]>(n);
  pointers.push_back(interpreted.get());
  interpret(b.nest, pointers);
  pointers.back() = compiled.get();
  run(b.nest, compile(b.nest, cpu)->entry(), pointers, {});
  for (std::int64_t k = 0; k < n; ++k) {
    INFO(trace::name(op), " of ", name(dtype_of<T>), " ", memory[0][k], " ", memory.back()[k], ": compiled ", compiled[k], ", interpreted ", interpreted[k]);
    REQUIRE(same(compiled[k], interpreted[k]));
  }
}

auto functions_of(const jit::CpuTarget& cpu) {
#if defined(__x86_64__)
  if (cpu.vector_bytes >= 32) return cpu.vector_bytes == 64 ? &kernels::functions_avx512 : &kernels::functions_avx2;
#endif
  return &kernels::functions_baseline;
}

template <class T> void check_primitives(const jit::CpuTarget& cpu, std::mt19937_64& random) {
  for (int number = 0; number < trace::primitive_count(); ++number) {
    const Op op = static_cast<Op>(number);
    const trace::Primitive& row = trace::primitive(op);
    if (row.kind != trace::OpKind::elementwise || !(row.accepts & trace::dtype_class(dtype_of<T>))) continue;
    // The interpreter has the functions of this processor; those of older ones have a test of their own.
    if (cpu.vector_bytes != jit::host_cpu().vector_bytes && functions_of(cpu)(op, dtype_of<T>)) continue;
    if (op == Op::cast) {
      for_each_computed([&]<class To>() { check_primitive<T, To>(op, cpu, random); });
    } else if (row.result == trace::Result::boolean) {
      check_primitive<T, bool>(op, cpu, random);
    } else {
      check_primitive<T, T>(op, cpu, random);
    }
  }
}

}  // namespace

TEST_CASE("primitives: interpreter and compiled code agree to the bit on every type") {
  NEEDS_LLVM
  std::mt19937_64 random(test_seed());
  for (const jit::CpuTarget& cpu : cpu_levels()) for_each_computed([&]<class T>() { check_primitives<T>(cpu, random); });
}

TEST_CASE_TEMPLATE("the interpreter's functions for each instruction set give the same bits as compiled kernels", T, float, double) {
  NEEDS_LLVM
  std::mt19937_64 random(test_seed());
  const auto x = operands<T>(40001, random), y = operands<T>(40001, random);
  for (const jit::CpuTarget& cpu : cpu_levels())
    for (const std::int64_t number : sampled(integers(0, trace::primitive_count() - 1))) {
      const Op op = static_cast<Op>(number);
      const kernels::TileFn function = functions_of(cpu)(op, dtype_of<T>);
      if (!function) continue;
      const auto n = static_cast<std::int64_t>(x.size());
      NestBuilder b({n});
      b.stage(false);
      const int index = b.affine({1});
      const int first = b.load(dtype_of<T>, index), second = b.load(dtype_of<T>, index);
      b.store(trace::primitive(op).arity == 1 ? b.op(op, {first}) : b.op(op, {first, second}), index);
      std::vector<T> compiled(x.size()), interpreted(x.size());
      run(b.nest, compile(b.nest, cpu)->entry(), {const_cast<T*>(x.data()), const_cast<T*>(y.data()), compiled.data()}, {});
      const void* arguments[] = {x.data(), y.data()};
      function(n, arguments, interpreted.data());
      for (std::size_t k = 0; k < x.size(); ++k) {
        INFO(trace::name(op), " of ", x[k], " ", y[k], ": compiled ", compiled[k], ", interpreted ", interpreted[k], ", ", cpu.vector_bytes);
        REQUIRE(same(compiled[k], interpreted[k]));
      }
    }
}

TEST_CASE_TEMPLATE("a function that a kernel uses many times is emitted once and gives the same bits", T, float, double) {
  NEEDS_LLVM
  constexpr int kTimes = 40;
  std::mt19937_64 random(test_seed());
  const auto x = operands<T>(1003, random), y = operands<T>(1003, random);
  for (const jit::CpuTarget& cpu : cpu_levels())
    for (const Op op : sampled(std::array{Op::sin, Op::tanh, Op::lgamma, Op::atan2})) {
      CAPTURE(trace::name(op));
      CAPTURE(cpu.vector_bytes);
      const bool two = trace::primitive(op).arity == 2;
      NestBuilder b({static_cast<std::int64_t>(x.size())});
      b.stage(false);
      const int index = b.affine({1});
      int value = b.load(dtype_of<T>, index);
      const int second = two ? b.load(dtype_of<T>, index) : -1;
      for (int k = 0; k < kTimes; ++k) value = two ? b.op(op, {value, second}) : b.op(op, {value});
      b.store(value, index);
      const std::string text = jit::generate_llvm(b.nest, cpu).text;
      CHECK(text.find(") noinline") != std::string::npos);
      std::vector<T> compiled(x.size()), interpreted = x;
      std::vector<void*> pointers{const_cast<T*>(x.data())};
      if (two) pointers.push_back(const_cast<T*>(y.data()));
      pointers.push_back(compiled.data());
      run(b.nest, compile(b.nest, cpu)->entry(), pointers, {});
      for (int k = 0; k < kTimes; ++k) {
        const auto before = interpreted;
        const void* arguments[] = {before.data(), y.data()};
        functions_of(cpu)(op, dtype_of<T>)(static_cast<std::int64_t>(x.size()), arguments, interpreted.data());
      }
      for (std::size_t k = 0; k < x.size(); ++k) {
        INFO(x[k], " ", y[k], ": compiled ", compiled[k], ", interpreted ", interpreted[k]);
        REQUIRE(same(compiled[k], interpreted[k]));
      }
    }
}

TEST_CASE("reductions: interpreter and compiled code agree to the bit in every layout, and sums lose little") {
  NEEDS_LLVM
  std::mt19937_64 random(test_seed());
  for (const Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max}) check_reductions<float>(op, random);
  check_reductions<double>(Op::reduce_sum, random);
  check_reductions<std::int32_t>(Op::reduce_sum, random);
  check_reductions<std::int64_t>(Op::reduce_prod, random);
  check_reductions<bool>(Op::reduce_sum, random);
  check_reductions<bool>(Op::reduce_min, random);
}

TEST_CASE("scans: interpreter and compiled code agree to the bit, along rows and across them") {
  NEEDS_LLVM
  std::mt19937_64 random(test_seed());
  for (const Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_min, Op::reduce_max}) check_scans<float>(op, random);
  check_scans<double>(Op::reduce_sum, random);
  check_scans<std::int64_t>(Op::reduce_sum, random);
  check_scans<std::int8_t>(Op::reduce_max, random);
}

TEST_CASE("a reduction that ends early gives the same result as the whole row") {
  NEEDS_LLVM
  std::mt19937_64 random(test_seed());
  for (const auto& [bound, lanes_are_rows] : sampled(std::array{20, 700, 20000}, std::array{true, false}))
    check_early_end(1 + static_cast<std::int64_t>(random() % 70), 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound)), lanes_are_rows,
                    random);
}

TEST_CASE("sums of a constant, which err in one direction, are bounded by the logarithm of their length") {
  NEEDS_LLVM
  const std::int64_t n = 3'000'000;
  const std::vector<float> x(n, 0.1f);
  const double expected = static_cast<double>(0.1f) * static_cast<double>(n);
  for (const auto& [shape, lanes_are_rows] : sampled(std::array{Space{{1}, {n}}, Space{{1}, {n / 2, 2}}, Space{{1}, {n, 1}}}, std::array{true, false})) {
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
