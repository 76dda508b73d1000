// Pinned host memory for copies between the program's memory and a GPU. For memory that is not pinned, the driver may wait for all earlier
// launches before it copies. A copy from pinned memory is enqueued like a kernel, and meanwhile the host fills the next part.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "runtime/cuda/gpu.hpp"

namespace sinter::runtime::cuda {

class Staging {
 public:
  explicit Staging(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Enqueues the copy on the GPU's stream. Returns when `from` has been read.
  void upload(Address to, const void* from, std::size_t bytes);
  /// Copies to the host. Returns when the bytes have arrived.
  void download(void* to, Address from, std::size_t bytes);

 private:
  /// A part of the pinned memory, and the event that marks the end of a copy from or to it.
  struct Slot {
    Event copied = nullptr;
    bool in_use = false;
  };
  static constexpr std::size_t kSlots = 4, kSlotBytes = std::size_t{1} << 20;

  std::unique_lock<std::mutex> take();
  bool make();
  void release() noexcept;
  char* memory_of(std::size_t slot) { return static_cast<char*>(memory_) + slot * kSlotBytes; }
  void put_event(Slot& slot);
  void wait_for(Slot& slot);

  std::shared_ptr<Gpu> gpu_;
  std::mutex mutex_;  // guards the members below
  void* memory_ = nullptr;
  std::array<Slot, kSlots> slots_;
  bool refused_ = false;  // the driver could not allocate pinned memory
};

}  // namespace sinter::runtime::cuda
