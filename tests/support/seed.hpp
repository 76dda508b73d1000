// The seeds of random tests.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace sinter::testing {

/// Returns $SINTER_TEST_SEED, which repeats a run of a test program, or else a new seed. It is printed to stderr.
inline std::uint32_t test_seed() {
  static const std::uint32_t seed = [] {
    const char* fixed = std::getenv("SINTER_TEST_SEED");
    const std::uint32_t chosen = fixed ? static_cast<std::uint32_t>(std::strtoul(fixed, nullptr, 10)) : std::random_device{}();
    std::fprintf(stderr, "SINTER_TEST_SEED=%u\n", chosen);
    return chosen;
  }();
  return seed;
}

/// Returns another seed for each call; all follow from test_seed().
inline std::uint32_t fresh_seed() {
  static std::uint32_t calls = 0;
  return test_seed() + 0x9e3779b9u * ++calls;
}

}  // namespace sinter::testing
