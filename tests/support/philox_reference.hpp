// Philox4x32-10 for the tests, written from its paper and independent of src/base/philox.hpp.
#pragma once
#include <array>
#include <cstdint>

namespace sinter::testing {

inline std::array<std::uint32_t, 4> philox_reference(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{counter[0]} * 0xD2511F53u, right = std::uint64_t{counter[2]} * 0xCD9E8D57u;
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    counter = {high(right) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(right), high(left) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(left)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return counter;
}

/// Returns the primitive's result: words 1 and 0.
inline std::uint64_t philox_reference(std::uint64_t counter, std::uint64_t key) {
  const auto word = [](std::uint64_t x, int k) { return static_cast<std::uint32_t>(x >> 32 * k); };
  const auto block = philox_reference({word(counter, 0), word(counter, 1), 0, 0}, {word(key, 0), word(key, 1)});
  return std::uint64_t{block[1]} << 32 | block[0];
}

}  // namespace sinter::testing
