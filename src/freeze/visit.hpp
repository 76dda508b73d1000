// Visits recorded nodes.
#pragma once
#include <set>
#include <utility>
#include <vector>

#include "trace/record.hpp"

namespace sinter::freezing {

/// Visits the nodes that depend on an input and from which the roots are computed, operands first, each once. `enter` says whether a node's operands are
/// visited. Long chains need no deep stack.
template <class Enter, class Leave> void visit(const std::vector<trace::RecordedPtr>& roots, Enter enter, Leave leave) {
  struct Frame {
    trace::RecordedPtr node;
    trace::Operands operands;
    std::size_t next = 0;
  };
  std::set<const trace::Recorded*> visited;
  std::vector<Frame> frames;
  const auto push = [&](const trace::RecordedPtr& node) {
    if (node->symbolic && visited.insert(node.get()).second) frames.push_back({node, enter(node) ? node->inputs() : trace::Operands()});
  };
  for (const trace::RecordedPtr& root : roots) {
    push(root);
    while (!frames.empty()) {
      if (Frame& top = frames.back(); top.next < top.operands.size()) {
        push(trace::RecordedPtr(top.operands[top.next++]));
        continue;
      }
      const Frame done = std::move(frames.back());
      frames.pop_back();
      leave(done.node, done.operands);
    }
  }
}

}  // namespace sinter::freezing
