// Boxes of a nest's points. Finds boxes that do not read an input, because the loads of a concatenation are guarded and most points read only one part.
#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit {

/// The range begin <= point < end along each parallel axis.
using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;
/// Returns the box of all points of the nest.
Box all_points(const LoopNest& nest, std::span<const std::int64_t> ints);
/// Returns the points of `all` outside of a box in it, as boxes.
std::vector<Box> outside(const Box& all, const Box& box);

/// Returns a large box around the middle of the nest whose points read none of these inputs with these numbers. It is empty if no such box is found.
Box points_without(const LoopNest& nest, std::span<const std::int64_t> ints, const std::function<bool(const Access&)>& input);

}  // namespace sinter::jit
