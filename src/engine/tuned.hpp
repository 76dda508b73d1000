// Schedules that were measured to be faster than the chosen ones, kept in the disk cache: found by the kernel's structure, the device
// and sinter's own sources, then by the sizes' order of magnitude.
#pragma once
#include <optional>
#include <string>

#include "cache/disk_cache.hpp"
#include "jit/lower.hpp"

namespace sinter::engine {

/// Where a schedule was measured: another device, backend or number of threads is another place.
struct TuningPlace {
  std::string device;  // Device::model()
  std::string generator;
  bool interpreted = false;
};

/// The wish that makes of this kernel, as it is chosen to run, the one that was measured to be faster. What it looks at of the sizes leaves guards.
std::optional<jit::Wish> tuned_wish(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place);
/// `gain`: how many times faster.
void keep_tuned(cache::DiskCache& disk, const jit::Lowered& chosen, const TuningPlace& place, const jit::Wish& wish, double gain);
/// Tells apart what was kept so far from what is kept later; empty where there is nothing.
std::string tuning_mark(cache::DiskCache& disk);

}  // namespace sinter::engine
