// Random numbers of a test program: one sequence, whose seed is printed.
#pragma once
#include <doctest/doctest.h>

#include <cstdint>
#include <random>

#include "seed.hpp"

namespace sinter::testing {

inline std::mt19937& numbers() {
  static std::mt19937 rng = [] {
    const auto seed = test_seed();
    MESSAGE("SINTER_TEST_SEED=" << seed);
    return std::mt19937(seed);
  }();
  return rng;
}
/// Returns an integer, both bounds included.
inline std::int64_t pick(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(numbers()); }

}  // namespace sinter::testing
