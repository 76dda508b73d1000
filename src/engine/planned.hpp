// Planned: a graph's structure, scheduled, generated and compiled for a target: the first level of the cache.
#pragma once
#include <memory>
#include <vector>

#include "engine/kernels.hpp"
#include "fuse/schedule.hpp"

namespace sinter::engine {

struct PlannedStep {
  jit::LoopNest nest;          // kernels
  Made made;
  std::vector<int> constants;  // scalar k of the nest is bound from the constant with this ordinal in the graph
  std::vector<int> gathers;    // check k of the nest is of the gather with this ordinal
};

struct Planned {
  fuse::Plan plan;
  std::vector<PlannedStep> steps;  // one per plan step; matmul steps are empty
};

/// Schedules and makes every kernel. A kernel whose compiler reports spills is cut again, at most a few times; the report
/// that says so is in the cache, so a warm run decides the same without a compiler.
std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, bool fast_math, Kernels& kernels);

/// The graph's gathers in order of node number.
std::vector<const trace::Node*> gathers_of(const trace::Graph& graph);
/// The graph's constants in order of node number.
std::vector<trace::Scalar> constants_of(const trace::Graph& graph);

}  // namespace sinter::engine
