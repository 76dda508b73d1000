// Group -> loop nest: places values in stages, merges and orders axes, chooses the axis that lanes walk, and turns every number
// into a parameter.
#pragma once
#include "fuse/kernel.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct LowerOptions {
  bool fast_math = false;
};

/// A nest with today's numbers, and what they are for other sizes.
struct Lowered {
  LoopNest nest;
  fuse::Sizes ints;                          // as nest.ints
  fuse::Sizes input_offsets, output_offsets; // as the accesses' offsets
};

/// The nest of a kernel of this graph for a device with these limits. Access::buffer is the node number.
Lowered lower(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

}  // namespace sinter::jit
