// A reduction over pairs: a matrix product, the distances of all pairs, a convolution. Every value of its rows changes along one of two parallel axes, or is
// computed from a value of each. A GPU computes tiles ("squares") of the two axes: it reads the values of each line of a square into shared memory once, and
// each thread combines its part of the pairs in registers.
#pragma once
#include <optional>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct Contraction {
  std::vector<int> left, right;  // operands of pairs at a row point; right: those that change along the right axis, left: all others
  std::vector<int> pairs;        // ops that are computed for each pair of a row point, in order
  bool of_products = false;      // every reduction sums products of a left and a right value: zeros add nothing
};

/// Returns the contraction of the nest over these parallel axes, if it is one.
std::optional<Contraction> contraction(const LoopNest& nest, int left_axis, int right_axis);

/// Returns, in order, the instructions from which these values are computed, including the values themselves.
std::vector<int> computed_from(const LoopNest& nest, const std::vector<int>& values);

// A block of 16 x 16 threads computes a square of `side` points each way, and each thread side / 16 points each way.
inline constexpr int kContractionThreads = 256, kContractionSide = 16;
/// Row points that are in shared memory at once: they make four values for each thread of the block.
constexpr int contraction_depth(int side) { return 4 * kContractionThreads / side; }
/// Neighbouring points of a thread, which it reads in one access.
constexpr int contraction_group(int side) { return side / kContractionSide < 4 ? side / kContractionSide : 4; }
/// Returns bytes of static shared memory for two stretches of row points, one to read and one to write. Lines are padded against bank conflicts.
std::size_t contraction_shared(const LoopNest& nest, const Contraction& parts, int side);

}  // namespace sinter::jit
