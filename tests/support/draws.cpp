#include "draws.hpp"

#include <numeric>

namespace sinter::testing {

std::mt19937& numbers() {
  static std::mt19937 rng(test_seed());
  return rng;
}
std::int64_t pick(std::int64_t low, std::int64_t high) { return std::uniform_int_distribution<std::int64_t>(low, high)(numbers()); }

std::vector<std::int64_t> integers(std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(high - low + 1));
  std::iota(all.begin(), all.end(), low);
  return all;
}

std::vector<float> floats(std::size_t count, float low, float high) {
  std::vector<float> list(count);
  for (float& x : list) x = std::uniform_real_distribution<float>(low, high)(numbers());
  return list;
}

}  // namespace sinter::testing
