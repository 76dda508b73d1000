// A lock of four bytes for short sections that only copy. Without contention, one instruction locks it and one store unlocks it.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

namespace sinter {

/// The number of this process among its ancestors, from 1: a child of fork has the next number (engine/).
inline std::atomic<std::uint32_t> process_generation{1};

/// A lock held only while copying: waiting threads do not sleep. A child of fork takes over the locks that other threads of its parent held while recording:
/// these threads only read under them (evaluations end before a fork), and do not exist in the child to release them.
class SpinLock {
 public:
  void lock() {
    const std::uint32_t mine = process_generation.load(std::memory_order_relaxed);
    for (std::uint32_t held = 0; !holder_.compare_exchange_weak(held, mine, std::memory_order_acquire, std::memory_order_relaxed);) {
      if (held == mine) {
        std::this_thread::yield();
        held = 0;
      }
    }
  }
  /// Tries a few times and then returns false, for callers that already hold other locks.
  bool try_lock() {
    const std::uint32_t mine = process_generation.load(std::memory_order_relaxed);
    std::uint32_t held = 0;
    for (int looks = 0; looks < 1000; ++looks) {
      if (held == mine) held = 0;
      if (holder_.compare_exchange_weak(held, mine, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void unlock() { holder_.store(0, std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> holder_{0};  // the generation of the process that holds the lock; 0: free
};

}  // namespace sinter
