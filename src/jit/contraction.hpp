// A reduction over what two operands have in common: a product of matrices, the distances of all pairs, a convolution. Every value of
// its rows changes along one of two parallel axes, or is made of a value of each. A GPU computes it by squares of the two axes: what a
// line of the square has to give is brought to shared memory once, and each thread combines its part of the pairs in registers.
#pragma once
#include <optional>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct Contraction {
  std::vector<int> left, right;  // values of a row point that pairs are made of: those that change along the right axis, and all others
  std::vector<int> pairs;        // ops of a row point that are computed for each pair, in order
  bool of_products = false;      // sums of products of a left and a right value: zeros add nothing
};

/// The nest over these parallel axes, if it is one.
std::optional<Contraction> contraction(const LoopNest& nest, int left_axis, int right_axis);

/// Instructions, in order, that these values are computed from, themselves included.
std::vector<int> computed_from(const LoopNest& nest, const std::vector<int>& values);

// A block of 16 x 16 threads has a square of `side` points each way, and each thread side / 16 of them each way.
inline constexpr int kContractionThreads = 256, kContractionSide = 16;
/// Row points that lie in shared memory at once: as many values as the block has threads, four times.
constexpr int contraction_depth(int side) { return 4 * kContractionThreads / side; }
/// Neighbouring points of a thread, which it reads in one go.
constexpr int contraction_group(int side) { return side / kContractionSide < 4 ? side / kContractionSide : 4; }
/// Bytes of static shared memory: two stretches, one being read while the next is written, in lines that warps write without conflicts.
std::size_t contraction_shared(const LoopNest& nest, const Contraction& parts, int side);

}  // namespace sinter::jit
