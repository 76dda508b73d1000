// Helpers of the examples: they time, check against a plain reference, and print what sinter did.
#pragma once
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string_view>
#include <vector>

#include "sinter/sinter.hpp"

namespace example {

/// Returns the milliseconds of the fastest of `repeats` calls.
template <class Function> double best_ms(int repeats, Function&& function) {
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
  template <class Got, class Expected> void close(const char* what, std::span<const Got> got, std::span<const Expected> expected, double tolerance) {
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

/// Returns numbers between -1 and 1 that look random and are the same in NumPy: sin(0.7 k^2), k = seed, seed + 1, ... (bench/programs.py).
inline sinter::Tensor numbers(const sinter::Shape& shape, int seed, sinter::DType dtype = sinter::DType::float32) {
  const sinter::Tensor k = sinter::arange(sinter::element_count(shape)) + seed;
  sinter::Tensor values = sinter::sin(sinter::square(k) * 0.7).reshape(shape).astype(dtype);
  sinter::eval(values);
  return values;
}

/// Returns whether the sizes are large enough for timing, not only for testing.
inline bool full_size(int argc, char** argv) { return argc > 1 && std::string_view(argv[1]) == "--full"; }

/// Returns the program's result. Runs it again after its kernels are compiled, times it, and prints the time for bench/programs.py.
template <class Program> sinter::Tensor measured(const Program& program) {
  sinter::Tensor result = program();
  sinter::eval(result);
  sinter::synchronize();  // kernels may still be compiled in the background
  const auto before = sinter::counters();
  result = program();
  sinter::eval(result);
  const auto after = sinter::counters();
  const double ms = best_ms(5, [&] {
    result = program();
    sinter::eval(result);
  });
  const double checksum = sinter::mean(result.astype(sinter::DType::float64)).item<double>();
  std::printf("  measured: kernels=%llu library_calls=%llu ms=%.3f mean=%.9g\n",
              static_cast<unsigned long long>(after.kernels_launched - before.kernels_launched),
              static_cast<unsigned long long>(after.library_calls - before.library_calls), ms, checksum);
  return result;
}

/// Prints the launches, compiles and cache hits since the last call.
inline void print_counters() {
  static sinter::Counters before;
  const auto now = sinter::counters();
  const auto since = [](std::uint64_t a, std::uint64_t b) { return static_cast<unsigned long long>(a - b); };
  std::printf("  kernels: %llu launched, %llu compiled, %llu from disk; library calls: %llu; plans: %llu made, %llu reused; peak %.1f MB\n",
              since(now.kernels_launched, before.kernels_launched), since(now.kernels_compiled, before.kernels_compiled),
              since(now.kernels_from_disk, before.kernels_from_disk), since(now.library_calls, before.library_calls), since(now.plans_made, before.plans_made),
              since(now.plans_reused, before.plans_reused), static_cast<double>(now.bytes_peak) / 1e6);
  before = now;
}

/// main() of an example: an exception becomes a message and an exit status.
template <class Function> int run(Function&& function) {
  try {
    return function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  }
}

}  // namespace example
