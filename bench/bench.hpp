// The parts of bench_cpu: cases against memory's speed, and overheads that no size amortises.
#pragma once
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include <nlohmann/json.hpp>

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
nlohmann::json run_cases(int threads, int rounds, const std::string& only);

/// Measures the nanoseconds to record an op, the microseconds to repeat a small kernel and the milliseconds to compile.
nlohmann::json run_overheads();

}  // namespace bench
