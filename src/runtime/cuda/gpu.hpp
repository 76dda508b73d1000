// One GPU in this process: its primary context, a stream, its memory pool, and its errors. Buffers and kernels share the ownership of a Gpu, so that it
// is destroyed after the last of them.
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/driver.hpp"

namespace sinter::runtime::cuda {

class Gpu {
 public:
  explicit Gpu(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  /// Makes the context current on this thread. It stays current, so the next call costs nothing.
  void use() const {
    if (const Result r = make_current()) fail_to_enter(r);
  }
  /// Does the same for destructors: returns false, and does not throw, if the driver refuses.
  bool enter() const noexcept { return make_current() == result::success; }

  Address allocate(std::size_t bytes);
  void release(Address address, std::size_t bytes) noexcept;
  void trim();
  bool lost() const;
  MemoryUse memory() const { return {now_.load(), peak_.load()}; }
  void reset_peak() { peak_ = now_.load(); }

  /// Waits for all work that was launched.
  void synchronize(const char* doing = "waiting for it");
  /// Turns any result but success into a DeviceError. The message names the action that failed (a text, or a function that returns one) and advice.
  template <class Doing> void check(Result r, const Doing& doing) {
    if (r == result::success) return;
    if constexpr (std::is_invocable_v<Doing>) fail(r, doing());
    else fail(r, doing);
  }
  /// Stores the names of these kernels for later errors, because launches are asynchronous.
  void note_launches(std::span<const std::shared_ptr<const std::string>> kernels);

  /// Returns the maximum number of blocks of a cluster. After a cluster had no room, it is less than the device reports.
  int max_cluster() const { return max_cluster_; }
  void have_no_room_for(int cluster);

  const Driver& api() const { return api_; }
  const CudaInfo& info() const { return info_; }
  Stream stream() const { return stream_; }
  std::string name() const;

 private:
  [[noreturn]] void fail(Result r, const std::string& doing);
  [[noreturn]] void fail_to_enter(Result r) const;
  Result make_current() const noexcept;
  std::string suspects() const;
  void open_pool();
  Result try_allocate(Address* address, std::size_t bytes);

  static constexpr std::size_t kRemembered = 32;

  const Driver& api_;
  const std::uint64_t serial_;  // number of this Gpu among all that the process has opened
  const int ordinal_number_;
  Ordinal ordinal_ = 0;
  CudaInfo info_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  Pool pool_ = nullptr;
  std::atomic<std::size_t> now_{0}, peak_{0};
  std::atomic<int> max_cluster_{1};
  mutable std::mutex mutex_;                                              // guards the members below
  std::array<std::shared_ptr<const std::string>, kRemembered> launched_;  // the names of the last kernels, in a ring
  std::uint64_t launches_ = 0, passed_ = 0;                               // how many kernels were launched, and how many of them certainly ended without error
  std::string lost_;
};

/// Returns whether a result means that this driver or device does not accept a binary, and not that the device failed.
bool is_of_binary(Result r);
/// Returns advice for a result, or an empty text.
std::string_view advice_for(Result r);

/// Asks the driver for a device's properties.
CudaInfo device_info(const Driver& api, int ordinal);

}  // namespace sinter::runtime::cuda
