// Plans on disk, stored like kernels: each plan of a structure is an entry of the disk cache. When a plan is read, its complete key is compared, and it is
// checked like a plan file. Its kernels are made like any others, from their own entries.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/disk_cache.hpp"
#include "engine/plan_check.hpp"

namespace sinter::engine {

/// The key of a stored plan, together with the version of sinter.
struct StoredPlanKey {
  std::span<const std::uint64_t> structure;
  const Target* target;
  const PlanOptions* how;
  std::string tunings;  // Kernels::tuning_mark
};

/// The maximum number of plans of one structure on disk.
inline constexpr std::size_t kMaxStoredPlans = 16;
/// Returns the plans of a structure in order. Stops at the first plan that is missing, damaged or cannot run here, or after one for which `enough` is true.
std::vector<std::shared_ptr<const Planned>> load_plans(const StoredPlanKey& key, const PlanTerms& terms, Kernels& kernels,
                                                       const std::function<bool(const Planned&)>& enough = {});
void store_plan(const StoredPlanKey& key, std::size_t ordinal, const Planned& planned, cache::DiskCache& disk);

}  // namespace sinter::engine
