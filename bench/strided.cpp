// bench_strided: reads the names of cases from standard input, computes each once and answers with its milliseconds. For bench/strided.py.
#include <fmt/format.h>

#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "bench.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;

namespace {

/// Returns the values that strided.py gives NumPy.
sn::Tensor ramp(const sn::Shape& shape) {
  const sn::Tensor i = sn::arange(sn::element_count(shape));
  sn::Tensor x = sn::reshape(sn::astype(i % 1009, sn::DType::float32) * (1.f / 512) - 1.f, shape);
  sn::eval(x);
  return x;
}

std::map<std::string, std::function<sn::Tensor()>> cases() {
  const sn::Slice all{}, two{{}, {}, 2}, first2{0, 2};
  const std::int64_t n = 16 << 20;
  const auto flat = ramp({n}), square = ramp({4096, 4096}), thirds = ramp({n / 3, 3}), four = ramp({64, 64, 64, 64});
  const auto image = ramp({5, 64, 56, 56}), m = ramp({64, 1, 1}), v = sn::abs(ramp({64, 1, 1})), g = ramp({64, 1, 1}), b = ramp({64, 1, 1});
  const auto flags = flat > 0.5f, narrow = ramp({n / 64, 64}), pairs = ramp({n / 2, 2});
  const auto million = ramp({1'000'000}), ten = ramp({10'000'000}), ramp24 = ramp({n / 24, 24}), ramp48 = ramp({n / 48, 48}), ramp100 = ramp({n / 100, 100});
  sn::eval(flags, v);
  return {
      {"sum(x)", [=] { return sn::sum(flat); }},
      {"any(x > 100)", [=] { return sn::any(flat > 100.f); }},
      {"any(x > 0.5)", [=] { return sn::any(flat > 0.5f); }},
      {"all(rows > -2)", [=] { return sn::all(square > -2.f, -1); }},
      {"sum(bool)", [=] { return sn::sum(flags); }},
      {"sum(x[:, ::2])", [=] { return sn::sum(square.at({all, two})); }},
      {"sum(x[:, ::2], axis=1)", [=] { return sn::sum(square.at({all, two}), -1); }},
      {"sum(x[::2])", [=] { return sn::sum(square.at({two})); }},
      {"sum(n[:, :2])", [=] { return sn::sum(thirds.at({all, first2})); }},
      {"sum(n[:, :2], axis=0)", [=] { return sn::sum(thirds.at({all, first2}), 0); }},
      {"sum(pairs, axis=1)", [=] { return sn::sum(pairs, -1); }},
      {"sum(n, axis=1)", [=] { return sn::sum(thirds, -1); }},
      {"softmax(x)", [=] { return sn::softmax(square, -1); }},
      {"softmax(x.T)", [=] { return sn::softmax(square.T(), -1); }},
      {"x[::2, ::2] * 2", [=] { return square.at({two, two}) * 2.f; }},
      {"x[:, ::-1] * 2", [=] { return square.at({all, sn::Slice{{}, {}, -1}}) * 2.f; }},
      {"x.T * 2", [=] { return square.T() * 2.f; }},
      {"4-D (0,2,1,3)", [=] { return sn::permute(four, {0, 2, 1, 3}) * 2.f; }},
      {"4-D (0,2,3,1)", [=] { return sn::permute(four, {0, 2, 3, 1}) * 2.f; }},
      {"4-D (3,1,2,0)", [=] { return sn::permute(four, {3, 1, 2, 0}) * 2.f; }},
      {"sum(x, axis=0)", [=] { return sn::sum(square, 0); }},
      {"sum(narrow, axis=0)", [=] { return sn::sum(narrow, 0); }},
      {"sum(4-D, (0, 2, 3))", [=] { return sn::sum(four, std::vector<std::int64_t>{0, 2, 3}); }},
      {"cumsum(x)", [=] { return sn::cumsum(ten); }},
      {"var(x)", [=] { return sn::var(flat); }},
      {"logsumexp(x)", [=] { return sn::logsumexp(flat); }},
      {"softmax(long rows)", [=] { return sn::softmax(sn::reshape(flat, {16, n / 16}), -1); }},
      {"argmax(x)", [=] { return sn::argmax(flat); }},
      {"argmax(a million)", [=] { return sn::argmax(million); }},
      {"cumsum(a million)", [=] { return sn::cumsum(million); }},
      {"cumprod(a million)", [=] { return sn::cumprod(million); }},
      {"cummax(a million)", [=] { return sn::cummax(million); }},
      {"sum(8, axis=1)", [=] { return sn::sum(sn::reshape(flat, {n / 8, 8}), -1); }},
      {"sum(16, axis=1)", [=] { return sn::sum(sn::reshape(flat, {n / 16, 16}), -1); }},
      {"sum(24, axis=1)", [=] { return sn::sum(ramp24, -1); }},
      {"max(24, axis=1)", [=] { return sn::max(ramp24, -1); }},
      {"softmax(24)", [=] { return sn::softmax(ramp24, -1); }},
      {"sum(48, axis=1)", [=] { return sn::sum(ramp48, -1); }},
      {"sum(100, axis=1)", [=] { return sn::sum(ramp100, -1); }},
      {"batch norm", [=] { return sn::relu((image - m) / sn::sqrt(v + 1e-5f) * g + b); }},
  };
}

}  // namespace

int main() {
  const auto all = cases();
  for (std::string name; std::getline(std::cin, name);) {
    const auto found = all.find(name);
    if (found == all.end()) {
      fmt::print(stderr, "bench_strided: no case '{}'\n", name);
      return 1;
    }
    const double time = bench::seconds([&] { sn::eval(found->second()); });
    fmt::print("{:.6f}\n", time * 1e3);
    std::fflush(stdout);
  }
}
