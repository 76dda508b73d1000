// Vectors of 64 bytes, for the files matmul_{baseline,avx2,avx512}.cpp. Each file has its own copy, compiled for its own instructions.
#pragma once
#include <cstdint>

namespace sinter::kernels {
namespace {

/// A vector of 64 bytes, in as many registers as it needs. Unaligned may have any address.
template <class T> struct Lanes {
  typedef T Word __attribute__((vector_size(64)));
  typedef T Unaligned __attribute__((vector_size(64), aligned(1), may_alias));
  static constexpr std::int64_t kCount = 64 / static_cast<std::int64_t>(sizeof(T));
};

}  // namespace
}  // namespace sinter::kernels
