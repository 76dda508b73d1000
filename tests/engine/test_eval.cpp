// Whole programs against a float64 reference: every function, random shapes, views and dtypes. The same binary runs on every
// executor (SINTER_DEVICE, SINTER_BACKEND, SINTER_FUSE decide).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

// Each emulated kernel is compiled for the host, so there are fewer random cases on the emulator.
int rounds(int count) { return on_gpu() ? (count + 3) / 4 : count; }

Shape random_shape(std::mt19937& rng) {
  static const std::int64_t sizes[] = {1, 2, 3, 5, 8, 17, 33, 64};
  Shape shape;
  for (std::uint32_t k = rng() % 4; k-- > 0;) shape.push_back(rng() % 40 == 0 ? 0 : sizes[rng() % 8]);
  return shape;
}

// |got - want| within ulps of the float32 (or float64) at want, plus an absolute part for results of cancellation.
void check_close(const Tensor& got, const Ref& want, double relative, double absolute, const std::string& what) {
  CAPTURE(what);
  REQUIRE(got.shape() == want.shape);
  const auto list = values(got);
  for (std::size_t k = 0; k < list.size(); ++k) {
    const double g = list[k], w = want.v[k];
    if (std::isnan(w) && std::isnan(g)) continue;
    if (g == w) continue;
    const bool close = std::abs(g - w) <= absolute + relative * std::abs(w);
    if (!close) {
      CAPTURE(k);
      CAPTURE(g);
      CAPTURE(w);
      REQUIRE(close);
    }
  }
}

struct Unary {
  const char* name;
  Tensor (*op)(const sn::Arg&);
  double (*ref)(double);
  double low, high;
};

double gelu_ref(double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }
double sign_ref(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }

// std:: functions are overloaded; these name the double versions.
#define F(name) +[](double x) { return std::name(x); }
const Unary kUnary[] = {
    {"negative", sn::negative, +[](double x) { return -x; }, -5, 5},
    {"abs", sn::abs, F(abs), -5, 5},
    {"sign", sn::sign, sign_ref, -2, 2},
    {"floor", sn::floor, F(floor), -5, 5},
    {"ceil", sn::ceil, F(ceil), -5, 5},
    {"round", sn::round, F(nearbyint), -5, 5},
    {"trunc", sn::trunc, F(trunc), -5, 5},
    {"sqrt", sn::sqrt, F(sqrt), 0, 50},
    {"rsqrt", sn::rsqrt, +[](double x) { return 1 / std::sqrt(x); }, 0.01, 50},
    {"square", sn::square, +[](double x) { return x * x; }, -9, 9},
    {"reciprocal", sn::reciprocal, +[](double x) { return 1 / x; }, 0.1, 9},
    {"exp", sn::exp, F(exp), -20, 20},
    {"exp2", sn::exp2, F(exp2), -20, 20},
    {"expm1", sn::expm1, F(expm1), -3, 3},
    {"log", sn::log, F(log), 1e-3, 100},
    {"log2", sn::log2, F(log2), 1e-3, 100},
    {"log10", sn::log10, F(log10), 1e-3, 100},
    {"log1p", sn::log1p, F(log1p), -0.9, 10},
    {"sin", sn::sin, F(sin), -100, 100},
    {"cos", sn::cos, F(cos), -100, 100},
    {"tan", sn::tan, F(tan), -1.4, 1.4},
    {"asin", sn::asin, F(asin), -1, 1},
    {"acos", sn::acos, F(acos), -1, 1},
    {"atan", sn::atan, F(atan), -20, 20},
    {"sinh", sn::sinh, F(sinh), -10, 10},
    {"cosh", sn::cosh, F(cosh), -10, 10},
    {"tanh", sn::tanh, F(tanh), -6, 6},
    {"erf", sn::erf, F(erf), -4, 4},
    {"sigmoid", sn::sigmoid, +[](double x) { return 1 / (1 + std::exp(-x)); }, -10, 10},
    {"relu", sn::relu, +[](double x) { return x > 0 ? x : 0; }, -3, 3},
    {"silu", sn::silu, +[](double x) { return x / (1 + std::exp(-x)); }, -6, 6},
    {"gelu", +[](const sn::Arg& x) { return sn::gelu(x); }, gelu_ref, -4, 4},
};
#undef F

}  // namespace

TEST_CASE("unary functions over random views agree with float64") {
  std::mt19937 rng(test_seed());
  for (const auto& f : shuffled(std::vector(std::begin(kUnary), std::end(kUnary))))
    for (int round = 0; round < rounds(6) && !time_is_over(); ++round) {
      const DType dtype = round % 3 == 2 ? DType::float64 : DType::float32;
      const auto [x, ref] = random_view(rng, random(rng, random_shape(rng), dtype, f.low, f.high));
      // Compositions round several times, and lose digits by cancellation near their zeros.
      const double eps = dtype == DType::float32 ? 1.2e-7 : 2.3e-16;
      check_close(f.op(x), map(ref, f.ref), 4 * eps, 4 * eps, f.name);
    }
}

TEST_CASE("binary operators over broadcast views agree with float64") {
  std::mt19937 rng(test_seed() + 1);
  struct Binary {
    const char* name;
    Tensor (*op)(const sn::Arg&, const sn::Arg&);
    double (*ref)(double, double);
    double low, high;
    bool integers;
  };
  const auto floor_mod = +[](double a, double b) { return b == 0 ? std::nan("") : a - std::floor(a / b) * b; };
  const Binary list[] = {
      {"add", sn::add, +[](double a, double b) { return a + b; }, -9, 9, true},
      {"subtract", sn::subtract, +[](double a, double b) { return a - b; }, -9, 9, true},
      {"multiply", sn::multiply, +[](double a, double b) { return a * b; }, -9, 9, true},
      {"divide", sn::divide, +[](double a, double b) { return a / b; }, 1, 9, true},
      {"floor_divide", sn::floor_divide, +[](double a, double b) { return std::floor(a / b); }, 1, 30, true},
      {"remainder", sn::remainder, floor_mod, 1, 30, true},
      {"power", sn::power, +[](double a, double b) { return std::pow(a, b); }, 0.1, 4, false},
      {"minimum", sn::minimum, +[](double a, double b) { return a < b ? a : b; }, -9, 9, true},
      {"maximum", sn::maximum, +[](double a, double b) { return a > b ? a : b; }, -9, 9, true},
      {"atan2", sn::atan2, +[](double a, double b) { return std::atan2(a, b); }, -9, 9, false},
      {"hypot", sn::hypot, +[](double a, double b) { return std::hypot(a, b); }, -9, 9, false},
      {"equal", sn::equal, +[](double a, double b) { return double(a == b); }, -3, 3, true},
      {"not_equal", sn::not_equal, +[](double a, double b) { return double(a != b); }, -3, 3, true},
      {"less", sn::less, +[](double a, double b) { return double(a < b); }, -3, 3, true},
      {"less_equal", sn::less_equal, +[](double a, double b) { return double(a <= b); }, -3, 3, true},
      {"greater", sn::greater, +[](double a, double b) { return double(a > b); }, -3, 3, true},
      {"greater_equal", sn::greater_equal, +[](double a, double b) { return double(a >= b); }, -3, 3, true},
  };
  for (const auto& f : shuffled(std::vector(std::begin(list), std::end(list))))
    for (int round = 0; round < rounds(8) && !time_is_over(); ++round) {
      const DType types[] = {DType::float32, DType::float64, DType::int32, DType::int64};
      const DType dtype = types[f.integers ? round % 4 : round % 2];
      auto a = random_view(rng, random(rng, random_shape(rng), dtype, f.low, f.high));
      // A second operand that broadcasts against the first: its trailing axes, some of them 1.
      Shape shape(a.second.shape.begin() + static_cast<long>(a.second.shape.empty() ? 0 : rng() % a.second.shape.size()), a.second.shape.end());
      for (auto& size : shape)
        if (rng() % 3 == 0) size = 1;
      const auto b = random(rng, shape, dtype, f.low, f.high);
      const double eps = dtype == DType::float32 ? 1.2e-7 : 2.3e-16;
      const bool steps = f.name == std::string("floor_divide") || f.name == std::string("remainder");
      if (steps && sn::is_floating(dtype)) continue;  // a quotient near an integer may be rounded to either side; other tests compare these bit by bit
      check_close(f.op(a.first, b.first), zip(a.second, b.second, f.ref), 2 * eps, 0, f.name);
    }
}

TEST_CASE("reductions over any axes agree with float64") {
  std::mt19937 rng(test_seed() + 2);
  for (int round = 0; round < rounds(120) && !time_is_over(); ++round) {
    const DType types[] = {DType::float32, DType::float64, DType::int32, DType::int64};
    const DType dtype = types[round % 4];
    const auto [x, ref] = random_view(rng, random(rng, random_shape(rng), dtype, -2, 3));
    std::vector<std::int64_t> axes;
    for (std::size_t k = 0; k < ref.shape.size(); ++k)
      if (rng() % 2) axes.push_back(static_cast<std::int64_t>(k));
    const auto some = axes;
    double count = 1;
    for (auto axis : axes) count *= static_cast<double>(ref.shape[axis]);
    const double eps = dtype == DType::float32 ? 1.2e-7 : 2.3e-16;
    const auto plus = [](double a, double b) { return a + b; };
    check_close(sn::sum(x, some), reduce(ref, axes, 0, plus), (16 + std::sqrt(count)) * eps, 16 * eps * std::sqrt(count + 1),
                "sum");  // in float64 the reference has errors of the same size
    // Outside this range float32 overflows or underflows. Inside it, a partial product may be subnormal, with an error of half the smallest number, and the
    // remaining factors may enlarge that error by 3 to the power of their number.
    const double smallest = dtype == DType::float32 ? 1.5e-45 : 4.9e-324;
    if (count <= 24)
      check_close(sn::prod(x, some), reduce(ref, axes, 1, std::multiplies<double>()), 2 * eps * (count + 1), count * smallest * std::pow(3, count), "prod");
    if (count > 0) {
      const double inf = std::numeric_limits<double>::infinity();
      check_close(sn::max(x, some), reduce(ref, axes, -inf, [](double a, double b) { return std::max(a, b); }), 0, 0, "max");
      check_close(sn::min(x, some), reduce(ref, axes, inf, [](double a, double b) { return std::min(a, b); }), 0, 0, "min");
      const Ref total = reduce(ref, axes, 0, plus);
      check_close(sn::mean(x, some), map(total, [&](double s) { return s / count; }), (16 + std::sqrt(count)) * eps, (8 + std::sqrt(count)) * eps, "mean");
    }
    check_close(sn::any(x, some), reduce(ref, axes, 0, [](double a, double b) { return double(a != 0 || b != 0); }), 0, 0, "any");
    check_close(sn::all(x, some), reduce(ref, axes, 1, [](double a, double b) { return double(a != 0 && b != 0); }), 0, 0, "all");
  }
}

TEST_CASE("softmax, log_softmax, layer_norm, rms_norm, var, std and logsumexp over rows and columns") {
  std::mt19937 rng(test_seed() + 3);
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{7, 33}, Shape{64, 1000}, Shape{2, 9000}, Shape{300, 4}})
    for (const int axis : {-1, 0}) {
      const auto [x, ref] = random(rng, shape, DType::float32, -4, 4);
      const std::vector<std::int64_t> axes{axis < 0 ? 1 : 0};
      const double n = static_cast<double>(shape[axes[0]]);
      Shape kept = shape;
      kept[axes[0]] = 1;
      const auto keep = [&](Ref r) { return Ref{kept, r.v}; };
      const auto plus = [](double a, double b) { return a + b; };
      const Ref high = keep(reduce(ref, axes, -1e300, [](double a, double b) { return std::max(a, b); }));
      const Ref e = map(zip(ref, high, [](double a, double b) { return a - b; }), [](double v) { return std::exp(v); });
      const Ref total = keep(reduce(e, axes, 0, plus));
      check_close(sn::softmax(x, axis), zip(e, total, std::divides<double>()), 2e-6, 1e-9, "softmax");
      const Ref log_sum = zip(map(total, [](double v) { return std::log(v); }), high, plus);
      check_close(sn::log_softmax(x, axis), zip(ref, log_sum, std::minus<double>()), 2e-6, 4e-6, "log_softmax");
      check_close(sn::logsumexp(x, axis, true), log_sum, 2e-6, 2e-6, "logsumexp");
      const Ref mean = map(keep(reduce(ref, axes, 0, plus)), [&](double v) { return v / n; });
      const Ref centred = zip(ref, mean, std::minus<double>());
      const Ref variance = map(keep(reduce(map(centred, [](double v) { return v * v; }), axes, 0, plus)), [&](double v) { return v / n; });
      check_close(sn::var(x, axis, true), variance, 4e-6, 1e-6, "var");
      check_close(sn::stddev(x, axis, true), map(variance, [](double v) { return std::sqrt(v); }), 4e-6, 1e-6, "std");
      // If a few values are close together, the rounding of their mean is large relative to their deviation.
      const double few = n < 30 ? 1e-3 : 4e-6;
      if (n > 1)
        check_close(sn::layer_norm(x, {}, {}, 1e-5, axis), zip(centred, variance, [](double c, double v) { return c / std::sqrt(v + 1e-5); }), 4e-6, few,
                    "layer_norm");
      const Ref squares = map(keep(reduce(map(ref, [](double v) { return v * v; }), axes, 0, plus)), [&](double v) { return v / n; });
      check_close(sn::rms_norm(x, {}, 1e-6, axis), zip(ref, squares, [](double c, double v) { return c / std::sqrt(v + 1e-6); }), 4e-6, 4e-6, "rms_norm");
    }
}

TEST_CASE("large reductions in two stages: rows, columns, all elements, of sizes that no tile divides") {
  std::mt19937 rng(test_seed() + 4);
  const auto [x, ref] = random(rng, {400003}, DType::float32, 0, 1);
  double total = 0, largest = -1;
  for (double v : ref.v) total += v, largest = std::max(largest, v);
  CHECK(sn::sum(x).item<float>() == doctest::Approx(total).epsilon(1e-6));
  CHECK(sn::max(x).item<float>() == static_cast<float>(largest));
  CHECK(sn::sum(x, {}, false, DType::float64).item<double>() == doctest::Approx(total).epsilon(1e-13));
  const auto [tall, tall_ref] = random(rng, {200001, 3}, DType::float32, 0, 1);
  check_close(sn::sum(tall, 0), reduce(tall_ref, {0}, 0, [](double a, double b) { return a + b; }), 2e-6, 0, "tall columns");
  // A view whose elements are not in the order of the chunks, and a last chunk that is not full.
  const auto [turned, turned_ref] = random(rng, {64, 33, 64}, DType::float64, 0, 1);
  check_close(sn::sum(sn::permute(turned, {2, 0, 1})), reduce(turned_ref, {0, 1, 2}, 0, [](double a, double b) { return a + b; }), 1e-12, 0, "turned");
  const auto [wide, wide_ref] = random(rng, {3, 200001}, DType::float64, 0, 1);
  check_close(sn::sum(wide, 1), reduce(wide_ref, {1}, 0, [](double a, double b) { return a + b; }), 1e-12, 0, "long rows");
}

TEST_CASE("matmul of every layout and batch shape agrees with float64") {
  std::mt19937 rng(test_seed() + 5);
  const auto product = [](const Ref& a, const Ref& b) {
    return make({a.shape[0], b.shape[1]}, [&](const Coords& at) {
      double sum = 0;
      for (std::int64_t k = 0; k < a.shape[1]; ++k) sum += a.v[flat(a.shape, {at[0], k})] * b.v[flat(b.shape, {k, at[1]})];
      return sum;
    });
  };
  for (const auto& [m, k, n] : {std::tuple{1, 1, 1}, {5, 7, 3}, {64, 33, 17}, {3, 0, 2}, {0, 4, 5}}) {
    for (const DType dtype : {DType::float32, DType::float64, DType::int32}) {
      const auto a = random(rng, {m, k}, dtype, -3, 3), b = random(rng, {k, n}, dtype, -3, 3), bt = random(rng, {n, k}, dtype, -3, 3);
      check_close(sn::matmul(a.first, b.first), product(a.second, b.second), 1e-5, 1e-5, "a b");
      check_close(sn::matmul(a.first, bt.first.T()), product(a.second, permute(bt.second, {1, 0})), 1e-5, 1e-5, "a b^T");
      check_close(sn::matmul(a.first * 2, b.first) + 1, map(product(a.second, b.second), [](double v) { return 2 * v + 1; }), 1e-5, 1e-4,
                  "fused neighbours");  // sums of 33 products of up to 18 may cancel
    }
  }
  const auto a = random(rng, {4, 1, 5, 6}, DType::float32, -1, 1), b = random(rng, {3, 6, 2}, DType::float32, -1, 1);
  const Tensor batched = sn::matmul(a.first, b.first);
  REQUIRE(batched.shape() == Shape{4, 3, 5, 2});
  const auto got = values(batched);
  each({4, 3, 5, 2}, [&](const Coords& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < 6; ++k) sum += a.second.v[flat(a.second.shape, {at[0], 0, at[2], k})] * b.second.v[flat(b.second.shape, {at[1], k, at[3]})];
    CHECK(got[flat({4, 3, 5, 2}, at)] == doctest::Approx(sum).epsilon(1e-4));
  });
  const auto v = random(rng, {6}, DType::float32, -1, 1);
  CHECK(sn::matmul(v.first, v.first).shape().empty());
}

TEST_CASE("a batch of products is one library call, whose operands are transposed and broadcast without copies") {
  if (sn::testing::on_gpu()) return;  // the GPU has no library for this
  std::mt19937 rng(test_seed() + 6);
  const auto a = random(rng, {7, 1, 9, 5}, DType::float32, -1, 1), b = random(rng, {4, 6, 9}, DType::float32, -1, 1);
  const auto before = sn::counters();
  const Tensor c = sn::matmul(sn::permute(a.first, {0, 1, 3, 2}), sn::permute(b.first, {0, 2, 1}));  // (7, 1, 5, 9) x (4, 9, 6)
  const auto got = values(c);
  const auto after = sn::counters();
  CHECK(after.library_calls - before.library_calls == 1);
  CHECK(after.kernels_launched == before.kernels_launched);
  REQUIRE(c.shape() == Shape{7, 4, 5, 6});
  each({7, 4, 5, 6}, [&](const Coords& at) {
    double sum = 0;
    for (std::int64_t k = 0; k < 9; ++k) sum += a.second.v[flat(a.second.shape, {at[0], 0, k, at[2]})] * b.second.v[flat(b.second.shape, {at[1], at[3], k})];
    CHECK(got[flat({7, 4, 5, 6}, at)] == doctest::Approx(sum).epsilon(1e-4));
  });
}

TEST_CASE("NaN, infinities and signed zeros give NumPy's results") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor x = sn::from_span(std::vector<float>{nan, inf, -inf, 0.0f, -0.0f, 1.0f});
  const auto is = [](const Tensor& t, std::vector<bool> want) { return t.to_vector<bool>() == want; };
  CHECK(is(sn::isnan(x), {true, false, false, false, false, false}));
  CHECK(is(sn::isinf(x), {false, true, true, false, false, false}));
  CHECK(is(sn::isfinite(x), {false, false, false, true, true, true}));
  CHECK(is(x == x, {false, true, true, true, true, true}));
  CHECK(std::isnan(sn::max(x).item<float>()));
  CHECK(std::isnan(sn::min(x).item<float>()));
  CHECK(std::isnan(sn::maximum(x, 0.5f).to_vector<float>()[0]));
  CHECK(std::signbit((x * 1.0f).to_vector<float>()[4]));
  CHECK(std::signbit(sn::sqrt(x).to_vector<float>()[4]));
  CHECK(!std::signbit((x + 0.0f).to_vector<float>()[4]));
  CHECK((1.0f / x).to_vector<float>()[4] == -inf);
  CHECK(sn::exp(x).to_vector<float>()[2] == 0);
  CHECK(sn::tanh(x).to_vector<float>()[1] == 1);
  CHECK(sn::where(sn::isnan(x), 7.0f, x).to_vector<float>()[0] == 7);
}

TEST_CASE("integers overflow, divide and take remainders as in NumPy") {
  const Tensor a = sn::from_span(std::vector<std::int32_t>{7, -7, 7, -7, 5, std::numeric_limits<std::int32_t>::min()});
  const Tensor b = sn::from_span(std::vector<std::int32_t>{2, 2, -2, -2, 0, -1});
  CHECK(sn::floor_divide(a, b).to_vector<std::int32_t>() == std::vector<std::int32_t>{3, -4, -4, 3, 0, std::numeric_limits<std::int32_t>::min()});
  CHECK((a % b).to_vector<std::int32_t>() == std::vector<std::int32_t>{1, 1, -1, -1, 0, 0});
  CHECK((a + std::numeric_limits<std::int32_t>::max()).to_vector<std::int32_t>()[0] == std::numeric_limits<std::int32_t>::min() + 6);
  CHECK(sn::power(a, 2).to_vector<std::int32_t>()[0] == 49);
  CHECK((a << 1).to_vector<std::int32_t>()[1] == -14);
  CHECK((~a).to_vector<std::int32_t>()[0] == -8);
  CHECK(sn::sum(a).dtype() == DType::int64);
  CHECK(sn::sum(a).item<std::int64_t>() == 5 + std::int64_t{std::numeric_limits<std::int32_t>::min()});
}

TEST_CASE("empty and 0-d tensors") {
  const Tensor none = sn::zeros({0, 3}, DType::float32), scalar = sn::full({}, 2.5f, DType::float32);
  CHECK(sn::exp(none).to_vector<float>().empty());
  CHECK(sn::sum(none).item<float>() == 0);
  CHECK(sn::prod(none).item<float>() == 1);
  CHECK(sn::sum(none, 0).to_vector<float>() == std::vector<float>{0, 0, 0});
  CHECK(sn::sum(none, 1).to_vector<float>().empty());
  CHECK((scalar * scalar).item<float>() == 6.25f);
  CHECK((scalar + sn::arange(3).astype(DType::float32)).to_vector<float>() == std::vector<float>{2.5f, 3.5f, 4.5f});
  CHECK_THROWS_AS(sn::eval(sn::max(none)), sn::ValueError);
}

TEST_CASE("logsumexp of an empty row is log 0") {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor none = sn::zeros({2, 0}, DType::float32);
  CHECK(sn::logsumexp(none).item<float>() == -inf);
  CHECK(sn::logsumexp(none, 1).to_vector<float>() == std::vector<float>(2, static_cast<float>(-inf)));
  CHECK(sn::logsumexp(none, 1, true).shape() == Shape{2, 1});
  CHECK(sn::logsumexp(none, 0).to_vector<float>().empty());
  CHECK(sn::logsumexp(sn::zeros({0}, DType::int32)).item<double>() == -inf);
}

TEST_CASE("arange with float bounds and an integer type has NumPy's step, the second element minus the first") {
  using Ints = std::vector<std::int64_t>;
  const auto range = [](double a, double b, double c) { return sn::arange(a, b, c, DType::int64).to_vector<std::int64_t>(); };
  CHECK(range(0, 5, 0.5) == Ints(10, 0));
  CHECK(range(0.5, 3, 1) == Ints{0, 1, 2});
  CHECK(range(-1.5, 3, 1.5) == Ints{-1, 0, 1});
  CHECK(range(10, 0, -2.5) == Ints{10, 7, 4, 1});
  CHECK(sn::arange(0.0, 3.5, 1.75, DType::int32).to_vector<std::int32_t>() == std::vector<std::int32_t>{0, 1});
  CHECK(sn::arange(0.0, 1.0, 0.25, DType::float32).to_vector<float>() == std::vector<float>{0, 0.25f, 0.5f, 0.75f});
  CHECK_THROWS_AS(sn::arange(1e300, 1e300 + 1, 1.0, DType::int64), sn::ValueError);
}

TEST_CASE("several outputs at once, aliases and evaluated operands") {
  std::mt19937 rng(test_seed() + 6);
  const auto [x, ref] = random(rng, {31, 64}, DType::float32, -2, 2);
  const Tensor e = sn::exp(x), row = sn::sum(e, 1), flat_view = x.reshape({-1}), again = e * 2.0f;
  sn::eval(e, row, flat_view, again);
  const Ref e_ref = map(ref, [](double v) { return std::exp(v); });
  check_close(e, e_ref, 5e-7, 0, "e");
  check_close(row, reduce(e_ref, {1}, 0, [](double a, double b) { return a + b; }), 2e-6, 0, "row");
  check_close(again, map(e_ref, [](double v) { return 2 * v; }), 5e-7, 0, "again");
  CHECK(values(flat_view) == ref.v);
  check_close(sn::sum(e - again), Ref{{}, {-[&] {
                                        double s = 0;
                                        for (double v : e_ref.v) s += v;
                                        return s;
                                      }()}},
              1e-5, 0, "of evaluated");
}
