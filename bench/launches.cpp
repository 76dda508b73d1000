// Measures the cost of a repeated evaluation on a GPU for the host: driver calls and microseconds, with a driver that does nothing (null_driver.cpp). No
// values are read, for there are none. With an argument, only formulas run whose names contain it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "bench.hpp"
#include "sinter/freeze.hpp"
#include "sinter/sinter.hpp"

namespace sn = sinter;

int main(int count, char** arguments) {
  setenv("SINTER_DEVICE", "cuda", 1);
  setenv("SINTER_CUDA_DRIVER", NULL_DRIVER, 1);
  void* library = dlopen(NULL_DRIVER, RTLD_NOW);
  const auto calls = library ? reinterpret_cast<std::uint64_t (*)()>(dlsym(library, "null_driver_calls")) : nullptr;
  if (!calls) return fmt::print("no null driver: {}\n", dlerror()), 1;

  constexpr int kTimes = 2000, kRounds = 15;
  const auto report = [&](std::string_view what, const std::function<void()>& work) {
    if (count > 1 && what.find(arguments[1]) == what.npos) return;
    for (int k = 0; k < 100; ++k) work();
    std::vector<double> times;
    const std::uint64_t before = calls(), kernels_before = sn::counters().kernels_launched;
    for (int round = 0; round < kRounds; ++round)
      times.push_back(bench::seconds([&] {
                        for (int k = 0; k < kTimes; ++k) work();
                      }) /
                      kTimes * 1e6);
    const double each = static_cast<double>(calls() - before) / (kRounds * kTimes);
    const double kernels = static_cast<double>(sn::counters().kernels_launched - kernels_before) / (kRounds * kTimes);
    fmt::print("{:44} {:4.0f} kernels {:6.2f} driver calls  {:7.2f} us (min {:.2f}, {:.2f} a kernel)\n", what, kernels, each, bench::median(times),
               bench::minimum(times), bench::minimum(times) / kernels);
  };
  const sn::Tensor x = sn::contiguous(sn::arange(1 << 16).reshape({64, 1024}) * 1.f), gain = sn::contiguous(sn::arange(1024) * 1.f);
  sn::eval(x, gain);
  report("x * 2 + 1", [&] { sn::eval(x * 2.f + 1.f); });
  report("softmax of rows", [&] { sn::eval(sn::softmax(x, -1)); });
  report("layer_norm of rows", [&] { sn::eval(sn::layer_norm(x, gain, gain)); });
  report("three results of one kernel", [&] {
    const sn::Tensor m = x * 0.9f + 1.f, v = x * x * 0.1f, p = x - m / (sn::sqrt(v) + 1e-8f);
    sn::eval(m, v, p);
  });
  report("sum of everything", [&] { sn::eval(sn::sum(x)); });
  // Reduces columns, then rows, five times: each kernel depends on the one before.
  const auto chain = [](sn::Tensor y) {
    for (int k = 0; k < 5; ++k) y = sn::softmax(sn::softmax(y, 0), 1);
    return y;
  };
  const sn::Tensor small = sn::contiguous(sn::arange(64 * 96).reshape({64, 96}) * 1.f);
  sn::eval(small);
  report("softmax of columns and rows, five times", [&] { sn::eval(chain(small)); });
  const sn::Function frozen = sn::freeze(chain, {{sn::DType::float32, {64, 96}, "y"}});
  report("the same, frozen", [&] { (void)frozen(small); });
  const sn::Function one = sn::freeze([](const sn::Tensor& y) { return y * 2.f + 1.f; }, {{sn::DType::float32, {64, 1024}, "y"}});
  report("x * 2 + 1, frozen", [&] { (void)one(x); });
}
