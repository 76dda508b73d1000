#include "kernels/sorting/quicksort.hpp"

#include <hwy/contrib/sort/vqsort.h>

namespace sinter::kernels {
namespace {

template <class Key> void sort(Key* keys, std::int64_t n) { hwy::Sorter()(keys, static_cast<std::size_t>(n), hwy::SortAscending()); }

}  // namespace

void quicksort(std::uint32_t* keys, std::int64_t n) { sort(keys, n); }
void quicksort(std::uint64_t* keys, std::int64_t n) { sort(keys, n); }
void quicksort(WideKey* keys, std::int64_t n) {
  static_assert(sizeof(WideKey) == sizeof(hwy::uint128_t) && alignof(WideKey) >= alignof(hwy::uint128_t));  // the low half is first in both types
  sort(reinterpret_cast<hwy::uint128_t*>(keys), n);
}

}  // namespace sinter::kernels
