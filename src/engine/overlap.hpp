// Overlap: a kernel's core, the points that read no elements of an unfinished exchange, runs before the exchange finishes. The other points run in the kernel's
// place in the order of steps. The same kernel computes each point, so the bits are the same.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/planned.hpp"
#include "jit/points.hpp"

namespace sinter::engine {

struct Core {
  std::size_t step = 0;    // the kernel
  std::size_t before = 0;  // the core runs before this step, which finishes an exchange
  jit::Box points;
};

/// Returns the cores of a plan's kernels, for the plan's numbers, or for the values of its symbols, from which the numbers are computed.
std::vector<Core> cores_of(const Planned& planned, std::span<const std::int64_t> numbers);
std::vector<Core> cores_at(const Planned& planned, const std::vector<std::int64_t>& symbols);

/// Returns a text such as "[1:127, 0:512]".
std::string points_text(const jit::Box& points);

}  // namespace sinter::engine
