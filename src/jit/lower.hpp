// Lowers a group to a loop nest: assigns values to stages, turns every number into a parameter, and gives the nest its schedule.
#pragma once
#include "fuse/kernel.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct LowerOptions {
  bool fast_math = false;
  ScheduleOverride overrides;
};

/// A nest with the current numbers, and their expressions for other sizes.
struct Lowered {
  LoopNest nest;
  fuse::Sizes ints;                           // expressions of nest.ints
  fuse::Sizes input_offsets, output_offsets;  // expressions of the accesses' offsets
  fuse::Traffic moved;                        // memory that the schedule reads and writes, counting every pass that reads a row again
};

/// Returns the nest of a kernel of this graph for a device with these limits. Access::buffer is the node number.
Lowered lower(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

/// Returns the possible schedules of this kernel on the device at the current sizes, each once: first the schedule by the options, then its alternatives, each
/// with its override. Two threads must not call this for the same plan.
struct Candidate {
  ScheduleOverride overrides;
  Lowered lowered;
};
std::vector<Candidate> candidates(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

}  // namespace sinter::jit
