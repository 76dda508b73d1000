// Groups over the same points become one kernel.
#pragma once
#include <vector>

#include "fuse/group.hpp"
#include "fuse/siblings.hpp"

namespace sinter::fuse {

struct MergeContext {
  GroupBuilder* builder;            // of merged kernels
  std::vector<char>* in_memory;     // what the builder refers to: a value that nobody else reads any more is taken out
  const std::vector<char>* wanted;  // outputs
  const std::vector<FixedStep>* calls;
  std::vector<Refusal>* refused;  // takes what was tried and refused
};

/// Merges groups whose points are the same points, whichever was found first: siblings that read the same, a group that waits for
/// another, a pointwise group with a row group over its rows or over its parallel points.
void merge_groups(const MergeContext& context, std::vector<Group>& groups);

}  // namespace sinter::fuse
