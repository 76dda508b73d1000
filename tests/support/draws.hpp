// Random numbers of a test program: one sequence.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "seed.hpp"

namespace sinter::testing {

std::mt19937& numbers();
/// Returns an integer, both bounds included.
std::int64_t pick(std::int64_t low, std::int64_t high);
std::vector<float> floats(std::size_t count, float low = -1, float high = 1);

}  // namespace sinter::testing
