// Plans on disk, stored like kernels: each plan of a structure is an entry of the disk cache. A plan that is read is compared by its whole key and checked as a
// plan file is. Its kernels are made like any others, from their own entries.
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
/// Returns the plans of a structure in order, up to the first that is missing, damaged or cannot run here, or up to one that is `enough`.
std::vector<std::shared_ptr<const Planned>> load_plans(const StoredPlanKey& key, const PlanTerms& terms, Kernels& kernels,
                                                       const std::function<bool(const Planned&)>& enough = {});
void store_plan(const StoredPlanKey& key, std::size_t ordinal, const Planned& planned, cache::DiskCache& disk);

}  // namespace sinter::engine
