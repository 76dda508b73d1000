// Clocks and medians of the timings, and the cases of bench_cpu.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace bench {

inline double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}
inline double minimum(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

/// Runs each case whose name contains `only` on `threads` threads.
void run_cases(int threads, int rounds, const std::string& only);

}  // namespace bench
