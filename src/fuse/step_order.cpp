#include "fuse/step_order.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace sinter::fuse {

std::vector<int> step_order(const Graph& graph, const std::vector<Group>& groups, const std::vector<FixedStep>& calls) {
  struct Step {
    int writes, step;  // the first node
    int waits = 0;
    std::vector<int> readers;
  };
  std::vector<Step> steps;
  for (std::size_t g = 0; g < groups.size(); ++g) steps.push_back({groups[g].requests[0].node, static_cast<int>(g), 0, {}});
  for (std::size_t c = 0; c < calls.size(); ++c) steps.push_back({calls[c].writes, -1 - static_cast<int>(c), 0, {}});
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return std::pair(a.writes, a.step) < std::pair(b.writes, b.step); });

  std::vector<int> writer(graph.nodes.size(), -1);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    writer[steps[s].writes] = static_cast<int>(s);
    if (steps[s].step >= 0)
      for (const auto& root : groups[static_cast<std::size_t>(steps[s].step)].kernel.roots) writer[root.node] = static_cast<int>(s);
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const auto reads = [&](int node) {
      const int from = writer[node];
      if (from < 0 || from == static_cast<int>(s)) return;
      steps[static_cast<std::size_t>(from)].readers.push_back(static_cast<int>(s));
      ++steps[s].waits;
    };
    if (const int step = steps[s].step; step >= 0) each_read(groups[static_cast<std::size_t>(step)], reads);
    else
      for (const int node : calls[static_cast<std::size_t>(-1 - step)].reads) reads(node);
  }

  std::vector<int> order;
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (steps[s].waits == 0) ready.push(static_cast<int>(s));
  while (!ready.empty()) {
    const Step& next = steps[static_cast<std::size_t>(ready.top())];
    ready.pop();
    order.push_back(next.step);
    for (const int reader : next.readers)
      if (--steps[static_cast<std::size_t>(reader)].waits == 0) ready.push(reader);
  }
  return order;
}

}  // namespace sinter::fuse
