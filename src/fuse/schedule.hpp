// The fusion scheduler: a recorded graph becomes a plan of as few kernels as limits and cost allow.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "fuse/kernel.hpp"
#include "fuse/library_call.hpp"
#include "fuse/limits.hpp"

namespace sinter::fuse {

struct Step {
  enum class Kind : std::uint8_t { kernel, library };
  Kind kind = Kind::kernel;
  Kernel kernel;
  PlannedCall call;
  double bytes_moved = 0;
  double bytes_unfused = 0;   // of the same nodes, one kernel per op
  std::vector<int> computes;  // nodes
  std::vector<int> writes() const;
  std::vector<int> reads() const;
  const Cut& cut() const { return kernel.cut; }
};

struct Plan {
  Graph graph;                 // as scheduled: two-stage reductions are two nodes
  std::vector<Step> steps;     // in an order that may be run
  std::map<int, int> aliases;  // an output that is another node's buffer under another shape
  double bytes_moved = 0, bytes_unfused = 0;
  std::vector<Refusal> refused;  // merges, the last of each pair of steps; by numbers of steps
};

/// Nodes that have to be in memory, decided outside (a compiler's verdict).
using Forced = std::map<int, Cut>;

/// The graph that schedule() takes: over symbols; two-stage reductions are two nodes; library ops that the
/// device has no library for are other primitives.
Graph prepare(const trace::Graph& graph, const Limits& limits);

/// Deterministic: depends on its arguments alone. `forced` holds nodes of this graph.
Plan schedule(Graph prepared, const Limits& limits, const Forced& forced = {});

}  // namespace sinter::fuse
