// Group -> loop nest: places values in stages, turns every number into a parameter, and gives the nest its schedule.
#pragma once
#include "fuse/kernel.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct LowerOptions {
  bool fast_math = false;
  Wish wish;
};

/// A nest with today's numbers, and what they are for other sizes.
struct Lowered {
  LoopNest nest;
  fuse::Sizes ints;                           // as nest.ints
  fuse::Sizes input_offsets, output_offsets;  // as the accesses' offsets
  double bytes_moved = 0;                     // as scheduled: memory read and written, every pass that reads a row again included
};

/// The nest of a kernel of this graph for a device with these limits. Access::buffer is the node number.
Lowered lower(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

/// The ways in which this kernel can run on the device at today's sizes, each once: first as options say, then the alternatives to that,
/// with what was wished of them. Not to be called by two threads for one plan.
struct Candidate {
  Wish wish;
  Lowered lowered;
};
std::vector<Candidate> candidates(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

}  // namespace sinter::jit
