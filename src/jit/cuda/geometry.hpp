// How a loop nest is laid over a GPU's threads, and what its kernel takes: shared by the printer, which writes the
// text, and the launcher, which must agree with it. Plain values, no GPU needed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit::cuda {

inline constexpr int kWarp = 32;

// Of the forms of a schedule a GPU has five: pointwise, a thread per vector of points; tiles, a block per 32 x 32 points of the last two
// axes; rows, a block, a warp or a part of one per point; columns, where 32 threads beside each other walk the last parallel axis and the block's
// second dimension shares the rows; contractions, a block per square of two parallel axes.

/// Rows form with a warp, or 8 or 16 lanes of one, to each row; several rows a block.
bool within_warps(const LoopNest& nest);
/// Rows that a block has in flight.
int rows_per_block(const LoopNest& nest);

/// The kernel's parameters, in this order:
///   1. a pointer for each input, then for each output, offsets added, then the flags of checks where there are any;
///   2. the numbers of LoopNest::ints listed by used_ints(), as long long (int where the schedule has 32-bit indices);
///   3. every scalar of LoopNest::scalars, in its own type.
/// An entry of ints that the generated text does not need is no parameter.
std::vector<int> used_ints(const LoopNest& nest);
/// Bytes of the kernel's parameters, each aligned to its own size.
int parameter_bytes(const LoopNest& nest);

struct Geometry {
  unsigned grid = 0;     // blocks; 0: nothing to do
  unsigned cluster = 1;  // of so many blocks beside each other, as the kernel's text says
  unsigned block_x = 1, block_y = 1;
  std::size_t shared = 0;  // dynamic shared memory, bytes
};
/// `ints`: values for LoopNest::ints. Throws InternalError where they break what the nest promised (a size that is no
/// multiple of the vector width, an index that 32 bits do not hold).
Geometry geometry(const LoopNest& nest, std::span<const std::int64_t> ints, int sm_count);

}  // namespace sinter::jit::cuda
