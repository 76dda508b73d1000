// Measures the milliseconds of sorting, searching, counting, scanning, shifting, transforming and writing at computed places, for SINTER_BENCH_ELEMENTS
// elements (by default a million). bench/selection.py adds NumPy's times.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Slice;
using sn::Tensor;

int main() {
  sn::Options options = sn::options();
  if (const char* threads = std::getenv("SINTER_BENCH_THREADS")) options.threads = std::atoi(threads);
  options.wait = true;
  sn::configure(options);
  const char* const elements = std::getenv("SINTER_BENCH_ELEMENTS");
  const std::int64_t n = elements ? std::atoll(elements) : 1'000'000;
  const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)));  // the side of a square with about n elements
  const sn::random::Key key(1);
  Tensor f = sn::random::normal(key, {n}, 0, 1, DType::float32), d = sn::random::normal(key.fold_in(1), {n});
  Tensor i = sn::random::integers(key.fold_in(2), {n}, 0, n), few = sn::random::integers(key.fold_in(3), {n}, 0, 1000);
  Tensor rows = sn::random::normal(key.fold_in(4), {side, side}, 0, 1, DType::float32), sorted = sn::sort(d), mask = f > 0.f;
  const Tensor zeros = sn::zeros({1000});
  const Tensor square = rows.astype(DType::float64), bytes = sn::random::integers(key.fold_in(5), {n}, 0, 256, DType::uint8),
               taps = sn::random::normal(key.fold_in(6), {9});
  sn::eval(f, d, i, few, rows, sorted, mask, zeros, square, bytes, taps);

  nlohmann::json report;
  const auto timed = [&](const char* name, const std::function<Tensor()>& work) {
    double best = 1e9;
    for (int round = 0; round < (n > 1'000'000 ? 3 : 15); ++round) best = std::min(best, bench::seconds([&] { sn::eval(work()); }));
    report[name] = best * 1e3;
  };
  timed("sort float32", [&] { return sn::sort(f); });
  timed("sort float64", [&] { return sn::sort(d); });
  timed("sort int64", [&] { return sn::sort(i); });
  timed("sort rows of a square float32", [&] { return sn::sort(rows); });
  timed("argsort float32", [&] { return sn::argsort(f); });
  timed("argsort float64", [&] { return sn::argsort(d); });
  timed("argsort int64", [&] { return sn::argsort(i); });
  timed("argsort rows of a square float32", [&] { return sn::argsort(rows); });
  timed("top 10 of rows of a square float32", [&] { return sn::topk(rows, 10).first; });
  timed("unique int64", [&] { return sn::unique(i); });
  timed("unique int64 with inverse and counts", [&] {
    const sn::Unique all = sn::unique_with(few);
    sn::eval(all.inverse, all.counts);
    return all.values;
  });
  timed("searchsorted in as many float64", [&] { return sn::searchsorted(sorted, d); });
  timed("isin int64", [&] { return sn::isin(i, few); });
  timed("sort uint8", [&] { return sn::sort(bytes); });
  timed("argsort uint8", [&] { return sn::argsort(bytes); });
  const Tensor halves = sn::astype(f, DType::float16);
  sn::eval(halves);
  timed("sort float16", [&] { return sn::sort(halves); });
  timed("argsort float16", [&] { return sn::argsort(halves); });
  timed("sort columns of a square float32", [&] { return sn::sort(rows, 0); });
  timed("percentile 90", [&] { return sn::percentile(d, 90); });
  timed("cumsum", [&] { return sn::cumsum(d); });
  timed("cumsum of a square along its rows", [&] { return sn::cumsum(square, 1); });
  timed("cumsum of a square along its columns", [&] { return sn::cumsum(square, 0); });
  timed("cumsum of integers", [&] { return sn::cumsum(few); });
  timed("diff", [&] { return sn::diff(d); });
  timed("roll", [&] { return sn::roll(d, 7); });
  timed("x[i], places at random", [&] { return std::as_const(d)(i); });
  timed("rows at random", [&] { return sn::take(square, few(Slice{0, side}) % side, 0); });
  timed("repeat by 3", [&] { return sn::repeat(f, 3); });
  timed("convolve with 9 taps", [&] { return sn::convolve(d, taps); });
  timed("einsum ij,ij->i", [&] { return sn::einsum("ij,ij->i", {square, square}); });
  timed("tensordot of vectors", [&] { return sn::tensordot(d, d, 1); });
  timed("fft of rows", [&] { return sn::fft::fft(square).re; });
  timed("rfft", [&] { return sn::fft::rfft(d(Slice{0, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)))})).re; });
  timed("nonzero of a mask", [&] { return sn::flatnonzero(mask); });
  timed("x[x > 0].sum()", [&] { return sn::sum(std::as_const(f)(f > 0.f)); });
  timed("histogram, 100 bins of float32", [&] { return sn::histogram(f, 100).counts; });
  timed("histogram between 101 edges of float64", [&] { return sn::histogram(d, sn::linspace(-5., 5., 101)).counts; });
  timed("bincount", [&] { return sn::bincount(few); });
  timed("bincount with weights", [&] { return sn::bincount(few, d); });
  timed("add_at 1000 sums", [&] { return sn::add_at(zeros, few, d); });
  timed("x[i] = y", [&] {
    Tensor x = d;
    x(i) = f;
    return x;
  });
  timed("median float64", [&] { return sn::median(d); });
  timed("quantile along rows of float32", [&] { return sn::quantile(rows, 0.9, 1); });
  timed("interp in 100 points", [&] { return sn::interp(d, sn::linspace(-3., 3., 100), sn::linspace(0., 1., 100)); });
  timed("interp in 10 points", [&] { return sn::interp(d, sn::linspace(-3., 3., 10), sn::linspace(0., 1., 10)); });
  timed("searchsorted in 10", [&] { return sn::searchsorted(sn::linspace(-3., 3., 10), d); });
  timed("searchsorted in 1000", [&] { return sn::searchsorted(sn::linspace(-3., 3., 1000), d); });
  for (const std::int64_t length : {10, 30, 100, 300}) {
    const Tensor short_rows = f(Slice{0, n / length * length}).reshape({n / length, length});
    timed(fmt::format("sort rows of {} float32", length).c_str(), [&] { return sn::sort(short_rows); });
    timed(fmt::format("argsort rows of {} float32", length).c_str(), [&] { return sn::argsort(short_rows); });
  }
  for (const std::int64_t count : {3, 31}) {
    const Tensor few_taps = sn::random::normal(key.fold_in(6), {count});
    sn::eval(few_taps);
    timed(fmt::format("convolve with {} taps", count).c_str(), [&] { return sn::convolve(d, few_taps); });
  }
  timed("permutation", [&] { return sn::random::permutation(key, n); });
  timed("gamma float64", [&] { return sn::random::gamma(key, {n}, 2.5); });
  timed("poisson", [&] { return sn::random::poisson(key, {n}, 4.0); });
  fmt::print("{}\n", report.dump(1));
}
