// Measures a hundred sizes and a hundred slice offsets of a formula: plans, sources, compiles, and the time of an evaluation at a new size beside one at a
// known size, on one thread. The work is small, so that the time is that of finding and binding the plan.
//   bench_sizes
#include <sinter/sinter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "bench.hpp"

namespace sn = sinter;
using sn::Slice;
using sn::Tensor;

namespace {

constexpr int kCount = 100;

void run(const char* name, const std::function<Tensor(int)>& record) {
  const auto before = sn::counters();
  double fresh = 1e9, known = 1e9;
  for (int k = 0; k < kCount; ++k) {
    const Tensor first = record(k), again = record(k);
    const double at_first = bench::seconds([&] { sn::eval(first); });
    if (k > kCount / 2) fresh = std::min(fresh, at_first);  // by now every plan is made
    known = std::min(known, bench::seconds([&] { sn::eval(again); }));
  }
  const auto after = sn::counters();
  fmt::print("{:24} {:6} {:8} {:9} {:13.2f} {:12.2f}\n", name, after.plans_made - before.plans_made, after.sources_generated - before.sources_generated,
             after.kernels_compiled + after.kernels_from_disk - before.kernels_compiled - before.kernels_from_disk, fresh * 1e6, known * 1e6);
}

Tensor data(const sn::Shape& shape) {
  Tensor t = sn::sin(sn::arange(sn::element_count(shape)).astype(sn::DType::float32)).reshape(shape);  // no literal, which would fold
  sn::eval(t);
  return t;
}

}  // namespace

int main() {
  sn::Options options = sn::options();
  options.threads = 1;
  options.wait = true;
  options.keep_plans = false;  // planning is measured
  sn::configure(options);
  const Tensor big = data({4000, 64}), weights = data({64, 16}), bias = data({64});
  const auto rows = [&](int k) { return big(Slice{k * 32, k * 32 + 32}); };
  fmt::print("{:24} {:>6} {:>8} {:>9} {:>13} {:>12}\n", "formula, 100 of each", "plans", "sources", "binaries", "new size us", "known us");
  run("pointwise, sizes", [&](int k) { return sn::tanh(data({10 + k, 64}) * 2.f + bias) * 0.5f; });
  run("row, sizes", [&](int k) { return sn::softmax(data({10 + k, 40 + k}), -1); });
  run("column, sizes", [&](int k) { return sn::sum(data({20 + k, 64}) * 2.f, 0); });
  run("scan, sizes", [&](int k) { return sn::cumsum(sn::exp(data({10 + k, 40 + k})), 1) * 2.f; });
  run("product+epilogue, sizes", [&](int k) { return sn::maximum(sn::matmul(data({10 + k, 64}), weights) + 1.f, 0.f); });
  run("pointwise, offsets", [&](int k) { return sn::tanh(rows(k) * 2.f + bias) * 0.5f; });
  run("row, offsets", [&](int k) { return sn::softmax(rows(k), -1); });
  run("column, offsets", [&](int k) { return sn::sum(rows(k) * 2.f, 0); });
  run("scan, offsets", [&](int k) { return sn::cumsum(sn::exp(rows(k)), 1) * 2.f; });
  run("product+epilogue, offsets", [&](int k) { return sn::maximum(sn::matmul(rows(k), weights) + 1.f, 0.f); });
}
