#include "trace/storage.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "sinter/errors.hpp"

namespace sinter::trace {

std::shared_ptr<void> allocate_host(std::size_t bytes) {
  constexpr std::size_t kAlign = 64;
  constexpr std::size_t kLimit = std::size_t{1} << 62;
  const std::size_t rounded = bytes < kLimit ? (bytes + kAlign) / kAlign * kAlign : 0;
  void* memory = rounded == 0 ? nullptr : std::aligned_alloc(kAlign, rounded);
  if (memory == nullptr) throw DeviceError(fmt::format("out of host memory: {} bytes were asked for", bytes));
  return {memory, std::free};
}

}  // namespace sinter::trace
