// A recording of many rounds of a loop is computed round by round, as if the user had evaluated each: the rounds are one plan, and what
// a plan of all of them would have to find out about shifted reads of shifted reads need not be found out.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// As many ops as one kernel holds: so many are computed together of a loop whose rounds can be fused.
inline constexpr int kLoopOps = 128;

/// An operation that is not evaluated, of those that some roots need.
struct Pending {
  const RecordedPtr* handle;
  bool asked;  // a root
  int level;   // how often on the way from the leaves a result is read at other places than its own: shifted, reduced, by a library
};

/// What of `kLoopOps` an operation is. An assignment to a part of what is soon copied is planned longer than it is computed.
int weight(const Recorded& node);

/// Where in the program what was recorded: equal for the same op of the next round of a loop.
std::uint64_t place_of(const Recorded& node);

struct Rounds {
  std::uint64_t place = 0;  // of the op that ends a round; 0: nothing comes round
  std::int64_t times = 0;   // that it came round
  std::int64_t each = 1;    // rounds that are computed together
  /// What is to be evaluated before the roots, one after the other.
  std::vector<std::vector<RecordedPtr>> pieces;
};

/// The rounds of what was recorded: they end where the place comes round again at which the fewest bytes are needed later. The operations
/// must keep their operands meanwhile.
Rounds find_rounds(std::span<const Pending> operations);

}  // namespace sinter::trace
