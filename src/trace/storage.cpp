#include "trace/storage.hpp"

#include <atomic>
#include <cstdlib>

#include <fmt/format.h>

#include "sinter/errors.hpp"
#include "trace/guarded_memory.hpp"
#include "trace/memory_limit.hpp"

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
  claim_memory(bytes, "host");
  const Guard guard = guarding();
  void* memory = nullptr;
  if (bytes < kLimit) memory = guard == Guard::none ? std::aligned_alloc(kAlign, (bytes + kAlign) / kAlign * kAlign) : allocate_guarded(bytes, guard);
  if (memory == nullptr) {
    release_memory(bytes);
    throw MemoryError(fmt::format("out of host memory: {} bytes were asked for", bytes));
  }
  count(bytes);
  return {memory, [bytes, guard](void* block) {
            if (guard == Guard::none) std::free(block);
            else free_guarded(block, bytes, guard);
            now -= bytes;
            release_memory(bytes);
          }};
}

}  // namespace sinter::trace
