// Rows that the blocks of a cluster share: each block stages a part of the row in shared memory or in registers. Results of reductions, softmax and norms are
// compared with extended precision. A row is read once if a cluster can stage it. Devices without clusters give the same results.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "draws.hpp"
#include "engine/engine.hpp"
#include "program.hpp"
#include "reference.hpp"

using namespace sinter::testing;

namespace {

using Row = std::vector<long double>;

/// Returns the number of roundings of one term in its row's sum. It bounds the relative error of a sum of terms of one sign. At least 256 partial sums share a
/// row, and fewer than 80 roundings follow: lanes of a vector (up to 3), shuffles (5), a block's warps (32), a cluster's blocks (16), the term itself (8 for
/// its difference and its exponential) and a few after the sum. A missing element may change the sum by less than this; `check_that_each_counts` finds it.
double roundings(std::int64_t width) { return static_cast<double>(width) / 256 + 80; }

struct Formula {
  const char* name;
  std::function<Tensor(const Tensor& x)> of;
  std::function<Row(const Row& x)> reference;
  double error;  // error relative to the largest result, in roundings of a sum
};

long double mean_of(const Row& x) {
  long double sum = 0;
  for (const auto v : x) sum += v;
  return sum / static_cast<long double>(x.size());
}
long double variance_of(const Row& x) {
  const long double mean = mean_of(x);
  long double sum = 0;
  for (const auto v : x) sum += (v - mean) * (v - mean);
  return sum / static_cast<long double>(x.size());
}
/// Returns exp(x - max(x)) for the elements of a row, and their sum.
Row exponentials(Row x, long double* sum) {
  const long double largest = *std::max_element(x.begin(), x.end());
  *sum = 0;
  for (auto& v : x) *sum += v = std::exp(v - largest);
  return x;
}

/// The formulas' results have about the same magnitude for any width; for this, softmax is multiplied by the width.
const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = {
      {"softmax", [](const Tensor& x) { return sn::softmax(x, -1) * static_cast<double>(x.shape().back()); },
       [](const Row& x) {
         long double sum;
         Row y = exponentials(x, &sum);
         for (auto& v : y) v *= static_cast<long double>(x.size()) / sum;
         return y;
       },
       1},
      {"log softmax", [](const Tensor& x) { return sn::log_softmax(x, -1); },
       [](const Row& x) {
         long double sum;
         exponentials(x, &sum);
         const long double log_sum = *std::max_element(x.begin(), x.end()) + std::log(sum);
         Row y = x;
         for (auto& v : y) v -= log_sum;
         return y;
       },
       1},
      {"normed", [](const Tensor& x) { return (x - sn::mean(x, -1, true)) / sn::sqrt(sn::var(x, -1, true) + 1e-5); },
       [](const Row& x) {
         const long double mean = mean_of(x), scale = std::sqrt(variance_of(x) + 1e-5L);
         Row y = x;
         for (auto& v : y) v = (v - mean) / scale;
         return y;
       },
       3},
      {"root mean square", [](const Tensor& x) { return x / sn::sqrt(sn::mean(x * x, -1, true)); },
       [](const Row& x) {
         long double sum = 0;
         for (const auto v : x) sum += v * v;
         Row y = x;
         for (auto& v : y) v /= std::sqrt(sum / static_cast<long double>(x.size()));
         return y;
       },
       1},
      {"variance", [](const Tensor& x) { return sn::var(x, -1); }, [](const Row& x) { return Row{variance_of(x)}; }, 3},
      {"sum of what the largest is larger by",
       [](const Tensor& x) { return sn::sum(sn::exp(x) - sn::max(sn::exp(x), -1, true), -1) / static_cast<double>(x.shape().back()); },
       [](const Row& x) {
         long double largest = 0, sum = 0;
         for (const auto v : x) largest = std::max(largest, std::exp(v));
         for (const auto v : x) sum += std::exp(v) - largest;
         return Row{sum / static_cast<long double>(x.size())};
       },
       2},
  };
  return all;
}

/// Draws some of the formulas, others in each run, because compiling a kernel for the emulated device takes longer than running it.
std::vector<const Formula*> some_formulas(std::size_t count) {
  std::vector<const Formula*> all;
  for (const Formula& formula : formulas()) all.push_back(&formula);
  std::shuffle(all.begin(), all.end(), numbers());
  all.resize(count);
  return all;
}

/// The number of steps of a plan, its largest cluster, and the largest cluster that planning assumed.
struct Looked {
  int kernels = 0, cluster = 1, max_cluster = 1;
  std::int64_t row_bytes = 0;  // that a block stages
};
Looked look_at(const Tensor& y) {
  const auto planned = sn::engine::Engine::get().histories_of({y.node()}, "").front().planned;
  REQUIRE(planned);
  Looked looked;
  looked.max_cluster = planned->limits.cluster;
  looked.row_bytes = planned->limits.row_bytes;
  for (const auto& step : planned->steps) {
    ++looked.kernels;
    looked.cluster = std::max(looked.cluster, step.nest.schedule.cluster());
  }
  return looked;
}

/// The maximum number of blocks of a cluster, as the device's launches found it.
int max_blocks() {
  static const int blocks = look_at(sn::softmax(sn::placeholder({3, 60000}, DType::float32), -1)).max_cluster;
  return blocks;
}

/// A device that has no room for clusters, which it finds out kernel by kernel.
bool narrow() { return std::getenv("SINTER_EMULATOR_GPC") != nullptr; }

Tensor draw(std::int64_t rows, std::int64_t width, DType dtype, std::vector<Row>& values) {
  const auto [x, ref] = random(numbers(), {rows, width}, dtype, -3, 3);
  values.clear();
  for (std::int64_t row = 0; row < rows; ++row) values.emplace_back(ref.v.begin() + row * width, ref.v.begin() + (row + 1) * width);
  return x;
}

/// For float16 the result is float32, because a result of about 1/width has few digits in float16.
Tensor computed_from(const Tensor& x) { return x.dtype() == DType::float16 ? sn::astype(x, DType::float32) : x; }

void check(const Formula& formula, const Tensor& x, const std::vector<Row>& values_of_x) {
  CAPTURE(std::string(formula.name));
  CAPTURE(sn::to_string(x.shape()));
  CAPTURE(std::string(sn::name(x.dtype())));
  const double rounding = x.dtype() == DType::float64 ? 0x1p-53 : 0x1p-24;
  const Tensor y = sn::astype(formula.of(computed_from(x)), DType::float64);
  const std::vector<double> got = y.to_vector<double>();
  Row want;
  for (const Row& row : values_of_x)
    for (const auto v : formula.reference(row)) want.push_back(v);
  REQUIRE(got.size() == want.size());
  long double largest = 0;
  for (const auto v : want) largest = std::max(largest, std::fabs(v));
  const long double allowed = formula.error * roundings(x.shape().back()) * rounding * largest;
  std::size_t wrong = 0, first = 0;
  for (std::size_t k = want.size(); k-- > 0;)
    if (!(std::fabs(got[k] - want[k]) <= allowed)) ++wrong, first = k;
  INFO(wrong, " of ", want.size(), ", the first at ", first);
  if (wrong > 0) CHECK(got[first] == static_cast<double>(want[first]));
  CHECK(wrong == 0);
}

/// Sums of whole numbers are exact in any order: sums of exponentials that are 1 or 0, and of squares of 1 and -1. So an element that is omitted or added twice
/// is found even in the longest row.
void check_that_each_counts(std::int64_t rows, std::int64_t width) {
  CAPTURE(rows);
  CAPTURE(width);
  std::vector<float> steps(static_cast<std::size_t>(rows * width)), signs(steps.size());
  std::vector<double> ones(static_cast<std::size_t>(rows));
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const bool one = k % static_cast<std::size_t>(width) == 0 || pick(0, 1);
    steps[k] = one ? 0.f : -1000.f;
    signs[k] = one ? 1.f : -1.f;
    ones[k / static_cast<std::size_t>(width)] += one;
  }
  const Tensor x = sn::from_span(steps, {rows, width}), s = sn::from_span(signs, {rows, width});
  const auto shares = sn::softmax(x, -1).to_vector<float>(), units = (s / sn::sqrt(sn::mean(s * s, -1, true))).to_vector<float>();
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    const double share = steps[k] == 0 ? 1 / ones[k / static_cast<std::size_t>(width)] : 0;
    wrong += !(std::fabs(shares[k] - share) <= 4 * 0x1p-24 * share);
    wrong += !(std::fabs(units[k] - signs[k]) <= 4 * 0x1p-24);
  }
  CHECK(wrong == 0);
}

void use(const std::string& schedule) {
  sn::Options options = sn::options();
  options.schedule = schedule;
  sn::configure(options);
}

}  // namespace

TEST_CASE("rows that no single block can stage") {
  if (!on_gpu()) return;
  std::vector<Row> values;
  struct Size {
    std::int64_t rows, width;
    DType dtype;
  };
  const Size sizes[] = {{3, 60000 + 4 * pick(0, 1000), DType::float32},
                        {2, pick(60000, 65000), DType::float32},
                        {pick(17, 20), 4 * pick(20000, 32768), DType::float32},
                        {3, 8 * pick(7500, 8000), DType::float16},
                        {2, pick(30000, 64000), DType::float64}};
  for (const Size& size : sizes) {
    const Tensor x = draw(size.rows, size.width, size.dtype, values);
    for (const Formula* formula : some_formulas(3)) check(*formula, x, values);
    check_that_each_counts(size.rows, size.width);
    if (max_blocks() < 8 || narrow()) continue;
    const Looked looked = look_at(sn::softmax(computed_from(x), -1));
    CHECK(looked.kernels == 1);
    CHECK(looked.cluster > 1);
  }
}

TEST_CASE("short rows with so many staged values that no single block can hold them") {
  if (!on_gpu()) return;
  constexpr int kValues = 30;
  const Formula product{"a product of exponentials over the sum of all",
                        [](const Tensor& x) {
                          Tensor all = sn::exp(x * 0.01), sum = all;
                          for (int k = 2; k <= kValues; ++k) {
                            const Tensor one = sn::exp(x * (0.01 * k));
                            all = all * one;
                            sum = sum + one;
                          }
                          return all / sn::sum(sum, -1, true);
                        },
                        [](const Row& x) {
                          Row all(x.size(), 1);
                          long double sum = 0;
                          for (int k = 1; k <= kValues; ++k)
                            for (std::size_t at = 0; at < x.size(); ++at) {
                              const long double one = std::exp(x[at] * static_cast<long double>(0.01 * k));
                              all[at] *= one;
                              sum += one;
                            }
                          for (auto& v : all) v /= sum;
                          return all;
                        },
                        2};
  std::vector<Row> values;
  const Tensor x = draw(3, pick(960, 1024), DType::float64, values);
  check(product, x, values);
  if (max_blocks() < 8 || narrow()) return;
  const Looked looked = look_at(product.of(x));
  CHECK(looked.kernels == 1);
  CHECK(looked.cluster > 1);
}

TEST_CASE("the longest rows that a cluster can stage, and longer ones") {
  if (!on_gpu()) return;
  std::vector<Row> values;
  for (const std::int64_t width : {4 * pick(65536, 100000), 4 * pick(100000, 112000), std::int64_t{470000}}) {
    const Tensor x = draw(17, width, DType::float32, values);
    check(*some_formulas(1)[0], x, values);
    check_that_each_counts(3, width);
    const Looked looked = look_at(sn::softmax(x, -1));
    const bool held = looked.max_cluster > 1 && 4 * width <= looked.max_cluster * (looked.row_bytes - 1024);
    CHECK((looked.cluster > 1) == held);
    CHECK((looked.kernels == 1) == held);
  }
}

TEST_CASE("rows of every length run on clusters of every size if a schedule override asks for it") {
  if (!on_gpu() || max_blocks() < 8 || narrow()) return;
  std::vector<Row> values;
  for (const char* overrides : {"cluster=2", "cluster=4", "cluster=8", "cluster=4,vector=1", "cluster=8,threads=64,row_threads=64", "cluster=2,row_steps=0",
                                "cluster=4,row_steps=4", "cluster=8,keep=0"}) {
    CAPTURE(std::string(overrides));
    use(overrides);
    const DType dtype = std::array{DType::float32, DType::float16, DType::float64}[static_cast<std::size_t>(pick(0, 2))];
    const std::int64_t width = pick(0, 1) ? pick(1025, 6000) : 64 * pick(17, 90);
    const Tensor x = draw(pick(1, 9), width, dtype, values);
    for (const Formula* formula : some_formulas(2)) check(*formula, x, values);
    check_that_each_counts(pick(1, 9), width);
    CHECK(look_at(sn::softmax(computed_from(x), -1)).cluster == overrides[8] - '0');
    // Exact reductions: the minimum, the maximum, the first position of the maximum, and any.
    const auto smallest = sn::min(x, -1).astype(DType::float64).to_vector<double>();
    const auto place = sn::argmax(x, -1).astype(DType::float64).to_vector<double>();
    const Tensor none = x > 2.998046875;
    const auto any = sn::any(none, -1).astype(DType::float64).to_vector<double>();
    for (std::size_t row = 0; row < values.size(); ++row) {
      const Row& r = values[row];
      CHECK(smallest[row] == static_cast<double>(*std::min_element(r.begin(), r.end())));
      CHECK(place[row] == static_cast<double>(std::max_element(r.begin(), r.end()) - r.begin()));
      CHECK(any[row] == static_cast<double>(std::any_of(r.begin(), r.end(), [](long double v) { return static_cast<double>(v) > 2.998046875; })));
    }
  }
  use("");
}

TEST_CASE("results have the same bits again, even from a replayed plan and at another length") {
  if (!on_gpu()) return;
  std::vector<Row> values;
  std::vector<double> before;
  const Tensor x = draw(3, 61440, DType::float32, values);
  const auto several = [&](const Tensor& t) {
    std::vector<Tensor> all{sn::softmax(t, -1), sn::softmax(t * 2.f, -1) + sn::mean(t, 0), sn::log_softmax(t.T() + 1.f, 0).T()};
    sn::eval(all);
    std::vector<double> list;
    for (const Tensor& y : all)
      for (const double v : y.astype(DType::float64).to_vector<double>()) list.push_back(v);
    return list;
  };
  for (int round = 0; round < 4; ++round) {
    const auto now = several(x);
    if (round > 0) CHECK(std::memcmp(now.data(), before.data(), now.size() * sizeof(double)) == 0);
    before = now;
  }
  for (const std::int64_t width : {61444, 65536, 58000}) {
    const Tensor other = draw(3, width, DType::float32, values);
    check(formulas()[0], other, values);
  }
}

TEST_CASE("explain says what a cluster stages") {
  if (!on_gpu() || max_blocks() < 8) return;
  std::vector<Row> values;
  const Tensor x = draw(160, 60000, DType::float32, values);
  const std::string report = sn::explain(sn::softmax(x, -1));
  CAPTURE(report);
  const Looked looked = look_at(sn::softmax(x, -1));
  CHECK(looked.cluster > 1);
  CHECK(report.find(fmt::format(", cluster={}", looked.cluster)) != std::string::npos);
  CHECK(report.find(fmt::format("in 240000 bytes over the {} blocks of a cluster, at most {} each", looked.cluster, looked.row_bytes)) != std::string::npos);
  CHECK(report.find("1 kernel on ") != std::string::npos);
}
