// The blocks and threads over which a GPU runs a loop nest, and the parameters of its kernel. The printer, which writes the text, and the launcher, which must
// agree with it, share this file. It has plain values and needs no GPU.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::jit::cuda {

inline constexpr int kWarp = 32;

/// Returns the number of rows that a block computes at a time.
inline int rows_per_block(const Schedule& schedule) { return schedule.threads / schedule.as<RowsForm>().row_threads; }

/// Returns which numbers of LoopNest::ints are parameters. The kernel's parameters are, in this order:
///   1. a pointer for each input, then for each output, with offsets added, then the flags of checks if there are any;
///   2. the numbers of LoopNest::ints listed by used_ints(), as long long (int if the schedule has 32-bit indices);
///   3. every scalar of LoopNest::scalars, in its own type.
std::vector<int> used_ints(const LoopNest& nest);
/// Returns the bytes of the kernel's parameters, each aligned to its own size.
int parameter_bytes(const LoopNest& nest);

struct Geometry {
  unsigned grid = 0;     // blocks; 0: there is nothing to do
  unsigned cluster = 1;  // consecutive blocks of a cluster, as in the kernel's text
  unsigned block_x = 1, block_y = 1;
  std::size_t shared = 0;  // bytes of dynamic shared memory
};
/// Returns the geometry for these values of LoopNest::ints. Throws InternalError if they contradict the nest's schedule (a size that is not a multiple of the
/// vector width, an index that does not fit 32 bits).
Geometry geometry(const LoopNest& nest, std::span<const std::int64_t> ints, int sm_count);

}  // namespace sinter::jit::cuda
