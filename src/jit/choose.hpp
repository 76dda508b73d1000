// The only place that decides how a kernel runs: the order of its axes, its form, widths, threads, and cached values. The decision depends on the kernel, its
// sizes (each size that matters leaves a guard) and the device's limits. A schedule override is obeyed where it is possible.
#pragma once
#include <vector>

#include "fuse/kernel.hpp"
#include "jit/lower.hpp"

namespace sinter::jit {

/// The first decision, made before there is a nest: the kernel with merged and ordered axes, and with persistent buffers only for cached values. The schedule
/// has its axes, `keep`, and whether it is vectorised along rows.
struct Arranged {
  fuse::Kernel kernel;
  Schedule schedule;
};
Arranged arrange(const fuse::Graph& graph, const fuse::Kernel& kernel, const fuse::Limits& limits, const ScheduleOverride& overrides);

/// Makes all other decisions.
Schedule choose(const fuse::Graph& graph, const Arranged& arranged, const Lowered& lowered, const fuse::Limits& limits, const ScheduleOverride& overrides);

/// Does the same as choose() for a CPU and a nest built by hand, whose schedule says whether it is vectorised along rows.
Schedule choose_for_cpu(const LoopNest& nest, const ScheduleOverride& overrides = {});

/// Returns other possible schedules that may be faster. Each is an override that differs from the nest's schedule in one field or in two related ones. Some do
/// not suit every kernel, so lower() may return the present schedule for an override.
std::vector<ScheduleOverride> alternatives(const LoopNest& nest, const fuse::Limits& limits);

}  // namespace sinter::jit
