// Large families of groups over the same points become kernels at once.
#pragma once
#include <vector>

#include "fuse/group.hpp"
#include "fuse/step_order.hpp"

namespace sinter::fuse {

/// Joins groups that read the same, run over the same axes and have equally many steps before them, so that none can wait for
/// another: a hundred outputs of one input, a layer of many values. Merging (merge.hpp) would find them two by two and build the
/// growing kernel once for each.
void join_siblings(GroupBuilder& builder, const std::vector<FixedStep>& calls, std::vector<Group>& groups);

}  // namespace sinter::fuse
