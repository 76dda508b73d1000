#include "kernels/sorting/quicksort.hpp"

#ifdef SINTER_HIGHWAY
#include <hwy/contrib/sort/vqsort.h>
#else
#include "sinter/errors.hpp"
#endif

namespace sinter::kernels {

#ifdef SINTER_HIGHWAY

bool has_quicksort() {
  static const bool vectors = __builtin_cpu_supports("avx2");
  return vectors;
}

namespace {

template <class Key> void sort(Key* keys, std::int64_t n) { hwy::Sorter()(keys, static_cast<std::size_t>(n), hwy::SortAscending()); }

}  // namespace

void quicksort(std::uint32_t* keys, std::int64_t n) { sort(keys, n); }
void quicksort(std::uint64_t* keys, std::int64_t n) { sort(keys, n); }
void quicksort(WideKey* keys, std::int64_t n) {
  static_assert(sizeof(WideKey) == sizeof(hwy::uint128_t) && alignof(WideKey) >= alignof(hwy::uint128_t));  // low half first, as here
  sort(reinterpret_cast<hwy::uint128_t*>(keys), n);
}

#else

namespace {

[[noreturn]] void missing() { throw InternalError("sort: this build has no Highway"); }

}  // namespace

bool has_quicksort() { return false; }
void quicksort(std::uint32_t*, std::int64_t) { missing(); }
void quicksort(std::uint64_t*, std::int64_t) { missing(); }
void quicksort(WideKey*, std::int64_t) { missing(); }

#endif

}  // namespace sinter::kernels
