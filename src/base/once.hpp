// Work that is done once.
#pragma once
#include <atomic>
#include <mutex>

namespace sinter {

/// Does work once, at the first call, for which calls of other threads wait. If the work throws, the next call does it again. std::call_once would use
/// thread-local variables of libstdc++; our code expects these at a fixed offset (cmake/modules.cmake), where the loader cannot place them any more if another
/// library of the process has used them before.
class Once {
 public:
  template <class Work> void operator()(const Work& work) {
    if (done_.load(std::memory_order_acquire)) return;
    const std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    work();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace sinter
