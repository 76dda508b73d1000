// What the examples share: timing, checking against a plain reference, and saying what sinter did.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

#include "sinter/sinter.hpp"

namespace example {

/// Milliseconds of the fastest of `repeats` calls.
template <class Function>
double best_ms(int repeats, Function&& function) {
  double best = 1e300;
  for (int k = 0; k < repeats; ++k) {
    const auto begin = std::chrono::steady_clock::now();
    function();
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// Compares results with references and remembers whether all agreed.
class Checks {
 public:
  template <class Got, class Expected>
  void close(const char* what, std::span<const Got> got, std::span<const Expected> expected, double tolerance) {
    double worst = got.size() == expected.size() ? 0 : INFINITY;
    for (std::size_t k = 0; k < got.size() && k < expected.size(); ++k) {
      const double error = std::fabs(static_cast<double>(got[k]) - static_cast<double>(expected[k]));
      worst = error <= worst ? worst : error;  // a NaN does not pass
    }
    report(what, worst, tolerance);
  }
  void close(const char* what, double got, double expected, double tolerance) { report(what, std::fabs(got - expected), tolerance); }
  void holds(const char* what, bool condition) {
    std::printf("  %-44s %s\n", what, condition ? "ok" : "WRONG");
    good_ &= condition;
  }
  int exit_code() const { return good_ ? 0 : 1; }

 private:
  void report(const char* what, double error, double tolerance) {
    const bool ok = error <= tolerance;
    std::printf("  %-44s off by %.2e at most (allowed %.1e): %s\n", what, error, tolerance, ok ? "ok" : "WRONG");
    good_ &= ok;
  }
  bool good_ = true;
};

/// What was launched, compiled and found since the last call.
inline void print_counters() {
  static sinter::Counters before;
  const auto now = sinter::counters();
  const auto since = [](std::uint64_t a, std::uint64_t b) { return static_cast<unsigned long long>(a - b); };
  std::printf("  kernels: %llu launched, %llu compiled, %llu from disk; library calls: %llu; plans: %llu made, %llu reused; peak %.1f MB\n",
              since(now.kernels_launched, before.kernels_launched), since(now.kernels_compiled, before.kernels_compiled),
              since(now.kernels_from_disk, before.kernels_from_disk), since(now.library_calls, before.library_calls),
              since(now.plans_made, before.plans_made), since(now.plans_reused, before.plans_reused),
              static_cast<double>(now.bytes_peak) / 1e6);
  before = now;
}

/// main() of an example: an exception becomes a message and an exit status.
template <class Function>
int run(Function&& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

}  // namespace example
