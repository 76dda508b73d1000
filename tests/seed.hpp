// The seed of random tests.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <random>

namespace sinter::testing {

/// $SINTER_TEST_SEED, which repeats a run; a new one each time without it.
inline std::uint32_t test_seed() {
  const char* fixed = std::getenv("SINTER_TEST_SEED");
  return fixed ? static_cast<std::uint32_t>(std::strtoul(fixed, nullptr, 10)) : std::random_device{}();
}

}  // namespace sinter::testing
