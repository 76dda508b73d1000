// A plan bound to the sizes of calls. Consecutive calls share all data that do not change, and need no traversal.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executable.hpp"
#include "engine/explain.hpp"
#include "trace/structural_key.hpp"

namespace sinter::engine {

/// The device of a frozen function's calls, which does not change with the settings.
struct Frozen {
  Target target;
  PlanOptions how;
};

/// The values that differ between calls of one recorded structure, except contents.
struct Values {
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> literals;
  std::vector<std::int64_t> gathered;  // sizes of the axes that gathers index
  std::vector<Shape> shapes;           // shapes of the results
  friend bool operator==(const Values&, const Values&) = default;
};

/// The facts that are the same for all calls.
struct Leaves {
  std::vector<int> inputs;           // leaf -> number of the input, or -1
  std::vector<StoragePtr> storages;  // leaf -> its contents; null for an input
  std::vector<trace::GatherSite> gathers;
  std::vector<trace::CallSite> calls;
  std::vector<DType> results;          // types of the results
  std::vector<trace::NodeSite> sites;  // lines of the recording; empty for a function from a file
};

/// An executable with the facts that are the same for all calls at its sizes.
struct Bound {
  Executable executable;
  std::shared_ptr<const Leaves> leaves;
  std::vector<std::uint64_t> constants;    // the literals, followed by constants of rewrites
  std::vector<trace::GatherSite> gathers;  // the sites, with the present sizes
  std::vector<Shape> shapes;               // shapes of the results
  std::shared_ptr<History> history;        // the history of the results, for explain()
};

/// Computes all sizes, the places in memory, and the launches of a call.
std::shared_ptr<const Bound> bind_plan(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values, const Target& target,
                                       Kernels& kernels);

}  // namespace sinter::engine
