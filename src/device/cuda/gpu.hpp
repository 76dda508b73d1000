// One GPU as this process holds it: its primary context, a stream, its memory pool, and what went wrong on it. Buffers
// and kernels share it, so that it goes only after the last of them.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/driver.hpp"

namespace sinter::device::cuda {

class Gpu {
 public:
  explicit Gpu(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Makes the context current on this thread for its lifetime.
  class Current {
   public:
    explicit Current(const Gpu& gpu);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Driver& api_;
    bool pushed_ = false;
  };

  /// For destructors: makes the context current (undone by api().context_pop) unless the driver refuses.
  bool enter() const noexcept { return api_.context_push(context_) == result::success; }

  Address allocate(std::size_t bytes);
  void release(Address address, std::size_t bytes) noexcept;
  void trim();
  MemoryUse memory() const { return {now_.load(), peak_.load()}; }
  void reset_peak() { peak_ = now_.load(); }

  /// Turns any result but success into a DeviceError that says what was being done and what can be done about it.
  void check(Result r, const std::string& doing);
  /// Remembers whom to name when the device fails later: launches are asynchronous.
  void note_launch(const std::string& kernel);

  const Driver& api() const { return api_; }
  const CudaInfo& info() const { return info_; }
  Stream stream() const { return stream_; }
  std::string name() const;

 private:
  void open_pool();
  Result try_allocate(Address* address, std::size_t bytes);

  const Driver& api_;
  const int ordinal_number_;
  Ordinal ordinal_ = 0;
  CudaInfo info_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  Pool pool_ = nullptr;
  std::atomic<std::size_t> now_{0}, peak_{0};
  std::mutex mutex_;  // guards the two below
  std::string last_kernel_, lost_;
};

/// What the driver tells about a device.
CudaInfo device_info(const Driver& api, int ordinal);

}  // namespace sinter::device::cuda
