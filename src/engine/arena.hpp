// The memory plan: places values in one block. Two values may share memory if their live ranges are disjoint.
#pragma once
#include <cstddef>
#include <vector>

namespace sinter::engine {

/// A value's size, and the first and last moment of its live range.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

struct Arena {
  std::vector<std::size_t> offsets;  // offset of each value, a multiple of kArenaAlign
  std::size_t bytes = 0;             // size of the block
  std::size_t lower_bound = 0;       // the maximum number of bytes that are live at one moment: no block can be smaller
  std::size_t sum = 0;               // sum of the sizes of all values, for comparison
};
inline constexpr std::size_t kArenaAlign = 64;

/// Tries two orders, by size (largest first) and by time, places each value at the lowest free offset, and returns the better result. After Pisarchyk and Lee,
/// "Efficient Memory Management for Deep Neural Net Inference" (2020), "greedy by size for offset calculation".
Arena lay_out(const std::vector<Lifetime>& values);

}  // namespace sinter::engine
