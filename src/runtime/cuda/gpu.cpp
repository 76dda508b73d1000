#include "runtime/cuda/gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/memory_limit.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime::cuda {
namespace {

/// Returns whether a result is an error after which every later call of the process on this context fails.
bool is_sticky(Result r) {
  return r == result::illegal_address || r == result::launch_timeout || r == result::illegal_instruction || r == result::misaligned_address ||
         r == result::launch_failed || r == result::unknown || r == 710 /* assert */ || r == 714 /* hardware stack */ || r == 717 /* address space */ ||
         r == 718 /* program counter */ || r == 46 /* device unavailable */ || r == 214 /* uncorrectable ECC error */;
}

}  // namespace

bool is_of_binary(Result r) {
  return r == result::invalid_image || r == result::no_binary_for_gpu || r == result::invalid_ptx || r == result::jit_compiler_not_found ||
         r == result::unsupported_ptx_version || r == result::jit_compilation_disabled || r == result::not_found;
}

std::string_view advice_for(Result r) {
  switch (r) {
    case result::out_of_memory: return "free tensors that are no longer needed, or compute in smaller pieces";
    case result::launch_out_of_resources: return "the kernel asks for more registers or shared memory than a block may have";
    case result::unsupported_ptx_version:
    case result::invalid_ptx:
    case result::invalid_image:
      return "if the driver is older than NVRTC, install a driver for its CUDA version, or name an NVRTC of the driver's in SINTER_NVRTC";
    case result::jit_compiler_not_found:
    case result::jit_compilation_disabled: return "the driver has no compiler for PTX (libnvidia-ptxjitcompiler): install NVIDIA's whole driver";
    case result::launch_timeout: return "the display's watchdog stopped it; use a GPU without a display, or smaller pieces";
    default: return "";
  }
}

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
  int clusters = 0;  // older drivers do not know this attribute
  info.clusters = api.active_clusters && api.device_attribute(&clusters, attribute::cluster_launch, device) == result::success && clusters != 0;
  check(api.device_memory(&info.memory, device), "its memory");
  check(api.driver_version(&info.driver_version), "the driver's version");
  return info;
}

namespace {
std::atomic<std::uint64_t> opened{0};
thread_local std::uint64_t current_gpu = 0;  // serial number of the Gpu whose context is current on this thread, as far as this code knows
}  // namespace

Result Gpu::make_current() const noexcept {
  if (current_gpu == serial_) return result::success;
  const Result r = api_.context_set(context_);
  if (r == result::success) current_gpu = serial_;
  return r;
}

void Gpu::fail_to_enter(Result r) const { throw DeviceError(fmt::format("{}: cannot use its context: {}", name(), api_.describe(r))); }

Gpu::Gpu(int ordinal) : api_(driver()), serial_(++opened), ordinal_number_(ordinal) {
  int count = 0;
  check(api_.device_count(&count), "counting the GPUs");
  if (count == 0) throw DeviceError(fmt::format("the CUDA driver {} finds no GPU", api_.path));
  if (ordinal < 0 || ordinal >= count)
    throw DeviceError(fmt::format("cuda:{} does not exist: there {} cuda:0{}", ordinal, count == 1 ? "is only" : "are",
                                  count == 1 ? "" : fmt::format(" to cuda:{}", count - 1)));
  info_ = device_info(api_, ordinal);
  if (info_.clusters) max_cluster_ = fuse::kLargestCluster;
  check(api_.device_get(&ordinal_, ordinal), "opening it");
  check(api_.context_retain(&context_, ordinal_), "opening its context");
  try {
    use();
    check(api_.stream_create(&stream_, kStreamNonBlocking), "making a stream");
    open_pool();
  } catch (...) {
    api_.context_release(ordinal_);
    throw;
  }
  log().debug("{}: {}, sm_{}, {} multiprocessors, {} MiB, driver for CUDA {}", name(), info_.name, info_.sm, info_.sm_count, info_.memory >> 20,
              info_.driver_version);
}

Gpu::~Gpu() {
  if (enter()) {
    api_.stream_synchronize(stream_);
    if (pool_) api_.pool_destroy(pool_);
    api_.stream_destroy(stream_);
  }
  api_.context_release(ordinal_);
}

std::string Gpu::name() const { return fmt::format("cuda:{}", ordinal_number_); }

/// Creates a pool that keeps freed memory. By default, freed memory would return to the system at every synchronisation. The device's default pool belongs to
/// the whole process and is not changed.
void Gpu::open_pool() {
  int supported = 0;
  if (api_.device_attribute(&supported, attribute::memory_pools, ordinal_) != result::success || !supported) return;
  if (!api_.pool_create || !api_.pool_destroy || !api_.pool_set || !api_.pool_trim || !api_.pool_allocate || !api_.pool_free) return;
  PoolProperties properties;
  properties.location = ordinal_;
  Pool pool = nullptr;
  if (api_.pool_create(&pool, &properties) != result::success) return;
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  if (api_.pool_set(pool, kPoolReleaseThreshold, &threshold) == result::success) pool_ = pool;
  else api_.pool_destroy(pool);
}

Result Gpu::try_allocate(Address* address, std::size_t bytes) {
  return pool_ ? api_.pool_allocate(address, bytes, pool_, stream_) : api_.memory_allocate(address, bytes);
}

Address Gpu::allocate(std::size_t bytes) {
  use();
  claim_memory(bytes, name().c_str());
  const std::size_t asked = std::max<std::size_t>(bytes, 1);  // an empty tensor has an address, too
  Address address = 0;
  Result r = try_allocate(&address, asked);
  if (r == result::out_of_memory && pool_) {
    // Freed memory is available once the stream has passed the free. Memory that the pool holds may be of the wrong size, so the pool is trimmed.
    api_.stream_synchronize(stream_);
    api_.pool_trim(pool_, 0);
    r = try_allocate(&address, asked);
  }
  if (r != result::success) release_memory(bytes);
  check(r, [&] { return fmt::format("allocating {} ({} of {} are in use)", counted(bytes, "byte"), now_.load(), info_.memory); });
  const std::size_t now = now_ += bytes;
  for (std::size_t peak = peak_; peak < now && !peak_.compare_exchange_weak(peak, now);) {
  }
  return address;
}

void Gpu::release(Address address, std::size_t bytes) noexcept {
  now_ -= bytes;
  release_memory(bytes);
  if (!enter()) return;
  if (pool_) api_.pool_free(address, stream_);
  else api_.memory_free(address);
}

void Gpu::trim() {
  synchronize();
  if (pool_) check(api_.pool_trim(pool_, 0), "giving pooled memory back");
}

bool Gpu::lost() const {
  const std::scoped_lock lock(mutex_);
  return !lost_.empty();
}

void Gpu::have_no_room_for(int cluster) {
  for (int known = max_cluster_; known >= cluster && !max_cluster_.compare_exchange_weak(known, cluster / 2);) {
  }
  log().info("{}: the GPU has no room for clusters of {} blocks; rows are computed by smaller clusters, or read twice", name(), cluster);
}

void Gpu::synchronize(const char* doing) {
  use();
  std::uint64_t before;
  {
    const std::scoped_lock lock(mutex_);
    before = launches_;
  }
  check(api_.stream_synchronize(stream_), doing);
  const std::scoped_lock lock(mutex_);
  passed_ = std::max(passed_, before);
}

void Gpu::note_launches(std::span<const std::shared_ptr<const std::string>> kernels) {
  const std::scoped_lock lock(mutex_);
  for (const auto& kernel : kernels) launched_[launches_++ % kRemembered] = kernel;
}

/// Names the kernels that may have caused an error: all kernels that were launched since the last time that the device reported no error.
std::string Gpu::suspects() const {
  const std::uint64_t count = launches_ - passed_, named = std::min<std::uint64_t>(count, kRemembered);
  if (count == 0) return {};
  if (count == 1) return fmt::format("; the kernel at fault is {}", *launched_[(launches_ - 1) % kRemembered]);
  std::vector<std::string_view> names;
  for (std::uint64_t i = launches_ - named; i < launches_; ++i)
    if (const std::string_view name = *launched_[i % kRemembered]; std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  if (names.size() == 1 && named == count) return fmt::format("; the kernel at fault is {}, in one of its last {} launches", names[0], count);
  return fmt::format(
      "; at fault is one of the {} kernels launched since the device was last waited for{}: {}; CUDA_LAUNCH_BLOCKING=1 in the "
      "environment tells which",
      count, named < count ? fmt::format(", the last {} of which are", named) : "", fmt::join(names, ", "));
}

void Gpu::fail(Result r, const std::string& doing) {
  const std::scoped_lock lock(mutex_);
  if (r == result::invalid_context) current_gpu = 0;  // other code has changed the current context: the next call sets it again
  std::string message = fmt::format("{}: {}: {}", name(), doing, api_.describe(r));
  if (!lost_.empty()) {
    message += fmt::format("; the device was lost earlier: {}", lost_);
  } else if (is_sticky(r)) {
    message += suspects();
    lost_ = message;
    message += "; the device is lost to this process: continue on the CPU (device \"cpu\"), or restart the process";
  } else if (!advice_for(r).empty()) {
    message += fmt::format("; {}", advice_for(r));
  }
  if (r == result::out_of_memory) throw MemoryError(message);
  throw DeviceError(message);
}

}  // namespace sinter::runtime::cuda
