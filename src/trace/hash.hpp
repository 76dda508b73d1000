// Hashing of several numbers into one, the same in every run.
#pragma once
#include <cstdint>

namespace sinter {

inline std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

}  // namespace sinter
