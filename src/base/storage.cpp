#include "base/storage.hpp"

#include <atomic>

#include <fmt/format.h>

#include "base/guarded_memory.hpp"
#include "base/memory_limit.hpp"
#include "sinter/adopt.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter {
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
  claim_memory(bytes, "host");
  AlignedMemory memory = aligned_memory(bytes);
  if (!memory) {
    release_memory(bytes);
    throw MemoryError(fmt::format("out of host memory: no memory for {}", counted(bytes, "byte")));
  }
  count(bytes);
  return {memory.release(), [bytes](void* block) {
            FreeAligned{bytes}(block);
            now -= bytes;
            release_memory(bytes);
          }};
}

}  // namespace sinter
