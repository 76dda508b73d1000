// Group -> loop nest: places values in stages, merges and orders axes, chooses the axis that lanes walk, and turns every number
// into a parameter.
#pragma once
#include "fuse/kernel.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct LowerOptions {
  bool fast_math = false;
};

/// The nest of a kernel of this graph for a device with these limits. Access::buffer is the node number.
LoopNest lower(const trace::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options = {});

}  // namespace sinter::jit
