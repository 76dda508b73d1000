// Rows and columns that are too long for one worker or for on-chip memory: scans in several stages; moments, softmax and positions of extrema that read memory
// once. Results are compared with plain loops in float64, over views. The number of kernels is checked, and that all executors give the same bits.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"
#include "seed.hpp"

using namespace sinter::testing;

namespace {

std::mt19937 rng{fresh_seed()};

void near(const Tensor& got, const Ref& want, double tolerance, const std::string& what) {
  INFO(what);
  REQUIRE(got.shape() == want.shape);
  const auto found = values(got);
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (std::isnan(found[k]) && std::isnan(want.v[k])) continue;
    CAPTURE(k);
    REQUIRE(std::fabs(found[k] - want.v[k]) <= tolerance * (1 + std::fabs(want.v[k])));
  }
}

Ref scanned(Ref x, std::size_t axis, double (*combine)(double, double)) {
  std::int64_t step = 1;
  for (std::size_t k = axis + 1; k < x.shape.size(); ++k) step *= x.shape[k];
  for (std::size_t at = 0; at < x.v.size(); ++at)
    if (static_cast<std::int64_t>(at) / step % x.shape[axis] > 0) x.v[at] = combine(x.v[at - static_cast<std::size_t>(step)], x.v[at]);
  return x;
}
double plus(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double larger(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double smaller(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

/// Compares with the same program evaluated by the interpreter, bit for bit.
template <class Program> void same_bits(Program program) {
  if (on_gpu()) return;
  const auto bytes = [](const Tensor& x) {
    const auto v = values(x);
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof v[0]);
  };
  const std::string here = bytes(program());
  const WithOptions interpreted([](sn::Options& options) {
    options.backend = "interpreter";
    options.threads = 3;
  });
  const std::string there = bytes(program());
  CHECK(here == there);
}

}  // namespace

TEST_CASE("long scans of few rows with a prologue and an epilogue, in any layout") {
  const struct {
    Shape shape;
    std::size_t axis;
  } cases[] = {{{140001}, 0}, {{2, 131072}, 1}, {{131500, 2}, 0}};
  for (const auto& [shape, axis] : sampled(cases))
    for (const DType dtype : sampled({DType::float32, DType::float64, DType::int32, DType::bool_})) {
      if (on_gpu() && dtype != DType::float32 && axis != 0) continue;  // emulated
      const std::string what = fmt::format("{} {}", sn::name(dtype), sn::to_string(shape));
      auto [x, ref] = random(rng, shape, dtype, -1, 1);
      const auto k = static_cast<std::int64_t>(axis);
      const double tolerance = dtype == DType::float32 ? 3e-5 : 1e-11;
      near(sn::cumsum(x, k), scanned(ref, axis, plus), tolerance, what);
      near(sn::cummax(x, k), scanned(ref, axis, larger), 0, what);
      near(sn::cummin(x, k), scanned(ref, axis, smaller), 0, what);
      if (dtype == DType::bool_) continue;
      const Tensor y = sn::cumsum(x * 2, k) + x;
      // Totals, their scan, the chunks with prologue and epilogue. An OpenCL device of two units has work for both in two rows.
      const char* const device = std::getenv("SINTER_DEVICE");
      const bool may_be_whole = device && std::string(device).starts_with("opencl") && shape.size() > 1;
      const auto launched = launches(y);
      CHECK((launched == 3 || (may_be_whole && launched == 1)));
      near(y, zip(scanned(map(ref, [](double v) { return 2 * v; }), axis, plus), ref, plus), 4 * tolerance, what + " with work");
    }
}

TEST_CASE("long scans of views, products and NaN") {
  auto [x, ref] = random(rng, {140000, 2}, DType::float32, -1, 1);
  // Views: a reversed row, every second element of a column, and a flipped column whose result is flipped again.
  const Ref column = make({140000}, [&, &ref = ref](const Coords& at) { return ref.v[static_cast<std::size_t>(2 * (139999 - at[0]) + 1)]; });
  near(sn::cumsum(x.at({Slice{{}, {}, -1}, 1})), scanned(column, 0, plus), 3e-5, "flipped column");
  const Ref scan = scanned(column, 0, plus);
  near(sn::cumsum(x.at({Slice{{}, {}, -1}, 1})).at({Slice{1, {}, 3}}),
       make({46667}, [&](const Coords& at) { return scan.v[static_cast<std::size_t>(1 + 3 * at[0])]; }), 3e-5, "every third of a scan");
  const auto [f, fref] = random(rng, {150000}, DType::float32, 0.99, 1.01);
  near(sn::cumprod(f), scanned(fref, 0, times), 1e-3, "product");
  const Tensor nan = sn::where(sn::equal(sn::arange(150000), 70000), std::nan(""), f);
  const auto found = values(sn::cummin(nan));
  CHECK((!std::isnan(found[69999]) && std::isnan(found[70000]) && std::isnan(found[149999])));
  // Two scans of one tensor give the same bits on every executor and any number of threads.
  same_bits([&, &x = x] { return sn::cumsum(x.at({Slice{}, 0})) * sn::cummax(x.at({Slice{}, 0})); });
}

// ---- reductions that depend on another reduction of the same row

namespace {

struct Moments {
  double mean, var;
};
/// Reduces the `count` elements first, first + step, ... in float64.
Moments moments(const Ref& x, std::size_t first, std::size_t step, std::size_t count) {
  double sum = 0, squares = 0;
  for (std::size_t k = 0; k < count; ++k) sum += x.v[first + k * step];
  const double mean = sum / static_cast<double>(count);
  for (std::size_t k = 0; k < count; ++k) squares += (x.v[first + k * step] - mean) * (x.v[first + k * step] - mean);
  return {mean, squares / static_cast<double>(count)};
}

}  // namespace

TEST_CASE("mean and variance of long rows read memory once") {
  for (const DType dtype : sampled({DType::float32, DType::float64, DType::float16, DType::int32})) {
    auto [x, ref] = random(rng, {140003}, dtype, dtype == DType::int32 ? -50 : 3, dtype == DType::int32 ? 50 : 5);
    const Moments want = moments(ref, 0, 1, ref.v.size());
    const Tensor mean = sn::mean(x), var = sn::var(x);
    CHECK(launches({mean, var}) == 2);                                                                 // pieces; their merge
    const double tolerance = dtype == DType::float16 ? 2e-3 : dtype == DType::float32 ? 1e-5 : 1e-10;  // the plain loop loses digits, too
    CHECK(values(mean)[0] == doctest::Approx(want.mean).epsilon(tolerance));
    CHECK(values(var)[0] == doctest::Approx(want.var).epsilon(tolerance));
    const auto n = static_cast<double>(ref.v.size());
    CHECK(values(sn::var(x, {}, false, 1))[0] == doctest::Approx(want.var * n / (n - 1)).epsilon(tolerance));
    CHECK(values(sn::stddev(x.reshape({1, 140003}), 1))[0] == doctest::Approx(std::sqrt(want.var)).epsilon(tolerance));
  }
  // Cases: values far from zero, all elements of two axes, flipped rows, and statistics of a batch of images.
  auto [far, far_ref] = random(rng, {2, 131500}, DType::float32, 1000, 1001);
  CHECK(values(sn::var(far))[0] == doctest::Approx(moments(far_ref, 0, 1, far_ref.v.size()).var).epsilon(1e-3));
  const auto rows = values(sn::var(sn::flip(far, 1), 1));
  for (std::size_t row = 0; row < 2; ++row) CHECK(rows[row] == doctest::Approx(moments(far_ref, row * 131500, 1, 131500).var).epsilon(1e-3));
  auto [image, image_ref] = random(rng, {150, 3, 900}, DType::float32, -1, 2);
  const Tensor mean = sn::mean(image, std::vector<std::int64_t>{0, 2}), var = sn::var(image, std::vector<std::int64_t>{0, 2});
  CHECK(launches({mean, var}) == 2);
  for (std::size_t channel = 0; channel < 3; ++channel) {
    Ref own{{}, {}};
    for (std::size_t n = 0; n < 150; ++n)
      for (std::size_t k = 0; k < 900; ++k) own.v.push_back(image_ref.v[(n * 3 + channel) * 900 + k]);
    const Moments want = moments(own, 0, 1, own.v.size());
    CHECK(values(mean)[channel] == doctest::Approx(want.mean).epsilon(1e-5));
    CHECK(values(var)[channel] == doctest::Approx(want.var).epsilon(1e-5));
  }
  const Tensor weight = sn::ones({131500}), bias = sn::zeros({131500});
  const auto normed = values(sn::layer_norm(far - 1000.f, weight, bias));
  const Moments first = moments(far_ref, 0, 1, 131500);
  for (std::size_t k = 0; k < 131500; k += 977)
    CHECK(normed[k] == doctest::Approx((far_ref.v[k] - first.mean) / std::sqrt(first.var + 1e-5)).epsilon(1e-3).scale(1));
  CHECK(std::isnan(values(sn::var(sn::where(sn::equal(sn::arange(140003), 9), INFINITY, sn::ones({140003}))))[0]));
  same_bits([&, &x = far] { return sn::var(x, 1); });
}

TEST_CASE("softmax, log_softmax and logsumexp of long rows read memory once for their sums") {
  const std::int64_t n = 140003;
  auto [x, ref] = random(rng, {n}, DType::float32, -30, 30);
  const auto check = [&](const Tensor& y, const std::vector<double>& v, const char* what) {
    INFO(what);
    double top = -INFINITY, sum = 0;
    for (const double a : v) top = std::isnan(a) || std::isnan(top) ? NAN : std::max(top, a);
    for (const double a : v) sum += std::exp(a - (std::isfinite(top) ? top : 0));
    const double log_sum = std::isinf(top) ? top : top + std::log(sum);  // NaN stays
    const double got = values(sn::logsumexp(y))[0];
    if (std::isnan(log_sum)) CHECK(std::isnan(got));
    else if (std::isinf(log_sum)) CHECK(got == log_sum);
    else CHECK(got == doctest::Approx(log_sum).epsilon(1e-6));
    const auto soft = values(sn::softmax(y)), log_soft = values(sn::log_softmax(y));
    for (std::size_t k = 0; k < v.size(); k += 997) {
      if (!std::isfinite(top)) {  // as in x - max
        CHECK(std::isnan(soft[k]));
        CHECK((std::isnan(log_soft[k]) || log_soft[k] == -INFINITY));
        continue;
      }
      CHECK(soft[k] == doctest::Approx(std::exp(v[k] - log_sum)).epsilon(1e-4).scale(1e-30));
      if (std::isfinite(v[k])) CHECK(log_soft[k] == doctest::Approx(v[k] - log_sum).epsilon(1e-6));
      else CHECK(log_soft[k] == -INFINITY);
    }
  };
  check(x, ref.v, "finite");
  CHECK(launches(sn::logsumexp(x * 2)) == 2);
  CHECK(launches(sn::softmax(x * 2)) == 3);
  // Cases: whole chunks of -inf, only -inf, one +inf, one NaN.
  auto masked = ref.v;
  for (std::size_t k = 10000; k < 60000; ++k) masked[k] = -INFINITY;
  const Tensor i = sn::arange(n), minus = sn::where((i >= 10000) & (i < 60000), -INFINITY, x);
  check(minus, masked, "pieces of -inf");
  check(
      minus - 500.f,
      [&] {
        for (double& a : masked) a = static_cast<float>(static_cast<float>(a) - 500.f);
        return masked;
      }(),
      "far below zero");
  check(sn::full({n}, -INFINITY), std::vector<double>(static_cast<std::size_t>(n), -INFINITY), "all -inf");
  for (const double odd : {double{INFINITY}, double{NAN}}) {
    auto v = ref.v;
    v[70000] = odd;
    check(sn::where(sn::equal(i, 70000), odd, x), v, odd > 0 ? "inf" : "NaN");
  }
  CHECK(values(sn::logsumexp(sn::zeros({0})))[0] == -INFINITY);
  same_bits([&, &x = x] { return sn::log_softmax(x); });
}

TEST_CASE("argmin and argmax of long rows read memory once") {
  for (const DType dtype : sampled({DType::float32, DType::float64, DType::float16, DType::int32, DType::uint8, DType::bool_})) {
    INFO(sn::name(dtype));
    auto [x, ref] = random(rng, {2, 140003}, dtype, 0, 250);  // many ties
    for (const bool largest : {false, true}) {
      const auto find = largest ? sn::argmax : sn::argmin;
      const auto place = [&](std::size_t first, std::size_t count) {
        const auto begin = ref.v.begin() + static_cast<std::ptrdiff_t>(first), end = begin + static_cast<std::ptrdiff_t>(count);
        return static_cast<double>((largest ? std::max_element(begin, end) : std::min_element(begin, end)) - begin);
      };
      const Tensor along = find(x, 1, false), extreme = largest ? sn::max(x, 1) : sn::min(x, 1);
      CHECK(launches({along, extreme}) == 2);
      CHECK(values(along) == std::vector<double>{place(0, 140003), place(140003, 140003)});
      CHECK(values(find(x, {}, true)) == std::vector<double>{place(0, 280006)});
      CHECK(values(find(x.T(), 0, false)) == std::vector<double>{place(0, 140003), place(140003, 140003)});
    }
  }
  const Tensor i = sn::arange(140003), x = sn::where(sn::equal(i % 50000, 49999), std::nan(""), sn::cos(i));
  CHECK(values(sn::argmax(x))[0] == 49999);
  CHECK(values(sn::argmin(x))[0] == 49999);
}

// ---- columns: rows with a stride in memory

namespace {

/// Returns for each result of a reduction over these axes the elements that it combines, in order.
std::vector<std::vector<std::size_t>> elements_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::vector<std::size_t> step(shape.size(), 0);
  std::size_t results = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == axes.end()) {
      step[axis] = results;
      results *= static_cast<std::size_t>(shape[axis]);
    }
  std::vector<std::vector<std::size_t>> all(results);
  std::size_t elements = 1;
  for (const auto size : shape) elements *= static_cast<std::size_t>(size);
  for (std::size_t k = 0; k < elements; ++k) {
    std::size_t rest = k, result = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= static_cast<std::size_t>(shape[axis]))
      result += rest % static_cast<std::size_t>(shape[axis]) * step[axis];
    all[result].push_back(k);
  }
  return all;
}

struct Column {
  double mean = 0, var = 0, top = -INFINITY, log_sum = 0;
  std::size_t place = 0;
};
Column column_of(const std::vector<double>& v, const std::vector<std::size_t>& at) {
  Column column;
  for (std::size_t k = 0; k < at.size(); ++k) {
    column.mean += v[at[k]];
    if (v[at[k]] > column.top || (std::isnan(v[at[k]]) && !std::isnan(column.top))) column.top = v[at[k]], column.place = k;
  }
  column.mean /= static_cast<double>(at.size());
  double sum = 0;
  for (const std::size_t k : at) {
    column.var += (v[k] - column.mean) * (v[k] - column.mean);
    sum += std::exp(v[k] - (std::isfinite(column.top) ? column.top : 0));
  }
  column.var /= static_cast<double>(at.size());
  column.log_sum = std::isinf(column.top) ? column.top : column.top + std::log(sum);
  return column;
}
void close(double got, double want, double tolerance) {
  if (std::isnan(want)) CHECK(std::isnan(got));
  else if (std::isinf(want)) CHECK(got == want);
  else CHECK(std::fabs(got - want) <= tolerance * (1 + std::fabs(want)));
}

/// Checks all reductions that depend on another reduction of the same column of x. v: the elements of x.
void check_columns(const Tensor& x, const std::vector<double>& v, const std::vector<std::int64_t>& axes, double tolerance, bool all = true) {
  INFO(sn::to_string(x.shape()));
  const auto columns = elements_of(x.shape(), axes);
  const Tensor mean = sn::mean(x, axes), var = sn::var(x, axes), log_sum = sn::logsumexp(x, axes);
  sn::eval(std::vector<Tensor>{mean, var});
  const auto means = values(mean), vars = values(var), log_sums = values(log_sum);
  std::vector<double> places, soft;
  if (axes.size() == 1 && all) {
    places = values(sn::argmax(x, axes[0], false));
    soft = values(sn::softmax(x, axes[0]));
  }
  REQUIRE(means.size() == columns.size());
  for (std::size_t c = 0; c < columns.size(); ++c) {
    CAPTURE(c);
    const Column want = column_of(v, columns[c]);
    close(means[c], want.mean, tolerance);
    close(vars[c], want.var, 2 * tolerance);
    close(log_sums[c], want.log_sum, tolerance);
    if (places.empty()) continue;
    CHECK(places[c] == static_cast<double>(want.place));
    for (std::size_t k = 0; k < columns[c].size(); k += 1 + columns[c].size() / 7)
      if (std::isfinite(want.top)) close(soft[columns[c][k]], std::exp(v[columns[c][k]] - want.log_sum), tolerance);
  }
}

}  // namespace

TEST_CASE("short columns of every length and type, staged between passes on a GPU") {
  const struct {
    Shape shape;
    std::int64_t axis;
  } cases[] = {{{2, 64}, 0},   {{5, 40}, 0},     {{3, 19, 50}, 1}, {{64, 257}, 0},  {{129, 36}, 0},  {{257, 33}, 0},
               {{512, 32}, 0}, {{2, 700, 9}, 1}, {{1000, 31}, 0},  {{1024, 32}, 0}, {{1025, 16}, 0}, {{40, 8, 8}, 0}};
  for (const DType dtype : sampled({DType::float32, DType::float64, DType::float16, DType::bfloat16}))
    for (const auto& [shape, axis] : cases) {
      INFO(sn::name(dtype));
      if (dtype != DType::float32 && rng() % 3 != 0) continue;
      auto [x, ref] = random(rng, shape, dtype, -3, 4);
      const double tolerance = dtype == DType::float64 ? 1e-12 : dtype == DType::float32 ? 1e-5 : 1e-2;
      check_columns(x, ref.v, {axis}, tolerance, tolerance < 1e-2);
      if (on_gpu() && shape[static_cast<std::size_t>(axis)] <= 1024) CHECK(launches(sn::softmax(x, axis)) == 1);
    }
  // Cases: views, a prologue and an epilogue, two staged values, another operand in the last pass, NaN and infinities.
  auto [x, ref] = random(rng, {300, 80}, DType::float32, -3, 4);
  const auto view_of = [&, &ref = ref](std::size_t rows, std::size_t columns, auto at) {
    std::vector<double> v;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) v.push_back(at(i, j));
    return v;
  };
  check_columns(x.at({Slice{1, {}, 2}, Slice{3, -2}}),
                view_of(150, 75, [&, &ref = ref](std::size_t i, std::size_t j) { return ref.v[(1 + 2 * i) * 80 + j + 3]; }), {0}, 1e-5);
  check_columns(sn::flip(x, 0), view_of(300, 80, [&, &ref = ref](std::size_t i, std::size_t j) { return ref.v[(299 - i) * 80 + j]; }), {0}, 1e-5);
  check_columns(x.T(), view_of(80, 300, [&, &ref = ref](std::size_t i, std::size_t j) { return ref.v[j * 80 + i]; }), {1}, 1e-5);
  const auto normed = values((x - sn::mean(x, 0)) / sn::sqrt(sn::var(x, 0) + 1e-5f) * x.at({0}) + x);
  const auto columns = elements_of({300, 80}, {0});
  for (std::size_t k = 0; k < normed.size(); k += 97) {
    const Column c = column_of(ref.v, columns[k % 80]);
    close(normed[k], (ref.v[k] - c.mean) / std::sqrt(c.var + 1e-5) * ref.v[k % 80] + ref.v[k], 1e-4);
  }
  auto odd = ref.v;
  odd[5 * 80 + 7] = NAN;
  odd[6 * 80 + 9] = INFINITY;
  for (std::size_t i = 0; i < 300; ++i) odd[i * 80 + 11] = -INFINITY;
  const Tensor i = sn::expand_dims(sn::arange(300), 1), j = sn::arange(80);
  const Tensor changed =
      sn::where(sn::equal(i, 5) & sn::equal(j, 7), NAN, sn::where(sn::equal(i, 6) & sn::equal(j, 9), INFINITY, sn::where(sn::equal(j, 11), -INFINITY, x)));
  check_columns(changed, odd, {0}, 1e-5);
  CHECK(values(sn::var(sn::zeros({4, 0}), 0)).empty());
}

TEST_CASE("the sums over rows in a layer norm's backward pass: one kernel of a GPU merges the pieces of two sums") {
  auto [x, ref] = random(rng, {1100, 136}, DType::float32, -3, 4);
  auto [y, other] = random(rng, {1100, 136}, DType::float32, -3, 4);
  const Tensor products = sn::sum(x * y, 0), sums = sn::sum(y, 0);
  if (on_gpu()) CHECK(launches({sn::sum(x * y, 0), sn::sum(y, 0)}) == 2);  // pieces of both, merges of both
  sn::eval(std::vector<Tensor>{products, sums});
  const auto found = values(products), plain = values(sums);
  for (std::size_t c = 0; c < 136; ++c) {
    double product = 0, sum = 0;
    for (std::size_t k = c; k < ref.v.size(); k += 136) product += ref.v[k] * other.v[k], sum += other.v[k];
    CHECK(std::fabs(found[c] - product) <= 1e-2);
    CHECK(std::fabs(plain[c] - sum) <= 1e-2);
  }
}

TEST_CASE("long columns are reduced in pieces and merged, and memory is read once") {
  const struct {
    Shape shape;
    std::vector<std::int64_t> axes;
  } cases[] = {{{132001, 9}, {0}}, {{131072, 8}, {0}}, {{2, 131500, 8}, {1}}, {{9, 131, 127, 10}, {0, 1, 2}}};
  for (const auto& [shape, axes] : sampled(cases))
    for (const DType dtype : sampled({DType::float32, DType::float64})) {
      if (on_gpu() && dtype != DType::float32 && shape.size() > 2) continue;  // emulated
      auto [x, ref] = random(rng, shape, dtype, 2, 5);
      check_columns(x, ref.v, axes, dtype == DType::float32 ? 2e-5 : 1e-10, shape.size() == 2);
      if (!on_gpu() || shape.size() == 3) continue;
      CHECK(launches({sn::mean(x + 1, axes), sn::var(x + 1, axes)}) == 2);
      CHECK(launches(sn::logsumexp(x * 2, axes)) == 2);
    }
  // Cases: pieces of -inf, NaN, and values far from zero.
  auto [x, ref] = random(rng, {131500, 8}, DType::float32, -20, 20);
  const Tensor i = sn::expand_dims(sn::arange(131500), 1), j = sn::arange(8);
  const Tensor odd = sn::where(sn::equal(i, 777) & sn::equal(j, 3), NAN, sn::where((i >= 1000) & (i < 5000), -INFINITY, x));
  auto v = ref.v;
  for (std::size_t k = 1000 * 8; k < 5000 * 8; ++k) v[k] = -INFINITY;
  v[777 * 8 + 3] = NAN;
  const auto columns = elements_of({131500, 8}, {0});
  const auto log_sums = values(sn::logsumexp(odd, 0)), places = values(sn::argmax(odd, 0, false));
  const auto far = values(sn::var(x * 0.05f + 1000.f, 0));
  for (std::size_t c = 0; c < 8; ++c) {
    const Column want = column_of(v, columns[c]);
    close(log_sums[c], want.log_sum, 1e-6);
    CHECK(places[c] == static_cast<double>(want.place));
    CHECK(far[c] == doctest::Approx(column_of(ref.v, columns[c]).var * 0.0025).epsilon(1e-3));
  }
}

TEST_CASE("any, all and the place of an extremum of long rows with one hit") {
  for (const std::int64_t row : sampled({40, 5000, 60000})) {
    const auto hit = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(row));
    CAPTURE(row);
    CAPTURE(hit);
    const Tensor there = sn::equal(sn::arange(row), sn::Tensor(hit)), x = sn::stack({there, sn::zeros({row}, DType::bool_)});
    sn::eval(x);
    for (const Tensor& seen : {x, sn::contiguous(x.T()).T()}) {
      CHECK(values(sn::any(seen, 1)) == std::vector<double>{1, 0});
      CHECK(values(sn::all(sn::logical_not(seen), 1)) == std::vector<double>{0, 1});
      CHECK(values(sn::argmax(seen, 1)) == std::vector<double>{static_cast<double>(hit), 0});
    }
    CHECK(values(sn::any(x))[0] == 1);
  }
}

TEST_CASE("a sum that reads another layout errs no more, fused or not") {
  if (on_gpu()) return;  // one tree of threads
  for (int round = 0; round < 6 && !time_is_over(); ++round) {
    const Shape shape{1 + static_cast<std::int64_t>(rng() % 60), 1 + static_cast<std::int64_t>(rng() % 60), 1 + static_cast<std::int64_t>(rng() % 60)};
    auto [x, ref] = random(rng, shape, DType::float32, 0, 1);
    const auto program = [&, &x = x] { return sn::sum(sn::permute(x * 3.f, {2, 0, 1}), round % 3); };
    const auto fused = values(program());
    const WithOptions unfused([](sn::Options& options) { options.fuse = false; });
    const auto apart = values(program());
    REQUIRE(fused.size() == apart.size());
    for (std::size_t k = 0; k < fused.size(); ++k) REQUIRE(std::fabs(fused[k] - apart[k]) <= 2 * 4 * (1 + std::log2(60.)) * 0x1p-23 * fused[k]);
  }
}
