// A plan that is kept with the sizes it is called with: what one call after the other does not work out again. No outline, no lookup by
// structure, no memory for each value: a call puts the inputs in their places and runs the steps.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/arena.hpp"
#include "engine/planned.hpp"
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
  std::vector<std::int64_t> gathered;         // sizes of the axes that gathers look up
  std::vector<Shape> shapes;                  // of what is wanted
  friend bool operator==(const Values&, const Values&) = default;
};

/// What is the same for all calls of it.
struct Leaves {
  std::vector<int> inputs;                    // leaf -> the number of the input that it is, or -1
  std::vector<trace::StoragePtr> storages;    // leaf -> its contents; null for an input
  std::vector<trace::GatherSite> gathers;
  std::vector<trace::CallSite> calls;
  std::vector<DType> results;                 // of what is wanted
};

/// A plan at the sizes of a call.
struct Bound {
  std::shared_ptr<const Planned> planned;
  std::shared_ptr<const Leaves> leaves;
  std::vector<std::int64_t> numbers;
  std::vector<std::uint64_t> constants;       // the literals, then those that rewriting put in
  std::vector<trace::GatherSite> gathers;     // with today's sizes
  std::vector<fuse::LibraryCall> library;     // by step; empty for kernels
  std::vector<Shape> shapes;                  // of what is wanted
  std::vector<int> data;                      // nodes of leaves that steps read or that are wanted
  std::vector<int> outputs;                   // nodes whose memory the results take: what is wanted, each once, if it is no leaf
  struct Place { int node; std::size_t offset, bytes; };
  std::vector<Place> places;                  // of what lies in the arena
  std::vector<std::pair<int, int>> shared;    // a node, and the node whose memory it takes
  Arena arena;
};

/// Sizes of everything, and places in memory.
std::shared_ptr<const Bound> bind(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values);

}  // namespace sinter::engine
