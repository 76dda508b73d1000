// Pinned memory of the host between the program's own and a GPU's. From memory that is not pinned the driver may wait for all that was launched before it
// copies; from this a copy is put on the stream like a kernel, and the next part is read meanwhile.
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

  /// Puts the copy on the GPU's stream; `from` has been read when this returns.
  void upload(Address to, const void* from, std::size_t bytes);
  /// The bytes have arrived when this returns.
  void download(void* to, Address from, std::size_t bytes);

 private:
  /// A part of the memory; the event comes when the copy from or to it is done.
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
  std::mutex mutex_;  // guards what follows
  void* memory_ = nullptr;
  std::array<Slot, kSlots> slots_;
  bool refused_ = false;  // the driver has none
};

}  // namespace sinter::runtime::cuda
