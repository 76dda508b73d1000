#include "kernels/sorting/quicksort.hpp"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <memory>

namespace sinter::kernels {
namespace {

/// Returns whether quicksort takes several times as long for keys of 4 bytes as for 8. Highway before 1.0.5 compresses such keys to memory with AVX-512, one
/// instruction that Zen 4 executes in more than a hundred cycles (100,000 keys: 2.9 ms, keys of 8 bytes 0.8 ms).
bool widens_keys() {
#if defined(__x86_64__) && !defined(HWY_AVX3_ZEN4)
  static const bool zen4 = __builtin_cpu_is("amdfam19h") && __builtin_cpu_supports("avx512f");
  return zen4;
#else
  return false;
#endif
}

template <class Key> void sort(Key* keys, std::int64_t n) { hwy::Sorter()(keys, static_cast<std::size_t>(n), hwy::SortAscending()); }

}  // namespace

void quicksort(std::uint32_t* keys, std::int64_t n) {
  if (!widens_keys()) return sort(keys, n);
  const auto wide = std::make_unique_for_overwrite<std::uint64_t[]>(static_cast<std::size_t>(n));
  std::copy(keys, keys + n, wide.get());
  sort(wide.get(), n);
  std::copy(wide.get(), wide.get() + n, keys);
}
void quicksort(std::uint64_t* keys, std::int64_t n) { sort(keys, n); }
void quicksort(WideKey* keys, std::int64_t n) {
  static_assert(sizeof(WideKey) == sizeof(hwy::uint128_t) && alignof(WideKey) >= alignof(hwy::uint128_t));  // the low half is first in both types
  sort(reinterpret_cast<hwy::uint128_t*>(keys), n);
}

}  // namespace sinter::kernels
