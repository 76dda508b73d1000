// The order in which the steps of a plan can run.
#pragma once
#include <vector>

#include "fuse/group.hpp"

namespace sinter::fuse {

/// A step that is no group: a library call.
struct FixedStep {
  std::vector<int> reads;
  int writes = -1;
};

/// The steps so that each comes after those that write what it reads, else by the first node that they write: a group's number, of a call -1 less its number.
/// Steps that wait for each other in a circle, and what waits for them, are left out. Groups that were merged write several nodes, so that the
/// nodes' numbers are no such order.
std::vector<int> step_order(const Graph& graph, const std::vector<Group>& groups, const std::vector<FixedStep>& calls);

/// Visits the nodes that the group's kernel reads from memory.
template <class Visit> void each_read(const Group& group, Visit visit) {
  for (const auto& value : group.kernel.values)
    if (value.kind == Value::Kind::load) visit(value.node);
}

}  // namespace sinter::fuse
