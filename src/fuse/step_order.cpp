#include "fuse/step_order.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

namespace sinter::fuse {

std::vector<int> step_order(const Graph& graph, const std::vector<Group>& groups, const std::vector<FixedStep>& calls) {
  using Exchange = FixedStep::Exchange;
  struct Waiting {
    int writes, step;  // the first node
    int waits = 0;
    std::vector<int> readers, before;
    int turn = 1;  // among the steps that can come next, the lowest turn is first
  };
  std::vector<Waiting> steps;
  for (std::size_t g = 0; g < groups.size(); ++g) steps.push_back({groups[g].requests[0].node, static_cast<int>(g)});
  for (std::size_t c = 0; c < calls.size(); ++c) steps.push_back({calls[c].writes, -1 - static_cast<int>(c)});
  std::sort(steps.begin(), steps.end(), [](const Waiting& a, const Waiting& b) { return std::pair(a.writes, a.step) < std::pair(b.writes, b.step); });

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
      steps[s].before.push_back(from);
      ++steps[s].waits;
    };
    if (const int step = steps[s].step; step >= 0) each_read(groups[static_cast<std::size_t>(step)], reads);
    else
      for (const int node : calls[static_cast<std::size_t>(-1 - step)].reads) reads(node);
  }

  const auto exchange = [&](const Waiting& step) { return step.step < 0 ? calls[static_cast<std::size_t>(-1 - step.step)].exchange : Exchange::none; };
  std::vector<int> needed;  // for the starts of exchanges
  std::vector<char> seen(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (exchange(steps[s]) == Exchange::finishes) steps[s].turn = 2;
    if (exchange(steps[s]) == Exchange::starts) needed.push_back(static_cast<int>(s));
  }
  while (!needed.empty()) {
    const auto s = static_cast<std::size_t>(needed.back());
    needed.pop_back();
    if (std::exchange(seen[s], 1)) continue;
    Waiting& step = steps[s];
    if (step.turn == 1) step.turn = 0;
    needed.insert(needed.end(), step.before.begin(), step.before.end());
  }

  std::vector<int> order;
  std::priority_queue<std::pair<int, int>, std::vector<std::pair<int, int>>, std::greater<>> ready;
  const auto add = [&](int s) { ready.emplace(steps[static_cast<std::size_t>(s)].turn, s); };
  for (std::size_t s = 0; s < steps.size(); ++s)
    if (steps[s].waits == 0) add(static_cast<int>(s));
  while (!ready.empty()) {
    const Waiting& next = steps[static_cast<std::size_t>(ready.top().second)];
    ready.pop();
    order.push_back(next.step);
    for (const int reader : next.readers)
      if (--steps[static_cast<std::size_t>(reader)].waits == 0) add(reader);
  }
  return order;
}

}  // namespace sinter::fuse
