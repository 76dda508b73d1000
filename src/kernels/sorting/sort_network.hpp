// Sorts many short columns at once, one in each lane. The files sort_network_{baseline,avx2,avx512}.cpp each compile sort_network.inl with other instructions
// allowed.
#pragma once
#include <cstdint>

namespace sinter::kernels {

/// Sorts `length` rows of 64 bytes of keys: each lane sorts one column in ascending order, and all columns use the same sequence of comparisons. If `places` is
/// not null, positions are moved with the keys, and of equal keys the one with the smaller position comes first. Memory is aligned to 64 bytes.
struct SortNetworks {
  void (*keys32)(std::uint32_t* keys, std::int64_t length);
  void (*keys64)(std::uint64_t* keys, std::int64_t length);
  void (*places)(std::uint64_t* keys, std::uint64_t* places, std::int64_t length);
};
SortNetworks sort_networks_baseline();
SortNetworks sort_networks_avx2();
SortNetworks sort_networks_avx512();

}  // namespace sinter::kernels
