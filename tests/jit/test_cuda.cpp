// CUDA kernels of hand-built loop nests: their text, NVRTC's report for every target, and their values on the device at hand, against a reference of higher
// precision.
#include <doctest/doctest.h>

#include <future>

#include "cuda_fixture.hpp"
#include "cuda_reference.hpp"
#include "jit/cuda/geometry.hpp"
#include "jit/cuda/report.hpp"
#include "nest_builder.hpp"
#include "sinter/half.hpp"

using namespace sinter;
using namespace sinter::test;
using jit::LoopNest;
using testing::NestBuilder;
using testing::share_rows;

namespace {

constexpr DType f32 = DType::float32, f64 = DType::float64, i32 = DType::int32, i64 = DType::int64, b8 = DType::bool_;

void compile_for_all_targets(const LoopNest& nest) {
  need_nvrtc();
  // From several threads at once, as a plan's kernels are.
  std::vector<std::future<jit::ResourceReport>> reports;
  for (int sm : kTargets) reports.push_back(std::async(std::launch::async, [&nest, sm] { return compiler().compile(jit::generate_cuda(nest, sm)).report; }));
  for (std::size_t i = 0; i < kTargets.size(); ++i) {
    const jit::ResourceReport report = reports[i].get();
    INFO("sm_", kTargets[i], "\n", jit::generate_cuda(nest, kTargets[i]).text);
    CHECK(report.spill_bytes == 0);
    CHECK(report.registers > 0);
    CHECK(report.registers <= 65536 / nest.schedule.threads);
  }
}

/// Elementwise ops whose operands are of one dtype, split into kernels of a few ops.
std::vector<std::vector<Op>> op_groups(DType dtype, std::size_t size) {
  std::vector<std::vector<Op>> groups;
  for (int n = 0; n < trace::primitive_count(); ++n) {
    const trace::Primitive& row = trace::primitive(static_cast<Op>(n));
    if (row.kind != trace::OpKind::elementwise || row.op == Op::cast || !(row.accepts & trace::dtype_class(dtype))) continue;
    if (groups.empty() || groups.back().size() == size) groups.emplace_back();
    groups.back().push_back(row.op);
  }
  return groups;
}

LoopNest elementwise(const std::vector<Op>& ops, DType dtype, std::int64_t count, int vector) {
  NestBuilder b({count});
  b.stage(false);
  const int x = b.affine({1});
  const int left = b.load(dtype, x), right = b.load(dtype, x), choice = b.load(b8, x);
  for (Op op : ops) {
    const trace::Primitive& row = trace::primitive(op);
    std::vector<int> args = row.arity == 1 ? std::vector{left} : row.arity == 2 ? std::vector{left, right} : std::vector{choice, left, right};
    b.store(b.op(op, row.result == trace::Result::boolean ? b8 : dtype, args), x);
  }
  b.nest.schedule.vector = vector;
  b.nest.schedule.wide_index = vector == 1;
  return b.nest;
}

}  // namespace

TEST_CASE("every elementwise op on every dtype, one and four elements at a time") {
  Random random;
  CAPTURE(random.seed);
  for (DType dtype : {f32, f64, i32, i64, b8}) {
    const std::size_t count = 4 * 600;
    const Array left = test_values(dtype, count, random, 0), right = test_values(dtype, count, random, 1);
    const Array choice = test_values(b8, count, random, 0);
    for (const std::vector<Op>& ops : op_groups(dtype, 6)) {
      for (int vector : {1, 4}) {
        const LoopNest nest = elementwise(ops, dtype, count, vector);
        const std::vector<Array> results = run(nest, {left, right, choice}, std::vector<std::size_t>(ops.size(), count));
        for (std::size_t k = 0; k < ops.size(); ++k) {
          int wrong = 0;
          for (std::size_t i = 0; i < count && wrong < 3; ++i) {
            const std::string fault = check_value(ops[k], dtype, left, right, choice, results[k], i);
            if (fault.empty()) continue;
            ++wrong;
            FAIL_CHECK(trace::name(ops[k]), " on ", name(dtype), ", vectors of ", vector, ": ", fault);
          }
        }
      }
    }
  }
}

namespace {

/// The error in units of the last place of T, which below the normal numbers are all the same; a result of the wrong sign, or one infinity
/// or NaN too many, is infinitely wrong.
template <class T, class W> double error_in_ulps(T got, W expected) {
  const T rounded = static_cast<T>(expected);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) && std::isnan(got) ? 0 : INFINITY;
  if (std::signbit(got) != std::signbit(rounded)) return INFINITY;
  const W largest = std::numeric_limits<T>::max();
  const W ulp = std::ldexp(
      W(1), std::max(std::ilogb(std::min(std::fabs(expected), largest)), std::numeric_limits<T>::min_exponent - 1) - std::numeric_limits<T>::digits + 1);
  if (std::isinf(got) || std::isinf(rounded))  // infinity is a step beyond the largest number
    return got == rounded ? 0 : static_cast<double>(std::fabs(std::min(std::fabs(W(got)), largest + ulp) - std::min(std::fabs(expected), largest + ulp)) / ulp);
  return static_cast<double>(std::fabs(W(got) - expected) / ulp);
}

float of_bits(std::uint64_t bits) {
  const auto low = static_cast<std::uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, 4);
  return value;
}

}  // namespace

// The bounds hold for every float, and with every reciprocal that a GPU may give: scripts/measure_cuda_functions.sh.
TEST_CASE("powers of float32 are within 1.41 ULP") {
  Random random;
  CAPTURE(random.seed);
  constexpr std::size_t count = 1 << 18;
  std::vector<float> a(count), b(count);
  const float special[] = {0,   -0.0f,  1,       -1,    2,      -2,          0.5f,         -3,         2.5f,       INFINITY, -INFINITY,
                           NAN, 1e-45f, -1e-45f, 3e38f, -3e38f, 16777215.0f, -16777215.0f, 1.0000001f, 0.9999999f, 3e9f};
  for (std::size_t i = 0; i < count; ++i) {
    // Results of all sizes, from bases of all sizes and from ones close to 1; numbers of all bits; every pair of special ones.
    switch (i % 6) {
      case 0: a[i] = static_cast<float>(std::exp2(random.uniform(-149, 128))); break;
      case 1: a[i] = static_cast<float>(random.uniform(0.5, 2)); break;
      case 2: a[i] = static_cast<float>(1 + random.uniform(-1, 1) * std::exp2(random.uniform(-22, -1))); break;
      case 3:
        a[i] = of_bits(random.engine());
        b[i] = of_bits(random.engine());
        continue;
      case 4:
        a[i] = static_cast<float>(random.uniform(-9, 9));
        b[i] = static_cast<float>(random.integer(-20, 20));
        continue;
      default:
        a[i] = special[random.integer(0, std::size(special) - 1)];
        b[i] = special[random.integer(0, std::size(special) - 1)];
        continue;
    }
    b[i] = a[i] == 1 ? 1 : static_cast<float>(random.uniform(-151, 129) / std::log2(a[i]));
  }
  NestBuilder n({count});
  n.stage(false);
  const int x = n.affine({1}), base = n.load(f32, x), exponent = n.load(f32, x);
  n.store(n.op(Op::power, {base, exponent}), x);
  n.nest.schedule.vector = 4;
  const Array y = run(n.nest, {a, b}, {count})[0];
  double worst = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = error_in_ulps(y.at<float>(i), std::pow(double{a[i]}, double{b[i]}));
    if (!(error <= 1.41)) FAIL(a[i], " ** ", b[i], " gives ", y.at<float>(i), ", ", error, " ULP off");
    worst = std::max(worst, error);
  }
  MESSAGE("power: ", worst, " ULP");
}

TEST_CASE("the normal distribution of float32 is within 5.3 ULP, above -6 within 4.2, the logistic function within 2.5, with an exponential of 1") {
  Random random;
  CAPTURE(random.seed);
  constexpr std::size_t count = 1 << 18;
  std::vector<float> a(count);
  const float special[] = {0, -0.0f, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 3e38f, -3e38f, -13.2f, -14.3f, -14.6f, -87.4f, -103.9f, -104.1f};
  for (std::size_t i = 0; i < count; ++i) {
    const double draws[] = {random.uniform(-14.5, 6), random.uniform(-1.5, 1.5), random.uniform(-105, 90), std::exp2(random.uniform(-149, 5)),
                            -std::exp2(random.uniform(-149, 5))};
    a[i] = i % 6 < 5 ? static_cast<float>(draws[i % 6]) : special[random.integer(0, std::size(special) - 1)];
  }
  NestBuilder n({count});
  n.stage(false);
  const int x = n.affine({1}), value = n.load(f32, x);
  n.store(n.op(Op::ndtr, {value}), x);
  n.store(n.op(Op::sigmoid, {value}), x);
  n.nest.schedule.vector = 4;
  const std::vector<Array> y = run(n.nest, {a}, {count, count});
  double worst[2] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double wide = a[i], expected[] = {0.5 * std::erfc(-wide * std::sqrt(0.5)), 1 / (1 + std::exp(-wide))};
    const double bounds[] = {wide > -6 ? 4.2 : 5.3, 2.5};
    for (int k = 0; k < 2; ++k) {
      const double error = error_in_ulps(y[k].at<float>(i), expected[k]);
      if (!(error <= bounds[k])) FAIL(a[i], " gives ", y[k].at<float>(i), " and not ", expected[k], ", ", error, " ULP off");
      worst[k] = std::max(worst[k], error);
    }
  }
  MESSAGE("ndtr: ", worst[0], " ULP, sigmoid: ", worst[1], " ULP");
}

TEST_CASE_TEMPLATE("quotients that share a divisor", T, float, double) {
  using W = std::conditional_t<std::is_same_v<T, float>, double, long double>;
  constexpr DType t = std::is_same_v<T, float> ? f32 : f64;
  Random random;
  CAPTURE(random.seed);
  const T inf = std::numeric_limits<T>::infinity();
  const T special[] = {0,
                       -T(0),
                       1,
                       -1,
                       T(3),
                       inf,
                       -inf,
                       std::numeric_limits<T>::quiet_NaN(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::min()};
  const int range = std::numeric_limits<T>::max_exponent;
  const auto any = [&] {
    if (random.integer(0, 9) == 0) return special[random.integer(0, std::size(special) - 1)];
    const T size = static_cast<T>(
        std::ldexp(random.uniform(1, 2), static_cast<int>(random.integer(0, 2) ? random.integer(-6, 6) : random.integer(-range - 10, range - 1))));
    return random.integer(0, 1) ? size : -size;
  };
  for (const jit::Form& form : {jit::Form(jit::RowsForm()), jit::Form(jit::ColumnsForm()), jit::Form(jit::PointwiseForm())})
    for (const int vector : {1, t == f32 ? 4 : 2}) {
      // A sum of one divisor and zeros is the divisor; then every element is divided by it, and the quotients by a literal.
      const std::int64_t points = 4 * random.integer(4, 40), row = 4 * random.integer(4, 60);
      const bool by_columns = std::holds_alternative<jit::ColumnsForm>(form), by_rows = by_columns || std::holds_alternative<jit::RowsForm>(form);
      NestBuilder n(by_rows ? std::vector{points} : std::vector{points, row}, by_rows ? std::vector{row} : std::vector<std::int64_t>());
      n.nest.schedule.form = form;
      const int x = by_columns ? n.affine({1, points}) : n.affine({row, 1});
      int divisor = -1;
      if (by_rows) {
        n.stage(true);
        divisor = n.reduce(Op::reduce_max, n.load(t, x));
      }
      n.stage(by_rows);
      const int a = n.load(t, x), literal = n.scalar(t);
      const int quotient = divisor < 0 ? a : n.op(Op::divide, {a, divisor});
      n.store(quotient, x);
      n.store(n.op(Op::divide, {a, literal}), x);
      n.nest.schedule.vector = vector;
      if (by_rows) share_rows(n.nest, by_columns ? 256 : 32);
      const std::size_t count = static_cast<std::size_t>(points * row);
      std::vector<T> given(count), over(count);
      for (T& v : given) v = any();
      std::vector<T> largest(static_cast<std::size_t>(points));
      const auto at = [&](std::int64_t p, std::int64_t r) { return static_cast<std::size_t>(by_columns ? r * points + p : p * row + r); };
      for (std::int64_t p = 0; p < points; ++p) {
        largest[static_cast<std::size_t>(p)] = any();
        for (std::int64_t r = 0; r < row; ++r) given[at(p, r)] = any(), over[at(p, r)] = largest[static_cast<std::size_t>(p)];
      }
      const T by = any();
      std::uint64_t bits = 0;
      std::memcpy(&bits, &by, sizeof by);
      std::vector<Array> inputs;
      if (divisor >= 0) inputs.emplace_back(over);
      inputs.emplace_back(given);
      const std::vector<Array> y = run(n.nest, inputs, {count, count}, {bits});
      CAPTURE(by);
      for (std::int64_t p = 0; p < points; ++p)
        for (std::int64_t r = 0; r < row; ++r) {
          const auto check = [&](T got, T above, T below) {
            const double error = error_in_ulps(got, W(above) / W(below));
            // Rounded once, but for the last bits of the least numbers.
            const bool smallest =
                std::fabs(above) < std::ldexp(T(1), 4 - range + std::numeric_limits<T>::digits) || std::fabs(got) < std::numeric_limits<T>::min();
            if (!(error <= (smallest ? 1.5 : 0.50001))) FAIL(above, " / ", below, " gives ", got, ", ", error, " ULP off");
          };
          if (divisor >= 0) check(y[0].template at<T>(at(p, r)), given[at(p, r)], largest[static_cast<std::size_t>(p)]);
          check(y[1].template at<T>(at(p, r)), given[at(p, r)], by);
        }
    }
}

TEST_CASE("floats are rounded to narrow types and used as floats again") {
  Random random;
  CAPTURE(random.seed);
  constexpr std::size_t count = 1 << 14;
  std::vector<float> a(count);
  for (float& v : a) v = random.integer(0, 1) ? of_bits(random.engine()) : static_cast<float>(random.uniform(-2, 2));
  for (int d = 0; d < kDTypeCount; ++d)
    for (const int vector : {1, 2, 8}) {
      const auto t = static_cast<DType>(d);
      if (!is_storage_only(t)) continue;
      NestBuilder n({count});
      n.stage(false);
      const int x = n.affine({1});
      const int narrow = n.cast(n.load(f32, x), t);
      n.store(narrow, x);
      n.store(n.cast(narrow, f32), x);
      n.nest.schedule.vector = vector;
      const std::vector<Array> results = run(n.nest, {a}, {count, count});
      const Array& y = results[0];
      visit_storage(t, [&]<class T>() {
        for (std::size_t i = 0; i < count; ++i) {
          const T got = y.at<T>(i), expected(a[i]);
          const float again = results[1].at<float>(i), same = static_cast<float>(expected);
          const bool right = std::isnan(same) ? std::isnan(static_cast<float>(got)) && std::isnan(again)
                                              : std::memcmp(&got, &expected, sizeof(T)) == 0 && bits_of(again) == bits_of(same);
          if (!right) FAIL(a[i], " as ", name(t), ", vectors of ", vector, ": ", static_cast<float>(got));
        }
      });
    }
}

TEST_CASE("casts between all dtypes") {
  Random random;
  CAPTURE(random.seed);
  const std::vector<DType> all = {b8, i32, i64, f32, f64};
  for (DType from : all) {
    NestBuilder b({512});
    b.stage(false);
    const int x = b.affine({1}), value = b.load(from, x);
    for (DType to : all)
      if (to != from) b.store(b.cast(value, to), x);
    const Array input = test_values(from, 512, random, 0);
    const std::vector<Array> results = run(b.nest, {input}, {512, 512, 512, 512});
    for (const Array& result : results)
      for (std::size_t i = 0; i < 512; ++i) {
        const std::string fault = check_cast(input, result, i);
        if (fault.empty()) continue;
        FAIL_CHECK(fault);
        break;
      }
  }
}

TEST_CASE("elementwise kernels compile for every target without spilling") {
  for (DType dtype : {f32, f64, i32, i64, b8})
    for (const std::vector<Op>& ops : op_groups(dtype, 12)) compile_for_all_targets(elementwise(ops, dtype, 64, dtype == f32 ? 4 : 1));
}

namespace {

LoopNest softmax(std::int64_t rows, std::int64_t columns, int row_threads, int vector, bool persistent, bool wide) {
  NestBuilder b({rows}, {columns}, true);
  b.nest.ops = {"softmax: maximum subtract exp sum divide"};
  const int x = b.affine({columns, 1});
  b.stage(true);
  int value = b.load(f32, x);
  const int buffer = persistent ? b.keep(value) : -1;
  const int max = b.reduce(Op::reduce_max, value);
  b.stage(true);
  value = persistent ? b.persistent(buffer) : b.load(f32, x);
  int exp = b.op(Op::exp, {b.op(Op::subtract, {value, max})});
  if (persistent) b.nest.stages.back().keeps.push_back({buffer, exp});
  const int sum = b.reduce(Op::reduce_sum, exp);
  b.stage(false);
  const int inverse = b.op(Op::divide, {b.scalar(f32), sum});
  b.store(sum, b.affine({1, 0}));
  b.stage(true);
  if (persistent) exp = b.persistent(buffer);
  else exp = b.op(Op::exp, {b.op(Op::subtract, {b.load(f32, x), max})});
  b.store(b.op(Op::multiply, {exp, inverse}), x);
  b.nest.schedule.vector = vector;
  share_rows(b.nest, row_threads);
  b.nest.schedule.wide_index = wide;
  return b.nest;
}

}  // namespace

TEST_CASE("softmax of rows: a block or a warp to a row") {
  Random random;
  CAPTURE(random.seed);
  for (int row_threads : {32, 128, 256})
    for (int vector : {1, 2, 4})
      for (bool persistent : {true, false}) {
        const bool whole = persistent && random.integer(0, 1);
        const int whole_steps = static_cast<int>(random.integer(1, 5));
        const std::int64_t rows = random.integer(1, 40), columns = whole ? whole_steps * row_threads * vector : 4 * random.integer(1, 400);
        CAPTURE(whole);
        CAPTURE(row_threads);
        CAPTURE(vector);
        CAPTURE(persistent);
        LoopNest nest = softmax(rows, columns, row_threads, vector, persistent, vector != 4);
        auto& steps = nest.schedule.as<jit::RowsForm>().steps;
        if (whole) {
          steps = {whole_steps, true};
        } else if (persistent && columns <= 30 * row_threads * vector && random.integer(0, 1)) {  // in registers: as many steps as the row takes, or more
          const std::int64_t step = row_threads * vector;
          steps.count = static_cast<int>((columns + step - 1) / step + random.integer(0, 2));
        }
        CAPTURE(steps.count);
        const std::vector<float> x = random.floats(rows * columns);
        std::vector<Array> inputs(nest.inputs.size(), Array(x));
        const std::vector<Array> y = run(nest, inputs, {static_cast<std::size_t>(rows), x.size()}, {bits_of(1.0f)});
        double worst = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          double sum = 0, max = -1e300;
          for (std::int64_t c = 0; c < columns; ++c) max = std::max(max, double{x[r * columns + c]});
          for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(x[r * columns + c] - max);
          worst = std::max(worst, std::abs(y[0].number(r) - sum) / sum);
          for (std::int64_t c = 0; c < columns; ++c) {
            const double expected = std::exp(x[r * columns + c] - max) / sum;
            const double error = std::abs(y[1].number(r * columns + c) - expected) / expected;
            worst = std::isnan(error) ? error : std::max(worst, error);
          }
        }
        // A term errs by its difference, up to 8 and so rounded by 4 * 2^-24, and its exponential (2 ULP); their sum by the roundings on the way of one
        // term (a thread's steps and its lanes, five shuffles, the warps) more; the reciprocal and the product by one each.
        const double added = std::ceil(static_cast<double>(columns) / (row_threads * vector)) + vector + 5 + row_threads / 32;
        CHECK(worst <= (2 * 8 + added + 2) * 0x1p-24);
      }
}

TEST_CASE("row softmax compiles for every target without spilling") {
  compile_for_all_targets(softmax(64, 1024, 256, 4, true, false));
  compile_for_all_targets(softmax(64, 1024, 1024, 4, false, false));
  compile_for_all_targets(softmax(64, 1024, 32, 4, true, false));
  compile_for_all_targets(softmax(64, 1024, 256, 1, true, true));
}

TEST_CASE("what lies in registers takes no shared and no local memory") {
  LoopNest nest = softmax(64, 1024, 32, 4, true, false);
  auto& steps = nest.schedule.as<jit::RowsForm>().steps;
  steps.count = 8;
  compile_for_all_targets(nest);
  CHECK(jit::cuda::geometry(nest, nest.ints, 132).shared == 0);
  steps.count = 4;  // half of the row
  CHECK_THROWS_AS(jit::cuda::geometry(nest, nest.ints, 132), InternalError);
  steps.count = 8;
  steps.whole = true;
  compile_for_all_targets(nest);
  CHECK(jit::cuda::geometry(nest, nest.ints, 132).shared == 0);
  steps.count = 9;  // the last one has no points
  CHECK_THROWS_AS(jit::cuda::geometry(nest, nest.ints, 132), InternalError);
  steps.count = 8;
  need_nvrtc();
  const jit::ResourceReport report = compiler().compile(jit::generate_cuda(nest, 90)).report;
  CHECK(report.stack_bytes <= 0);
  CHECK(report.shared_bytes <= 0);
}

namespace {

/// out0[c] = sum of column c, out1[c] = its maximum, out2[r, c] = x - sum.
LoopNest columns(std::int64_t rows, std::int64_t columns, int vector, int row_threads, bool wide) {
  NestBuilder b({columns}, {rows});
  b.nest.schedule.form = jit::ColumnsForm();
  const int x = b.affine({1, columns});
  b.stage(true);
  const int value = b.load(f32, x);
  const int sum = b.reduce(Op::reduce_sum, value), max = b.reduce(Op::reduce_max, value);
  b.stage(false);
  const int bias = b.load(f32, b.affine({1, 0})), shared = b.load(f32, b.affine({0, 0}));
  const int shifted = b.op(Op::add, {b.op(Op::add, {sum, bias}), shared});
  b.store(shifted, b.affine({1, 0}));
  b.store(max, b.affine({1, 0}));
  b.stage(true);
  b.store(b.op(Op::subtract, {b.load(f32, x), shifted}), x);
  b.nest.schedule.vector = vector;
  share_rows(b.nest, row_threads);
  b.nest.schedule.wide_index = wide;
  return b.nest;
}

}  // namespace

TEST_CASE("reductions of columns") {
  Random random;
  CAPTURE(random.seed);
  for (int row_threads : {32, 256})
    for (int vector : {1, 4}) {
      const std::int64_t rows = random.integer(1, 300), n = 4 * random.integer(1, 100);
      CAPTURE(row_threads);
      CAPTURE(vector);
      CAPTURE(rows);
      CAPTURE(n);
      const std::vector<float> x = random.floats(rows * n), bias = random.floats(n), one = random.floats(1);
      const std::vector<Array> y =
          run(columns(rows, n, vector, row_threads, vector == 1), {x, bias, one, x}, {static_cast<std::size_t>(n), static_cast<std::size_t>(n), x.size()});
      double worst = 0;
      bool same_max = true;
      for (std::int64_t c = 0; c < n; ++c) {
        double sum = bias[c] + double{one[0]}, max = -1e300;
        for (std::int64_t r = 0; r < rows; ++r) {
          sum += x[r * n + c];
          max = std::max(max, double{x[r * n + c]});
        }
        same_max &= y[1].number(c) == max;
        double size = std::abs(bias[c]) + std::abs(one[0]);
        for (std::int64_t r = 0; r < rows; ++r) size += std::abs(x[r * n + c]);
        const double allowed = static_cast<double>(rows + 2) * 0x1p-24 * size;  // a rounding for each addition, in whatever order
        worst = std::max(worst, std::abs(y[0].number(c) - sum) / allowed);
        for (std::int64_t r = 0; r < rows; ++r) {
          const double want = x[r * n + c] - sum, error = std::abs(y[2].number(r * n + c) - want) / (allowed * (1 + 0x1p-24) + 0x1p-24 * std::abs(want));
          worst = std::isnan(error) ? error : std::max(worst, error);
        }
      }
      CHECK(same_max);
      CHECK(worst <= 1);
    }
  compile_for_all_targets(columns(300, 128, 4, 256, false));
  compile_for_all_targets(columns(300, 128, 1, 256, true));
}

TEST_CASE("vectors beside accesses that start between them, and the last points of an odd size") {
  Random random;
  CAPTURE(random.seed);
  for (int lanes : {2, 4})
    for (std::int64_t count : {1, 3, 4, 5, 8191}) {
      NestBuilder b({count});
      b.stage(false);
      const int sum = b.op(Op::add, {b.load(f32, b.affine({1})), b.load(f32, b.affine({1}, 1))});
      b.store(b.op(Op::add, {sum, b.load(f32, b.affine({0}))}), b.affine({1}));
      b.store(sum, b.affine({1}, 1));
      b.nest.schedule.vector = lanes;
      b.nest.schedule.as<jit::PointwiseForm>().tail = true;
      b.nest.schedule.singles = {1, 4};
      b.nest.schedule.wide_index = lanes == 2;
      const std::vector<float> x = random.floats(count), later = random.floats(count + 1), shared = random.floats(1);
      const std::vector<Array> y = run(b.nest, {x, later, shared}, {static_cast<std::size_t>(count), static_cast<std::size_t>(count + 1)});
      int wrong = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        wrong += y[0].at<float>(i) != x[i] + later[i + 1] + shared[0];
        wrong += y[1].at<float>(i + 1) != x[i] + later[i + 1];
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("sizes of nothing and of one") {
  const std::vector<float> x = {5};
  for (std::int64_t columns_of_one : {0, 1}) {
    const std::vector<Array> y = run(softmax(1, columns_of_one, 256, 1, true, true), {x}, {1, static_cast<std::size_t>(columns_of_one)}, {bits_of(1.0f)});
    CHECK(y[0].number(0) == columns_of_one);
  }
  const std::vector<Array> none = run(elementwise({Op::negative}, f32, 0, 4), {Array(f32, 0), Array(f32, 0), Array(b8, 0)}, {0});
  CHECK(none[0].count() == 0);
}

TEST_CASE("the text holds no size and no literal, and stands alone") {
  const std::string text = jit::generate_cuda(softmax(8, 128, 256, 4, true, false), 90).text;
  CHECK(text == jit::generate_cuda(softmax(977, 7 * 1024, 256, 4, true, false), 90).text);
  CHECK(text.find("#include") == std::string::npos);
  CHECK(text.find("977") == std::string::npos);
  CHECK(text.find("// softmax: maximum subtract exp sum divide") != std::string::npos);
  std::size_t entries = 0;
  for (std::size_t at = text.find("extern \"C\""); at != std::string::npos; at = text.find("extern \"C\"", at + 1)) ++entries;
  CHECK(entries == 1);
  CHECK(text.find("sn_floor_divide") == std::string::npos);  // helpers only where used
}

TEST_CASE("options: accurate math unless asked otherwise") {
  LoopNest nest = elementwise({Op::tan}, f32, 8, 1);
  CHECK(jit::generate_cuda(nest, 90).options.find("--fmad=false") != std::string::npos);
  CHECK(jit::generate_cuda(nest, 90).text.find("(float)tan((double)a)") != std::string::npos);
  nest.fast_math = true;
  const jit::Source fast = jit::generate_cuda(nest, 90);
  CHECK(fast.options.find("--use_fast_math") != std::string::npos);
  CHECK(fast.text.find("tanf(a)") != std::string::npos);
  CHECK(fast.target == "sm_90");
}

TEST_CASE("geometry") {
  const auto block = jit::cuda::geometry(softmax(64, 1000, 256, 4, true, false), softmax(64, 1000, 256, 4, true, false).ints, 132);
  CHECK(block.grid == 64);
  CHECK(block.block_x == 256);
  CHECK(block.shared == 4000);
  const LoopNest warp = softmax(65, 1001, 32, 1, true, true);
  CHECK(jit::cuda::geometry(warp, warp.ints, 132).grid == 9);
  CHECK(jit::cuda::geometry(warp, warp.ints, 132).shared == 8 * 4016);
  const LoopNest column = columns(10, 129, 1, 256, true);
  CHECK(jit::cuda::geometry(column, column.ints, 132).grid == 5);
  CHECK(jit::cuda::geometry(column, column.ints, 132).block_y == 8);
  const LoopNest large = elementwise({Op::negative}, f32, std::int64_t{1} << 30, 4);
  CHECK(jit::cuda::geometry(large, large.ints, 132).grid == 132 * 32);
  LoopNest odd = elementwise({Op::negative}, f32, 7, 4);
  CHECK_THROWS_AS(jit::cuda::geometry(odd, odd.ints, 132), InternalError);
  odd = elementwise({Op::negative}, f32, std::int64_t{1} << 31, 4);
  CHECK_THROWS_AS(jit::cuda::geometry(odd, odd.ints, 132), InternalError);
}

TEST_CASE("nests that the printer refuses") {
  LoopNest nest = softmax(8, 128, 256, 4, true, false);
  nest.schedule.form = jit::ColumnsForm();
  CHECK_THROWS_AS(jit::generate_cuda(nest, 90), InternalError);
  nest = softmax(8, 128, 100, 4, true, false);
  CHECK_THROWS_AS(jit::generate_cuda(nest, 90), InternalError);
}

TEST_CASE("a source that does not compile") {
  need_nvrtc();
  jit::Source source = jit::generate_cuda(elementwise({Op::exp}, f32, 8, 1), 90);
  source.text.replace(source.text.find("expf"), 4, "expg");
  try {
    compiler().compile(source);
    FAIL("it compiled");
  } catch (const CompileError& error) {
    const std::string what = error.what();
    CHECK(what.find("identifier \"expg\" is undefined") != std::string::npos);
    CHECK(what.find("> ") != std::string::npos);
    CHECK(what.find("= expg(") != std::string::npos);
  }
  source = jit::generate_cuda(elementwise({Op::exp}, f32, 8, 1), 90);
  source.options = "--gpu-architecture=sm_12";
  CHECK_THROWS_AS(compiler().compile(source), CompileError);
}

TEST_CASE("the resource report is read") {
  const jit::ResourceReport report = jit::cuda::parse_report(
      "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
      "ptxas info    : Function properties for k\n"
      "    40 bytes stack frame, 24 bytes spill stores, 28 bytes spill loads\n"
      "ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size, 1056 bytes smem\n");
  CHECK(report.registers == 255);
  CHECK(report.spill_bytes == 52);
  CHECK(report.stack_bytes == 40);
  CHECK(report.shared_bytes == 1056);
  CHECK(jit::cuda::parse_report("").registers == -1);
  need_nvrtc();
  // More live values than 255 registers hold.
  std::string text = "extern \"C\" __global__ void k(float* p) {\n";
  for (int i = 0; i < 400; ++i) text += fmt::format("const float v{} = p[{} * threadIdx.x];\n", i, i);
  text += "__syncthreads();\n";
  for (int i = 0; i < 400; ++i) text += fmt::format("p[{} + threadIdx.x] = v{};\n", 7 * i, (i * 37) % 400);
  jit::Source source{"sm_90", "", "--gpu-architecture=sm_90", "k", text + "}\n"};
  CHECK(compiler().compile(source).report.spill_bytes > 0);
}
