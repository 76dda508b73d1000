// The one place that decides how a kernel runs: order of the axes, form, widths, threads, what is kept. It looks at the kernel, its
// sizes (what it decides by leaves a guard) and the device's limits; what is wished is done where it is possible.
#pragma once
#include <vector>

#include "fuse/kernel.hpp"
#include "jit/lower.hpp"

namespace sinter::jit {

/// First, before there is a nest: the kernel with its axes merged and in order, and persistent buffers only where values are kept; of the schedule
/// the axes, whether lanes go along rows, and `keep`.
struct Arranged {
  fuse::Kernel kernel;
  Schedule schedule;
};
Arranged arrange(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const Wish& wish);

/// Then, all the rest.
Schedule choose(const fuse::Graph& graph, const Arranged& arranged, const Lowered& lowered, const fuse::Limits& limits, const Wish& wish);

/// choose() for a CPU and a nest that was built by hand, of which it is known whether lanes go along rows.
Schedule choose_for_cpu(const LoopNest& nest, const Wish& wish = {});

/// What else is possible and may be faster, each as a wish that differs from `chosen` in one thing or in two that belong together. Not
/// everything that is listed suits every kernel: what lower() makes of a wish may be what was chosen anyway.
std::vector<Wish> alternatives(const LoopNest& nest, const fuse::Limits& limits);

}  // namespace sinter::jit
