#include "trace/storage.hpp"

#include <atomic>
#include <cstdlib>

#include <fmt/format.h>

#include "sinter/errors.hpp"

namespace sinter::trace {
namespace {

std::atomic<std::size_t> now{0}, peak{0};

void count(std::size_t bytes) {
  const std::size_t sum = now += bytes;
  for (std::size_t highest = peak; highest < sum && !peak.compare_exchange_weak(highest, sum);) {
  }
}

}  // namespace

HostUse host_use() { return {now, peak}; }
void reset_host_peak() { peak = now.load(); }

std::shared_ptr<void> allocate_host(std::size_t bytes) {
  constexpr std::size_t kAlign = 64;
  constexpr std::size_t kLimit = std::size_t{1} << 62;
  const std::size_t rounded = bytes < kLimit ? (bytes + kAlign) / kAlign * kAlign : 0;
  void* memory = rounded == 0 ? nullptr : std::aligned_alloc(kAlign, rounded);
  if (memory == nullptr) throw DeviceError(fmt::format("out of host memory: {} bytes were asked for", bytes));
  count(bytes);
  return {memory, [bytes](void* block) {
            std::free(block);
            now -= bytes;
          }};
}

}  // namespace sinter::trace
