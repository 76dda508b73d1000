// Hashing of several numbers into one, the same in every run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace sinter {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

/// Two hashes that are mixed in different ways: wide enough to stand for what was hashed. Of 2^32 different structures, more than a
/// process ever meets, two are taken for one with a chance of 2^-65.
struct Hash128 {
  std::uint64_t a = 0, b = 0;
  void add(std::uint64_t value) { add(value, value); }
  void add(std::uint64_t for_a, std::uint64_t for_b) {
    a = mix(a, for_a);
    b = ((b << 23 | b >> 41) ^ for_b) * 0xc2b2ae3d27d4eb4fu;
    b ^= b >> 31;
  }
  void add(const Hash128& other) { add(other.a, other.b); }
  void add(std::string_view text) {
    for (const char c : text) add(static_cast<unsigned char>(c));
    add(text.size());
  }
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

}  // namespace sinter

template <> struct std::hash<sinter::Hash128> {
  std::size_t operator()(const sinter::Hash128& value) const { return value.a ^ value.b; }
};
