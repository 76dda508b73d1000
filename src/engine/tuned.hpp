// Schedules that were measured to be faster than the chosen ones, in the disk cache. The key consists of the kernel's structure, the device, sinter's sources
// and the order of magnitude of the sizes.
#pragma once
#include <optional>
#include <string>

#include "cache/disk_cache.hpp"
#include "jit/lower.hpp"

namespace sinter::engine {

/// The place where a schedule was measured. Another device, backend or number of threads is another place.
struct TuningPlace {
  std::string device;  // Device::model()
  std::string generator;
  bool interpreted = false;
};

/// Returns the override that turns this kernel's chosen schedule into the faster one. Its use of sizes leaves guards.
std::optional<jit::ScheduleOverride> tuned_override(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place);
/// `gain`: how many times faster.
void keep_tuned(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place, const jit::ScheduleOverride& overrides, double gain);
/// Returns a text that changes when schedules are stored; empty if there are no schedules.
std::string tuning_mark(cache::DiskCache& disk);

}  // namespace sinter::engine
