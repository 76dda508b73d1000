// Plans on disk, kept as kernels are: an entry of the disk cache for each plan of a structure. A plan that is read is compared by its whole key, checked as a
// plan file's is, and its kernels are made as any others: from their entries.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/disk_cache.hpp"
#include "engine/plan_check.hpp"

namespace sinter::engine {

/// A stored plan is found by these, and by the version of sinter.
struct StoredPlanKey {
  std::span<const std::uint64_t> structure;
  const Target* target;
  const PlanOptions* how;
  std::string tunings;  // Kernels::tuning_mark
};

/// Plans of one structure on disk, at most.
inline constexpr std::size_t kMostStoredPlans = 16;
/// The plans of a structure, in order, up to the first that is not there, cannot be believed or does not run here, or up to one that is `enough`.
std::vector<std::shared_ptr<const Planned>> load_plans(const StoredPlanKey& key, const PlanTerms& terms, Kernels& kernels,
                                                       const std::function<bool(const Planned&)>& enough = {});
void store_plan(const StoredPlanKey& key, std::size_t ordinal, const Planned& planned, cache::DiskCache& disk);

}  // namespace sinter::engine
