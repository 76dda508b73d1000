// Computes the order in which the steps of a plan can run.
#pragma once
#include <vector>

#include "fuse/group.hpp"

namespace sinter::fuse {

/// A step that is not a group: a library call.
struct FixedStep {
  std::vector<int> reads;
  int writes = -1;
  enum class Exchange : std::uint8_t { none, starts, finishes } exchange = Exchange::none;
};

/// Returns the steps in an order in which each comes after the steps that write its operands, and otherwise by the first node that they write. A step that
/// finishes an exchange is chosen only if no other step is possible. A step that starts an exchange, and all steps on which it depends, come before the others.
/// A group appears by its number, a call as -1 minus its number. Steps that depend on each other in a cycle, and steps that depend on these, are omitted.
/// Merged groups write several nodes, so the nodes' numbers alone give no valid order.
std::vector<int> step_order(const Graph& graph, const std::vector<Group>& groups, const std::vector<FixedStep>& calls);

/// Visits the nodes that the group's kernel reads from memory.
template <class Visit> void each_read(const Group& group, Visit visit) {
  for (const auto& value : group.kernel.values)
    if (value.kind == Value::Kind::load) visit(value.node);
}

}  // namespace sinter::fuse
