// Milliseconds for a million elements of what sorts, searches, counts and writes at computed places; bench/selection.py adds NumPy's.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;
using sn::DType;
using sn::Tensor;

int main() {
  sn::Options options = sn::options();
  if (const char* threads = std::getenv("SINTER_BENCH_THREADS")) options.threads = std::atoi(threads);
  options.wait = true;
  sn::configure(options);
  constexpr std::int64_t n = 1'000'000;
  const sn::random::Key key(1);
  Tensor f = sn::random::normal(key, {n}, 0, 1, DType::float32), d = sn::random::normal(key.fold_in(1), {n});
  Tensor i = sn::random::integers(key.fold_in(2), {n}, 0, n), few = sn::random::integers(key.fold_in(3), {n}, 0, 1000);
  Tensor rows = sn::random::normal(key.fold_in(4), {1000, 1000}, 0, 1, DType::float32), sorted = sn::sort(d), mask = f > 0.f;
  const Tensor zeros = sn::zeros({1000});
  sn::eval(f, d, i, few, rows, sorted, mask, zeros);

  nlohmann::json report;
  const auto timed = [&](const char* name, const std::function<Tensor()>& work) {
    double best = 1e9;
    for (int round = 0; round < 15; ++round) best = std::min(best, bench::seconds([&] { sn::eval(work()); }));
    report[name] = best * 1e3;
  };
  timed("sort float32", [&] { return sn::sort(f); });
  timed("sort float64", [&] { return sn::sort(d); });
  timed("sort int64", [&] { return sn::sort(i); });
  timed("sort 1000 rows of 1000 float32", [&] { return sn::sort(rows); });
  timed("argsort float32", [&] { return sn::argsort(f); });
  timed("argsort float64", [&] { return sn::argsort(d); });
  timed("argsort int64", [&] { return sn::argsort(i); });
  timed("argsort 1000 rows of 1000 float32", [&] { return sn::argsort(rows); });
  timed("top 10 of 1000 rows of 1000 float32", [&] { return sn::topk(rows, 10).first; });
  timed("unique int64", [&] { return sn::unique(i); });
  timed("unique int64 with inverse and counts", [&] {
    const sn::Unique all = sn::unique_with(few);
    sn::eval(all.inverse, all.counts);
    return all.values;
  });
  timed("searchsorted of a million in a million float64", [&] { return sn::searchsorted(sorted, d); });
  timed("isin int64", [&] { return sn::isin(i, few); });
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
  timed("permutation", [&] { return sn::random::permutation(key, n); });
  timed("gamma float64", [&] { return sn::random::gamma(key, {n}, 2.5); });
  timed("poisson", [&] { return sn::random::poisson(key, {n}, 4.0); });
  fmt::print("{}\n", report.dump(1));
}
