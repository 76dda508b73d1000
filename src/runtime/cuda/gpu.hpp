// One GPU as this process holds it: its primary context, a stream, its memory pool, and what went wrong on it. Buffers
// and kernels share it, so that it goes only after the last of them.
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

  /// Makes the context current on this thread, where it stays: the next call finds it so.
  void use() const {
    if (const Result r = make_current()) fail_to_enter(r);
  }
  /// The same for destructors: false where the driver refuses.
  bool enter() const noexcept { return make_current() == result::success; }

  Address allocate(std::size_t bytes);
  void release(Address address, std::size_t bytes) noexcept;
  void trim();
  bool lost() const;
  MemoryUse memory() const { return {now_.load(), peak_.load()}; }
  void reset_peak() { peak_ = now_.load(); }

  /// Waits for all that was launched.
  void synchronize(const char* doing = "waiting for it");
  /// Turns any result but success into a DeviceError that says what was being done (a text, or a function that makes one) and what can be
  /// done about it.
  template <class Doing> void check(Result r, const Doing& doing) {
    if (r == result::success) return;
    if constexpr (std::is_invocable_v<Doing>) fail(r, doing());
    else fail(r, doing);
  }
  /// Remembers whom to name when the device fails later: launches are asynchronous.
  void note_launches(std::span<const std::shared_ptr<const std::string>> kernels);

  /// Blocks of a cluster, at most: fewer than the device promises once it had no room for one.
  int most_of_cluster() const { return most_of_cluster_; }
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
  const std::uint64_t serial_;  // of this Gpu among all that the process ever opened
  const int ordinal_number_;
  Ordinal ordinal_ = 0;
  CudaInfo info_;
  Context context_ = nullptr;
  Stream stream_ = nullptr;
  Pool pool_ = nullptr;
  std::atomic<std::size_t> now_{0}, peak_{0};
  std::atomic<int> most_of_cluster_{1};
  mutable std::mutex mutex_;                                              // guards what follows
  std::array<std::shared_ptr<const std::string>, kRemembered> launched_;  // the names of the last kernels, in a ring
  std::uint64_t launches_ = 0, passed_ = 0;                               // how many were launched, and how many of them surely ended well
  std::string lost_;
};

/// Whether a result tells of a binary that this driver or device does not take, rather than of the device.
bool is_of_binary(Result r);
/// What can be done about a result, or nothing.
std::string_view advice_for(Result r);

/// What the driver tells about a device.
CudaInfo device_info(const Driver& api, int ordinal);

}  // namespace sinter::runtime::cuda
