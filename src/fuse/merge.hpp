// Merges groups over the same points into one kernel.
#pragma once
#include <vector>

#include "fuse/group.hpp"
#include "fuse/siblings.hpp"

namespace sinter::fuse {

struct MergeContext {
  GroupBuilder* builder;            // builds merged kernels
  std::vector<char>* in_memory;     // values that only one kernel uses are removed here; the builder refers to this list
  const std::vector<char>* wanted;  // the outputs
  const std::vector<FixedStep>* calls;
  std::vector<Refusal>* refused;  // receives merges that were tried and refused
};

/// Merges groups whose points are the same, independent of their order: siblings that read the same values, a group and one that depends on it, and a
/// pointwise group with a row group, over its rows or over its parallel points.
void merge_groups(const MergeContext& context, std::vector<Group>& groups);

}  // namespace sinter::fuse
