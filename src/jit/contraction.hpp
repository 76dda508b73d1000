// A reduction over pairs: a matrix product, the distances of all pairs, a convolution. Every value in its rows changes along only one of two parallel axes, or
// is computed from such values of both. A GPU computes tiles of the two axes: it reads the values of each row and column of a tile into shared memory once, and
// each thread combines its part of the pairs in registers.
#pragma once
#include <optional>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit {

struct Contraction {
  std::vector<int> left, right;  // operands of pairs at a row point: in `right` those that change along the right axis, in `left` all others
  std::vector<int> pairs;        // ops that are computed for each pair of a row point, in order
  bool of_products = false;      // every reduction sums products of a left and a right value, to which zeros add nothing
};

/// Returns the contraction of the nest over these parallel axes, if it is one.
std::optional<Contraction> contraction(const LoopNest& nest, int left_axis, int right_axis);

/// Returns, in order, the instructions from which these values are computed, including the values themselves.
std::vector<int> computed_from(const LoopNest& nest, const std::vector<int>& values);

// A block of 16 x 16 threads computes a tile of side x side points, and each thread (side / 16) x (side / 16) of them.
inline constexpr int kContractionThreads = 256, kContractionSide = 16;
/// The number of row points that are in shared memory at once: each thread of the block loads four values of them.
constexpr int contraction_depth(int side) { return 4 * kContractionThreads / side; }
/// The number of neighbouring points that a thread reads in one access.
constexpr int contraction_group(int side) { return side / kContractionSide < 4 ? side / kContractionSide : 4; }
/// Returns the bytes of static shared memory: two buffers of row points, one to read while the other is written. Lines are padded against bank conflicts.
std::size_t contraction_shared(const LoopNest& nest, const Contraction& parts, int side);

}  // namespace sinter::jit
