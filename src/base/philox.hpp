// Philox4x32-10, the counter-based random generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: ten rounds of a
// bijection of 128 bits, chosen by a key of 64. It is a template over a type X of unsigned 64-bit values that contain 32-bit words: a number, or a vector in a
// kernel that is being generated (jit/math/expression.hpp).
#pragma once
#include <cstdint>

namespace sinter {

template <class X> struct PhiloxBlock {
  X word[4];
};

inline std::uint64_t high_half(std::uint64_t x) { return x >> 32; }
inline std::uint64_t low_half(std::uint64_t x) { return x & 0xffffffffu; }
inline std::uint64_t joined_halves(std::uint64_t high, std::uint64_t low) { return high << 32 | low; }

template <class X> PhiloxBlock<X> philox_block(X c0, X c1, X c2, X c3, X k0, X k1) {
  constexpr std::int64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57, kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const X product0 = c0 * kMultiplier0, product1 = c2 * kMultiplier1;
    c0 = high_half(product1) ^ c1 ^ k0;
    c1 = low_half(product1);
    c2 = high_half(product0) ^ c3 ^ k1;
    c3 = low_half(product0);
    k0 = low_half(k0 + kWeyl0);
    k1 = low_half(k1 + kWeyl1);
  }
  return {{c0, c1, c2, c3}};
}

/// Computes the primitive philox: words 1 and 0 of the block whose counter is (counter, 0) under a key.
template <class X> X philox(const X& counter, const X& key, const X& zero) {
  const auto block = philox_block<X>(low_half(counter), high_half(counter), zero, zero, low_half(key), high_half(key));
  return joined_halves(block.word[1], block.word[0]);
}

}  // namespace sinter
