#include "runtime/host/memory_pool.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

#include "base/guarded_memory.hpp"
#include "base/memory_limit.hpp"
#include "runtime/poison.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kSmallest = 64;

/// Each power of two has four size classes, so at most a quarter of a block is unused.
struct SizeClass {
  int number;
  std::size_t bytes;
};
SizeClass size_class(std::size_t bytes) {
  bytes = std::max(bytes, kSmallest);
  const int power = std::bit_width(bytes - 1) - 1;  // 2^power < bytes <= 2^(power+1)
  const std::size_t base = std::size_t{1} << power, step = base / 4;
  const std::size_t steps = (bytes - base + step - 1) / step;
  return {4 * power + static_cast<int>(steps), (base + steps * step + 63) / 64 * 64};
}

/// Allocates from the system, large blocks in whole huge pages, because a page fault for each 4 KiB would cost as much as a pass over the data.
void* system_allocate(std::size_t bytes) {
  if (bytes < kHugePage) return std::aligned_alloc(64, bytes);
  const std::size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* raw = mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  char* begin = static_cast<char*>(raw);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + size, kHugePage - before);
  madvise(begin + before, size, MADV_HUGEPAGE);  // only a hint: without huge pages, the first access is slower
  return begin + before;
}
void system_free(void* block, std::size_t bytes) {
  if (bytes < kHugePage) std::free(block);
  else munmap(block, (bytes + kHugePage - 1) / kHugePage * kHugePage);
}

std::size_t class_bytes(int number) {
  const std::size_t base = std::size_t{1} << (number / 4);
  return (base + number % 4 * (base / 4) + 63) / 64 * 64;
}

}  // namespace

MemoryPool::MemoryPool() {
  const auto pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  idle_limit_ = pages > 0 && page > 0 ? static_cast<std::size_t>(pages) / 4 * static_cast<std::size_t>(page) : std::size_t{1} << 30;
}
MemoryPool::~MemoryPool() { trim_locked(); }

void* MemoryPool::take(std::size_t bytes) {
  constexpr std::size_t kLargest = std::size_t{1} << 62;
  claim_memory(bytes, "cpu");
  const Guard guard = guarding();
  void* block = nullptr;
  std::unique_lock lock(mutex_);
  if (guard != Guard::none) {
    block = allocate_guarded(bytes, guard);
  } else if (bytes <= kLargest) {
    const SizeClass sized = size_class(bytes);
    auto& list = free_[sized.number];
    if (!list.empty()) {
      block = list.back();
      list.pop_back();
      idle_ -= sized.bytes;
    } else {
      block = system_allocate(sized.bytes);
      if (!block) {
        trim_locked();
        block = system_allocate(sized.bytes);
      }
    }
  }
  if (!block) {
    release_memory(bytes);
    throw MemoryError(
        fmt::format("cpu: no memory for {} ({} in use); evaluate smaller tensors, or release "
                    "some that are no longer needed",
                    counted(bytes, "byte"), use_.now));
  }
  use_.now += bytes;
  use_.peak = std::max(use_.peak, use_.now);
  lock.unlock();
  poison(block, bytes);
  return block;
}

void MemoryPool::give_back(void* block, std::size_t bytes) noexcept {
  release_memory(bytes);
  const Guard guard = guarding();
  if (guard != Guard::none) free_guarded(block, bytes, guard);
  const SizeClass sized = size_class(bytes);
  const std::lock_guard lock(mutex_);
  use_.now -= bytes;
  if (guard != Guard::none) return;
  if (idle_ + sized.bytes <= idle_limit_) {
    try {
      free_[sized.number].push_back(block);
      idle_ += sized.bytes;
      return;
    } catch (const std::bad_alloc&) {  // there is no memory for the list, so the block is returned to the system
    }
  }
  system_free(block, sized.bytes);
}

void MemoryPool::trim() noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked();
}
void MemoryPool::trim_locked() noexcept {
  for (std::size_t number = 0; number < free_.size(); ++number) {
    for (void* block : free_[number]) system_free(block, class_bytes(static_cast<int>(number)));
    free_[number].clear();
  }
  idle_ = 0;
}

MemoryUse MemoryPool::use() const {
  const std::lock_guard lock(mutex_);
  return use_;
}
void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  use_.peak = use_.now;
}

}  // namespace sinter::runtime
