// A lock for a few copies, in four bytes: free, it is taken by one instruction and given back by a store.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>

namespace sinter {

/// The number of this process among its forefathers, from 1: a child of fork counts one more (engine/).
inline std::atomic<std::uint32_t> process_generation{1};

/// Held for a few copies: nobody sleeps for it. A child of fork takes over what other threads of its parent held while they recorded:
/// they only read under it (evaluations are over before a fork), and are not there to give it back.
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
  /// Gives up after some looks, for those who hold other locks already.
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
  std::atomic<std::uint32_t> holder_{0};  // the generation of the process that holds it; 0: free
};

}  // namespace sinter
