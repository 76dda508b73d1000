// Random numbers of a test program: one sequence.
#pragma once
#include <concepts>
#include <cstdint>
#include <random>
#include <vector>

#include "seed.hpp"

namespace sinter::testing {

inline std::mt19937& numbers() {
  static std::mt19937 rng(test_seed());
  return rng;
}
/// Returns an integer, both bounds included.
inline std::int64_t pick(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(numbers()); }

inline std::vector<float> floats(std::integral auto count, float low = -1, float high = 1) {
  std::vector<float> list(static_cast<std::size_t>(count));
  for (float& x : list) x = std::uniform_real_distribution<float>(low, high)(numbers());
  return list;
}

}  // namespace sinter::testing
