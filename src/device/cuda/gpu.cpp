#include "device/cuda/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sinter/errors.hpp"
#include "trace/log.hpp"

namespace sinter::device::cuda {
namespace {

/// After one of these every later call of the process fails on the context.
bool is_sticky(Result r) {
  return r == result::illegal_address || r == result::launch_timeout || r == result::illegal_instruction ||
         r == result::misaligned_address || r == result::launch_failed || r == result::unknown || r == 710 /* assert */ ||
         r == 714 /* hardware stack */ || r == 717 /* address space */ || r == 718 /* program counter */ ||
         r == 46 /* device unavailable */ || r == 214 /* uncorrectable ECC error */;
}

std::string_view advice(Result r) {
  switch (r) {
    case result::out_of_memory:
      return "free tensors that are no longer needed, or compute in smaller pieces";
    case result::launch_out_of_resources:
      return "the kernel asks for more registers or shared memory than a block may have";
    case result::launch_timeout:
      return "the display's watchdog stopped it; use a GPU without a display, or smaller pieces";
    default:
      return "";
  }
}

}  // namespace

CudaInfo device_info(const Driver& api, int ordinal) {
  const auto check = [&](Result r, const char* what) {
    if (r != result::success) throw DeviceError(fmt::format("cuda:{}: cannot read {}: {}", ordinal, what, api.describe(r)));
  };
  Ordinal device = 0;
  check(api.device_get(&device, ordinal), "the device");
  CudaInfo info;
  char name[256] = {};
  check(api.device_name(name, sizeof(name) - 1, device), "its name");
  info.name = name;
  int major = 0, minor = 0;
  check(api.device_attribute(&major, attribute::compute_major, device), "its architecture");
  check(api.device_attribute(&minor, attribute::compute_minor, device), "its architecture");
  info.sm = 10 * major + minor;
  check(api.device_attribute(&info.sm_count, attribute::multiprocessor_count, device), "its multiprocessor count");
  check(api.device_attribute(&info.shared_bytes, attribute::shared_opt_in, device), "its shared memory");
  check(api.device_memory(&info.memory, device), "its memory");
  check(api.driver_version(&info.driver_version), "the driver's version");
  return info;
}

Gpu::Current::Current(const Gpu& gpu) : api_(gpu.api_) {
  const Result r = api_.context_push(gpu.context_);
  if (r != result::success) throw DeviceError(fmt::format("{}: cannot use its context: {}", gpu.name(), api_.describe(r)));
  pushed_ = true;
}
Gpu::Current::~Current() {
  Context old = nullptr;
  if (pushed_) api_.context_pop(&old);
}

Gpu::Gpu(int ordinal) : api_(driver()), ordinal_number_(ordinal) {
  int count = 0;
  check(api_.device_count(&count), "counting the GPUs");
  if (count == 0) throw DeviceError(fmt::format("the CUDA driver {} finds no GPU", api_.path));
  if (ordinal < 0 || ordinal >= count)
    throw DeviceError(fmt::format("cuda:{} does not exist: there {} cuda:0{}", ordinal, count == 1 ? "is only" : "are",
                                  count == 1 ? "" : fmt::format(" to cuda:{}", count - 1)));
  info_ = device_info(api_, ordinal);
  check(api_.device_get(&ordinal_, ordinal), "opening it");
  check(api_.context_retain(&context_, ordinal_), "opening its context");
  try {
    const Current current(*this);
    check(api_.stream_create(&stream_, kStreamNonBlocking), "making a stream");
    open_pool();
  } catch (...) {
    api_.context_release(ordinal_);
    throw;
  }
  log().debug("{}: {}, sm_{}, {} multiprocessors, {} MiB, driver for CUDA {}", name(), info_.name, info_.sm, info_.sm_count,
              info_.memory >> 20, info_.driver_version);
}

Gpu::~Gpu() {
  Context old = nullptr;
  if (enter()) {
    api_.stream_synchronize(stream_);
    api_.stream_destroy(stream_);
    api_.context_pop(&old);
  }
  api_.context_release(ordinal_);
}

std::string Gpu::name() const { return fmt::format("cuda:{}", ordinal_number_); }

/// The pool keeps what is freed: by default it would give memory back to the system at every synchronisation.
void Gpu::open_pool() {
  int supported = 0;
  if (api_.device_attribute(&supported, attribute::memory_pools, ordinal_) != result::success || !supported) return;
  if (!api_.pool_default || !api_.pool_set || !api_.pool_trim || !api_.pool_allocate || !api_.pool_free) return;
  Pool pool = nullptr;
  if (api_.pool_default(&pool, ordinal_) != result::success) return;
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  if (api_.pool_set(pool, kPoolReleaseThreshold, &threshold) != result::success) return;
  pool_ = pool;
}

Result Gpu::try_allocate(Address* address, std::size_t bytes) {
  return pool_ ? api_.pool_allocate(address, bytes, stream_) : api_.memory_allocate(address, bytes);
}

Address Gpu::allocate(std::size_t bytes) {
  const Current current(*this);
  const std::size_t asked = std::max<std::size_t>(bytes, 1);  // an empty tensor has an address too
  Address address = 0;
  Result r = try_allocate(&address, asked);
  if (r == result::out_of_memory && pool_) {
    // Freed memory comes back when the stream has passed the free; what the pool holds may be of the wrong size.
    api_.stream_synchronize(stream_);
    api_.pool_trim(pool_, 0);
    r = try_allocate(&address, asked);
  }
  check(r, fmt::format("allocating {} bytes ({} in use of {})", bytes, now_.load(), info_.memory));
  const std::size_t now = now_ += bytes;
  for (std::size_t peak = peak_; peak < now && !peak_.compare_exchange_weak(peak, now);) {
  }
  return address;
}

void Gpu::release(Address address, std::size_t bytes) noexcept {
  now_ -= bytes;
  Context old = nullptr;
  if (!enter()) return;
  if (pool_) api_.pool_free(address, stream_);
  else api_.memory_free(address);
  api_.context_pop(&old);
}

void Gpu::trim() {
  const Current current(*this);
  check(api_.stream_synchronize(stream_), "waiting for it");
  if (pool_) check(api_.pool_trim(pool_, 0), "giving pooled memory back");
}

void Gpu::note_launch(const std::string& kernel) {
  const std::scoped_lock lock(mutex_);
  last_kernel_ = kernel;
}

void Gpu::check(Result r, const std::string& doing) {
  if (r == result::success) return;
  const std::scoped_lock lock(mutex_);
  std::string message = fmt::format("{}: {}: {}", name(), doing, api_.describe(r));
  if (!lost_.empty()) {
    message += fmt::format("; the device was lost earlier: {}", lost_);
  } else if (is_sticky(r)) {
    if (!last_kernel_.empty()) message += fmt::format("; the kernel launched last is {}", last_kernel_);
    lost_ = message;
    message += "; the device is lost to this process: nothing more can run on it, start the process again";
  } else if (!advice(r).empty()) {
    message += fmt::format("; {}", advice(r));
  }
  throw DeviceError(message);
}

}  // namespace sinter::device::cuda
