// Highway's vectorised quicksort of unsigned numbers.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// A number of 128 bits.
struct alignas(16) WideKey {
  std::uint64_t low, high;
  bool operator<(const WideKey& other) const { return high != other.high ? high < other.high : low < other.low; }
};

/// Sorts n numbers in place.
void quicksort(std::uint32_t* keys, std::int64_t n);
void quicksort(std::uint64_t* keys, std::int64_t n);
void quicksort(WideKey* keys, std::int64_t n);

}  // namespace sinter::kernels
