// Joins large families of groups over the same points into kernels at once.
#pragma once
#include <vector>

#include "fuse/group.hpp"
#include "fuse/step_order.hpp"

namespace sinter::fuse {

/// Joins groups that read the same values, run over the same axes and have equally many steps before them, so that none can depend on another: a hundred
/// outputs of one input, a layer of many values. Merging (merge.hpp) would find them in pairs, and build the growing kernel once for each pair.
void join_siblings(GroupBuilder& builder, const std::vector<FixedStep>& calls, std::vector<Group>& groups);

}  // namespace sinter::fuse
