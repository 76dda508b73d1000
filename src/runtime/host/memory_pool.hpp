// Host memory that is used again: a freed block goes to the list of its size class and serves the next request of that class, so
// that steady work neither calls the system nor touches fresh pages.
#pragma once
#include <array>
#include <cstddef>
#include <mutex>
#include <vector>

#include "runtime/executor.hpp"

namespace sinter::runtime {

class MemoryPool {
 public:
  MemoryPool();
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// 64-byte aligned, not cleared (SINTER_POISON: poison.hpp); at least one byte. Throws MemoryError naming the size when there is no more.
  void* take(std::size_t bytes);
  /// `bytes` as they were asked for.
  void give_back(void* block, std::size_t bytes) noexcept;
  /// Returns every unused block to the system.
  void trim() noexcept;

  /// Counts bytes as asked for, not as rounded up.
  MemoryUse use() const;
  void reset_peak();
  /// Nothing changes between the two, so that a child of fork finds the pool in order.
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }
  /// Bytes of unused blocks kept.
  std::size_t idle() const;

 private:
  void trim_locked() noexcept;

  mutable std::mutex mutex_;
  std::array<std::vector<void*>, 256> free_;  // by size class
  MemoryUse use_;
  std::size_t idle_ = 0;
  std::size_t idle_limit_;
};

}  // namespace sinter::runtime
