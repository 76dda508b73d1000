// Rows of every length that a few threads, a warp or a block share, staged in registers or in shared memory: sums, extrema with their positions, softmax and
// layer norm with epilogues, compared with float64 on every executor.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "bytes_of.hpp"
#include "draws.hpp"
#include "program.hpp"
#include "reference.hpp"

using namespace sinter::testing;

namespace {

/// `tolerance`: relative to the largest magnitude.
void check(const Tensor& got, const Ref& want, double tolerance, const char* what) {
  REQUIRE(got.shape() == want.shape);
  const auto all = values(got);
  double largest = 1;
  for (const double value : want.v) largest = std::max(largest, std::abs(value));
  std::size_t wrong = 0, first = 0;
  for (std::size_t k = all.size(); k-- > 0;)
    if (!(std::abs(all[k] - want.v[k]) <= tolerance * largest)) ++wrong, first = k;
  INFO(what, ": ", wrong, " of ", all.size(), ", the first at ", first);
  if (wrong > 0) CHECK(all[first] == want.v[first]);
  CHECK(wrong == 0);
}

/// Computes each row by itself.
Ref by_rows(const Ref& x, const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  Ref out = x;
  const auto width = static_cast<std::size_t>(x.shape[1]);
  for (std::size_t at = 0; at < x.v.size(); at += width) {
    const auto row = x.v.begin() + static_cast<std::ptrdiff_t>(at);
    const std::vector<double> made = f({row, row + static_cast<std::ptrdiff_t>(width)});
    std::copy(made.begin(), made.end(), out.v.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return out;
}
std::vector<double> softmax_of(std::vector<double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
  return row;
}
struct Moments {
  double mean = 0, deviation = 0;  ///< deviation: the square root of the variance plus layer_norm's 1e-5
};
Moments moments(const std::vector<double>& row) {
  Moments of;
  double squares = 0;
  for (const double value : row) of.mean += value / static_cast<double>(row.size());
  for (const double value : row) squares += (value - of.mean) * (value - of.mean) / static_cast<double>(row.size());
  of.deviation = std::sqrt(squares + 1e-5);
  return of;
}
std::vector<double> normalised(std::vector<double> row) {
  const Moments of = moments(row);
  for (double& value : row) value = (value - of.mean) / of.deviation;
  return row;
}

void check_rows(std::int64_t rows, std::int64_t width, DType dtype) {
  CAPTURE(rows);
  CAPTURE(width);
  CAPTURE(std::string(sn::name(dtype)));
  const double tolerance = dtype == DType::float32 ? 3e-6 : dtype == DType::float64 ? 1e-13 : 2e-3;
  const auto [x, ref] = random(numbers(), {rows, width}, dtype, -3, 3);
  const auto [w, rw] = random(numbers(), {width}, dtype, -2, 2);
  const auto plus = [](double a, double b) { return a + b; };
  const auto larger = [](double a, double b) { return std::max(a, b); };
  const double smallest = -std::numeric_limits<double>::infinity();
  const Tensor sums = sn::sum(x, -1), maxima = sn::max(x, -1);
  sn::eval(sums, maxima);
  check(sums, reduce(ref, {1}, 0, plus), tolerance * std::sqrt(static_cast<double>(width)), "sums");
  check(maxima, reduce(ref, {1}, smallest, larger), 0, "maxima");
  Ref places{{rows}, {}};
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto begin = ref.v.begin() + row * width;
    places.v.push_back(static_cast<double>(std::max_element(begin, begin + width) - begin));
  }
  check(sn::argmax(x, -1), places, 0, "places");
  check(sn::softmax(x, -1), by_rows(ref, softmax_of), tolerance, "softmax");
  check(sn::softmax(x * 2, -1) * w + 1,
        zip(zip(by_rows(map(ref, [](double v) { return 2 * v; }), softmax_of), rw, [](double a, double b) { return a * b; }), Ref{{1}, {1}}, plus), tolerance,
        "softmax between points");
  // The mean has a rounding error relative to the values. This error is divided by the deviation, which may be small for short rows.
  double smallest_deviation = 1;
  by_rows(ref, [&](const std::vector<double>& row) {
    smallest_deviation = std::min(smallest_deviation, moments(row).deviation);
    return row;
  });
  check(sn::layer_norm(x, w, w), zip(zip(by_rows(ref, normalised), rw, [](double a, double b) { return a * b; }), rw, plus), 4 * tolerance / smallest_deviation,
        "layer norm");
}

}  // namespace

TEST_CASE("rows of every length") {
  for (const std::int64_t width : {pick(2, 8), pick(9, 63), 8 * pick(8, 16), 4 * pick(33, 255), pick(65, 1300)}) check_rows(pick(1, 75), width, DType::float32);
  check_rows(3, 4 * pick(1025, 1100), DType::float32);
}

TEST_CASE("rows of other types") {
  for (const DType dtype : {DType::float16, DType::float64}) {
    check_rows(pick(1, 50), pick(0, 1) ? 8 * pick(2, 32) : pick(9, 300), dtype);
  }
}

TEST_CASE("a NaN affects only its row") {
  const std::int64_t rows = 37, width = 8 * pick(2, 20);
  auto [x, ref] = random(numbers(), {rows, width}, DType::float32, -1, 1);
  std::vector<float> with = x.to_vector<float>();
  const auto sick = static_cast<std::size_t>(pick(0, rows - 1));
  with[sick * static_cast<std::size_t>(width) + 5] = std::nanf("");
  const Tensor bad = sn::from_span(with, {rows, width});
  const auto maxima = values(sn::max(bad, -1)), soft = values(sn::softmax(bad, -1));
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    CHECK(std::isnan(maxima[row]) == (row == sick));
    CHECK(std::isnan(soft[row * static_cast<std::size_t>(width)]) == (row == sick));
  }
}

// As many rows as a vector has lanes may be computed at once, in another way than a few rows.
TEST_CASE("a row's results have the same bits with and without neighbours") {
  std::vector<std::int64_t> widths;
  for (std::int64_t width = 2; width < 70; ++width) widths.push_back(width);
  const std::vector<DType> dtypes{DType::float32, DType::float64, DType::float16, DType::int32};
  for (const auto& [width, dtype] : sampled(widths, dtypes)) {
    Tensor x = astype(sn::floor(random(numbers(), {37, width}, DType::float32, -8, 8).first), dtype);
    if (is_floating(dtype)) {
      const Tensor draw = random(numbers(), {37, width}, DType::float32, 0, 1).first;
      x = sn::where(draw < 0.002f, astype(sn::full({}, std::nanf(""), DType::float32), dtype), sn::where(draw < 0.1f, -0.f * x, x));
    }
    sn::eval(x);
    const auto results = [](const Tensor& rows) {
      return std::vector<Tensor>{sn::argmax(rows, -1), sn::argmin(rows, -1),    sn::max(rows, -1),     sn::var(rows, {-1}),
                                 sn::sum(rows, {-1}),  sn::logsumexp(rows, -1), sn::softmax(rows, -1), sn::prod(rows, {-1})};
    };
    const std::vector<Tensor> all = results(x), few = results(x(Slice(17, 20)));
    for (std::size_t k = 0; k < all.size(); ++k) {
      INFO("result ", k, ", rows of ", width, " ", name(dtype));
      CHECK(bytes_of(all[k](Slice(17, 20))) == bytes_of(few[k]));
    }
  }
}

TEST_CASE("elements that are compared with a row's maximum have the same bits as in the maximum") {
  for (int round = 0; round < 10; ++round) {
    const Tensor x = random(numbers(), {6, 20, 5}, DType::float32, -1, 1).first;
    const auto scores = [&] {  // a product of another kernel's sums, cheap enough to be computed twice
      const Tensor rows = sn::sum(sn::pad(sn::flip(x, {2}) + x, {{1, 0}, {1, 0}, {1, 0}}), {1}) * 0.1f;
      return sn::matmul(rows, rows.T()) * 0.05f + 1.f;
    };
    const Tensor best = scores();
    const auto hits = values(sn::sum(sn::where(best >= sn::max(best, {1}, true), 1.f, 0.f).astype(DType::float64), 1));
    for (const double count : hits) CHECK(count >= 1);
    const Tensor wide = scores(), kept = sn::where(wide >= sn::max(wide, {1}, true), wide * 2.f, wide).astype(DType::float64);
    const auto doubled = values(kept), whole = values(sn::max(scores().astype(DType::float64), {1}));
    for (std::size_t row = 0; row < 7; ++row)
      CHECK(*std::max_element(doubled.begin() + static_cast<std::ptrdiff_t>(row * 7), doubled.begin() + static_cast<std::ptrdiff_t>(row * 7 + 7)) ==
            doctest::Approx(2 * whole[row]).epsilon(1e-5));
  }
}

TEST_CASE("rows that are staged across a scan") {
  for (const std::int64_t width : {1, 5, 20, 31, 33, 64, 200}) {
    const auto [x, ref] = random(numbers(), {12, width}, DType::float32, -1, 1);
    const auto soft = [](const std::vector<double>& row) {
      double largest = -1e300, sum = 0;
      for (const double v : row) largest = std::max(largest, v);
      std::vector<double> out;
      for (const double v : row) out.push_back(std::exp(2 * v - 2 * largest)), sum += out.back();
      for (double& v : out) v /= sum;
      return out;
    };
    const auto scanned = [&](std::vector<double> row) {
      const double largest = *std::max_element(row.begin(), row.end());
      double so_far = 0;
      for (double& v : row) v = so_far += v >= largest ? 2 * v : v;
      return soft(row);
    };
    const auto one = [](const Tensor& t) {
      const Tensor doubled = sn::where(t >= sn::max(t, {1}, true), t * 2.f, t);
      return sn::softmax(sn::cumsum(doubled, 1) * 2.f, 1);
    };
    const Ref want = by_rows(ref, scanned);
    check(one(x), want, 1e-5, "scan between two passes");
    Ref both = want;
    for (std::size_t k = 0; k < both.v.size(); ++k)
      both.v[k] += want.v[(11 - k / static_cast<std::size_t>(width)) * static_cast<std::size_t>(width) + k % static_cast<std::size_t>(width)];
    check(one(x) + one(sn::flip(x, {0})), both, 1e-5, "two of them");
  }
}
