// A plan that is kept with the sizes it is called with: what one call after the other does not work out again. There is no outline.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/executable.hpp"
#include "trace/outline.hpp"

namespace sinter::engine {

/// Where the calls of a frozen function run, whatever the settings become.
struct Frozen {
  Target target;
  PlanOptions how;
};

/// What differs from one call to the next of one recorded structure, but for contents.
struct Values {
  std::vector<std::int64_t> symbols;
  std::vector<std::uint64_t> literals;
  std::vector<std::int64_t> gathered;  // sizes of the axes that gathers look up
  std::vector<Shape> shapes;           // of what is wanted
  friend bool operator==(const Values&, const Values&) = default;
};

/// What is the same for all calls of it.
struct Leaves {
  std::vector<int> inputs;           // leaf -> the number of the input that it is, or -1
  std::vector<StoragePtr> storages;  // leaf -> its contents; null for an input
  std::vector<trace::GatherSite> gathers;
  std::vector<trace::CallSite> calls;
  std::vector<DType> results;          // of what is wanted
  std::vector<trace::NodeSite> sites;  // of the recording; empty for one from a file
};

/// An executable with what is the same for all calls at its sizes.
struct Bound {
  Executable executable;
  std::shared_ptr<const Leaves> leaves;
  std::vector<std::uint64_t> constants;    // the literals, then those that rewriting put in
  std::vector<trace::GatherSite> gathers;  // with today's sizes
  std::vector<Shape> shapes;               // of what is wanted
};

/// Sizes of everything, places in memory, and the launches of a call.
std::shared_ptr<const Bound> bind_plan(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values, const Target& target,
                                       Kernels& kernels);

}  // namespace sinter::engine
