// Vectors of 64 bytes, for the files matmul_{baseline,avx2,avx512}.cpp. Each file has its own copy, compiled for its own instructions.
#pragma once
#include <cstdint>
#include <type_traits>

namespace sinter::kernels {
namespace {

/// A vector of 64 bytes, in as many registers as it needs. Unaligned may have any address.
template <class T> struct Lanes {
  typedef T Word __attribute__((vector_size(64)));
  typedef T Unaligned __attribute__((vector_size(64), aligned(1), may_alias));
  static constexpr std::int64_t kCount = 64 / static_cast<std::int64_t>(sizeof(T));
};

/// Calls work(the number of rows as a constant, the first row) for `count` rows from `row` on: four together, and the rest together.
template <class Work> void four_together(std::int64_t row, std::int64_t count, const Work& work) {
  for (; row + 4 <= count; row += 4) work(std::integral_constant<int, 4>(), row);
  switch (count - row) {
    case 1: return work(std::integral_constant<int, 1>(), row);
    case 2: return work(std::integral_constant<int, 2>(), row);
    case 3: return work(std::integral_constant<int, 3>(), row);
    default: return;
  }
}

}  // namespace
}  // namespace sinter::kernels
