// A pool of host memory. A freed block is put in the list of its size class and used for the next request of that class, so that repeated work neither calls
// the system nor needs new pages.
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

  /// Returns at least one byte, 64-byte aligned and not cleared (SINTER_POISON: poison.hpp). Throws MemoryError with the size if there is no memory.
  void* take(std::size_t bytes);
  /// Takes a block back. `bytes`: the size that was requested from take().
  void give_back(void* block, std::size_t bytes) noexcept;
  /// Returns every unused block to the system.
  void trim() noexcept;

  /// Returns the bytes in use, counting requested sizes and not rounded ones.
  MemoryUse use() const;
  void reset_peak();
  /// Locks and unlocks the pool. The pool does not change between the two calls, so that a child of fork finds consistent data.
  void hold() { mutex_.lock(); }
  void release() { mutex_.unlock(); }

 private:
  void trim_locked() noexcept;

  mutable std::mutex mutex_;
  std::array<std::vector<void*>, 256> free_;  // by size class
  MemoryUse use_;
  std::size_t idle_ = 0;
  std::size_t idle_limit_;
};

}  // namespace sinter::runtime
