#include "runtime/opencl/devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "sinter/errors.hpp"

namespace sinter::runtime::opencl {
namespace {

/// The maximum number of bytes of a row that a block stages in local memory. (A CPU reports megabytes of its caches as local memory.)
constexpr std::size_t kMaxStaged = 128 << 10;

template <class T> T number(DeviceId id, unsigned what) {
  T value{};
  return driver().device_info(id, what, sizeof value, &value, nullptr) == result::success ? value : T{};
}
std::string text(DeviceId id, unsigned what) {
  char value[256] = {};
  if (driver().device_info(id, what, sizeof value - 1, value, nullptr) != result::success) return {};
  std::string all(value);
  return all.substr(0, all.find_last_not_of(' ') + 1);
}

std::string why_unusable(DeviceId id, const Found& found, std::size_t threads) {
  if (!number<unsigned>(id, device_info::compiler)) return "its driver has no compiler";
  if (!(number<Flags>(id, device_info::svm) & kCoarseSvm)) return "it has no shared virtual memory (OpenCL 2.0)";
  if (number<unsigned>(id, device_info::address_bits) != 64) return "its addresses do not have 64 bits";
  if (threads < 256) return fmt::format("its work-groups have at most {} items, but 256 are needed", threads);
  if (found.local_bytes < 32 << 10) return fmt::format("its work-groups have {} bytes of local memory, but 32768 are needed", found.local_bytes);
  return {};
}

/// Corrects the model of all OpenCL devices by the properties of this one.
fuse::Limits limits_of(DeviceId id, const Found& found, std::size_t work_group) {
  fuse::Limits limits = fuse::opencl_limits();
  // The target contains the driver's version, because the driver is the compiler.
  limits.target = fmt::format("opencl: {}, driver {}", found.name, found.driver);
  limits.threads = static_cast<int>(std::bit_floor(std::clamp<std::size_t>(work_group, 256, 1024)));
  // In addition to rows and parts, each thread has 8 bytes for values that it passes to other threads.
  const std::size_t local = std::max<std::size_t>(found.local_bytes, 32 << 10) - static_cast<std::size_t>(limits.threads) * 8;
  limits.shared_bytes = std::min(local, fuse::kStaticShared);
  limits.row_bytes = static_cast<std::int64_t>(std::min(local - fuse::kPartsBytes, kMaxStaged));
  limits.parameter_bytes = static_cast<int>(std::clamp<std::size_t>(number<std::size_t>(id, device_info::parameter_bytes), 1024, 1 << 15));
  limits.float64 = number<Flags>(id, device_info::double_config) != 0;
  limits.rounds_quotients = (number<Flags>(id, device_info::single_config) & kRoundsQuotients) != 0;
  limits.units = std::max(1, static_cast<int>(number<unsigned>(id, device_info::units)));
  limits.cache_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(number<std::uint64_t>(id, device_info::cache_bytes), 16 << 20));
  if (found.cpu) {
    const fuse::Limits host = fuse::cpu_limits();
    limits.bandwidth = host.bandwidth;
    limits.throughput = host.throughput;
    limits.launch_seconds = 20e-6;
  }
  return limits;
}

std::vector<Found> find_devices() {
  const Driver& api = driver();
  std::vector<Found> all;
  unsigned count = 0;
  if (api.platforms(0, nullptr, &count) != result::success) return all;
  std::vector<Platform> platforms(count);
  if (count == 0 || api.platforms(count, platforms.data(), nullptr) != result::success) return all;
  for (const Platform platform : platforms) {
    unsigned here = 0;
    if (api.devices(platform, kAnyDevice, 0, nullptr, &here) != result::success || here == 0) continue;
    std::vector<DeviceId> ids(here);
    if (api.devices(platform, kAnyDevice, here, ids.data(), nullptr) != result::success) continue;
    for (const DeviceId id : ids) {
      Found found;
      found.id = id;
      found.name = text(id, device_info::name);
      found.driver = text(id, device_info::driver_version);
      found.cpu = (number<Flags>(id, device_info::type) & kCpu) != 0;
      found.memory = number<std::uint64_t>(id, device_info::memory);
      found.local_bytes = number<std::uint64_t>(id, device_info::local_bytes);
      const auto threads = number<std::size_t>(id, device_info::work_group);
      found.unusable = why_unusable(id, found, threads);
      found.limits = limits_of(id, found, threads);
      all.push_back(std::move(found));
    }
  }
  const auto rank = [](const Found& found) { return number<Flags>(found.id, device_info::type) & kGpu ? 0 : found.cpu ? 2 : 1; };
  std::stable_sort(all.begin(), all.end(), [&](const Found& a, const Found& b) { return rank(a) < rank(b); });
  return all;
}

}  // namespace

Context Found::context() const {
  static auto& mutex = *new std::mutex;
  static auto& made = *new std::map<DeviceId, Context>;
  const std::scoped_lock lock(mutex);
  Context& context = made[id];
  Result r = result::success;
  if (!context) context = opencl::driver().create_context(nullptr, 1, &id, nullptr, nullptr, &r);
  if (!context) throw DeviceError(fmt::format("opencl: no context on {}: {}", name, describe(r)));
  return context;
}

const std::vector<Found>& devices() {
  static const auto& all = *[] {
    const auto* const found = new std::vector<Found>(find_devices());
    refuse_at_exit();
    return found;
  }();
  return all;
}

}  // namespace sinter::runtime::opencl
