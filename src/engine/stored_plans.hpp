// Plans on disk, kept as kernels are: an entry of the disk cache for each plan of a structure. A plan that is read is compared by its whole key, checked as a
// plan file's is, and its kernels are made as any others: from their entries.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "cache/disk_cache.hpp"
#include "engine/plan_check.hpp"

namespace sinter::engine {

/// What a plan depends on, beside the version of sinter.
struct StoredPlanKey {
  std::span<const std::uint64_t> structure;
  const Target* target;
  const PlanOptions* how;
  std::string tunings;  // Kernels::tuning_mark
};

/// Plan number `ordinal` of a structure; null where there is none, or none that can be believed or run here.
std::shared_ptr<const Planned> load_plan(const StoredPlanKey& key, int ordinal, const PlanTerms& terms, Kernels& kernels);
void store_plan(const StoredPlanKey& key, int ordinal, const Planned& planned, cache::DiskCache& disk);

}  // namespace sinter::engine
