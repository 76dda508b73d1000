// The fusion scheduler: turns a recorded graph into a plan of as few kernels as limits and costs allow.
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
  Traffic moved;
  Traffic passes;             // of `moved`: what a call moves besides its operands and its result
  std::vector<int> computes;  // nodes
  std::vector<int> writes() const;
  std::vector<int> reads() const;
  const Boundary& boundary() const { return kernel.boundary; }
};

struct Plan {
  Graph graph;                   // the graph as scheduled: a two-stage reduction is two nodes
  std::vector<Step> steps;       // in a valid order
  std::map<int, int> aliases;    // output -> node whose buffer it shares, with another shape
  std::vector<Refusal> refused;  // refused merges, the last one for each pair of steps, by numbers of steps
};

/// Nodes that must be in memory by a decision outside of the scheduler (a compiler's report).
using Forced = std::map<int, Boundary>;

/// Returns the graph that schedule() takes: over symbols, with two-stage reductions as two nodes, and with library calls that the device does not support
/// expanded into other primitives.
Graph prepare(const Graph& recorded, const Limits& limits);

/// Makes the plan. It depends only on the arguments. `forced`: nodes of this graph.
Plan schedule(Graph prepared, const Limits& limits, const Forced& forced = {});

}  // namespace sinter::fuse
