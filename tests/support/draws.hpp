// Random numbers of a test program: one sequence.
#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "seed.hpp"

namespace sinter::testing {

std::mt19937& numbers();
/// Returns an integer, both bounds included.
std::int64_t pick(std::int64_t low, std::int64_t high);
/// Returns the list in a random order. A test that stops when time_is_over() then tries other elements each time.
template <class List> List shuffled(List list) {
  std::shuffle(list.begin(), list.end(), numbers());
  return list;
}
std::vector<float> floats(std::size_t count, float low = -1, float high = 1);

}  // namespace sinter::testing
