#include <bit>

#include "kernels/sorting/sort_network.hpp"

namespace sinter::kernels {
namespace {

/// Calls exchange(i, j) for pairs i < j of rows in turn, as Batcher's merge exchange compares them (Knuth, TAOCP 5.2.2, algorithm M). The pairs are known in
/// advance, so no branch depends on a key.
template <class Exchange> void network(std::int64_t length, const Exchange& exchange) {
  if (length < 2) return;
  const auto top = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(length))) / 2;
  for (std::int64_t p = top; p > 0; p /= 2)
    for (std::int64_t q = top, rest = 0, distance = p;; q /= 2, rest = p) {
      // Visits all i < length - distance whose bit p is that of `rest`: runs of p neighbours.
      for (std::int64_t run = rest; run < length - distance; run += 2 * p)
        for (std::int64_t i = run; i < run + p && i < length - distance; ++i) exchange(i, i + distance);
      if (q == p) break;
      distance = q - p;
    }
}

template <class Key> void sort_keys(Key* keys, std::int64_t length) {
  constexpr std::int64_t kLanes = 64 / static_cast<std::int64_t>(sizeof(Key));
  network(length, [keys](std::int64_t i, std::int64_t j) {
    Key* __restrict low = keys + i * kLanes, * __restrict high = keys + j * kLanes;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const Key a = low[lane], b = high[lane];
      low[lane] = a < b ? a : b;
      high[lane] = a < b ? b : a;
    }
  });
}

#if defined(__AVX2__)
#if defined(__AVX512F__)
constexpr int kRegister = 64;
#else
constexpr int kRegister = 32;
#endif

/// Keeps keys and positions in registers explicitly, because the compiler generates branches for a plain loop.
void sort_places(std::uint64_t* keys, std::uint64_t* places, std::int64_t length) {
  typedef std::uint64_t Register __attribute__((vector_size(kRegister), may_alias));
  auto* const key = reinterpret_cast<Register*>(keys);
  auto* const place = reinterpret_cast<Register*>(places);
  constexpr std::int64_t kParts = 64 / kRegister;
  network(length, [key, place](std::int64_t i, std::int64_t j) {
    for (std::int64_t low = i * kParts, high = j * kParts; low < (i + 1) * kParts; ++low, ++high) {
      const Register a = key[low], b = key[high], c = place[low], d = place[high];
      const auto stay = (a < b) | ((a == b) & (c < d));
      key[low] = stay ? a : b;
      key[high] = stay ? b : a;
      place[low] = stay ? c : d;
      place[high] = stay ? d : c;
    }
  });
}
#else
constexpr decltype(SortNetworks::places) sort_places = nullptr;  // comparisons of 64 bits would take many instructions
#endif

}  // namespace

SortNetworks SINTER_SORT_NETWORKS() { return {sort_keys<std::uint32_t>, sort_keys<std::uint64_t>, sort_places}; }

}  // namespace sinter::kernels
