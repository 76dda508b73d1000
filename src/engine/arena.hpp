// Where values lie that live for a part of the time: all in one block of memory, two at the same place if they are never alive together.
#pragma once
#include <cstddef>
#include <vector>

namespace sinter::engine {

/// A value's size, and the first and the last moment at which it is alive.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0, last = 0;
};

struct Arena {
  std::vector<std::size_t> offsets;  // of each value, multiples of kArenaAlign
  std::size_t bytes = 0;             // of the block
  std::size_t lower_bound = 0;       // the most that is alive at one moment: no block can be smaller
  std::size_t sum = 0;               // of all values: a block each
};
inline constexpr std::size_t kArenaAlign = 64;

/// The largest value first, each at the lowest place that nothing else alive with it takes; the same in order of time; the better of the
/// two. After Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference" (2020), "greedy by size for offset calculation".
Arena lay_out(const std::vector<Lifetime>& values);

}  // namespace sinter::engine
