// A recording of many rounds of a loop is computed round by round, as if the user had evaluated each: the rounds are one plan, and what
// a plan of all of them would have to find out about shifted reads of shifted reads need not be found out.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// As many ops as one kernel holds: so many are computed together of a loop whose rounds can be fused.
inline constexpr int kLoopOps = 128;

/// An operation that is not evaluated, of those that some roots need: operands before users.
struct Pending {
  const RecordedPtr* handle;
  bool asked = false;  // a root
  /// Its operands among the operations; kLeaf: known, or nearly so.
  std::array<std::int32_t, kMaxArity> inputs{};
  std::uint32_t arity = 0;

  static constexpr std::int32_t kLeaf = -1;
};

/// How far the operations reach.
struct Reach {
  /// Of each operation: how often on the way from the leaves a result is read at other places than its own: shifted, reduced, by a
  /// library, or in two orders by one op. 0: nothing is computed.
  std::vector<int> level;
  int levels = 0;  // the most
  int shifts = 0;  // of the level of one operation, those by slices and pads
  int chain = 0;   // weight of the longest chain
  /// Whether planning all of it at once would take long.
  bool is_long() const;
};
Reach reach_of(std::span<const Pending> operations);

/// Where in the program what was recorded: equal for the same op of the next round of a loop.
std::uint64_t place_of(const Recorded& node);

/// What tells most other places from one, at once.
struct PlaceLike {
  std::uint32_t line = 0;
  Op op{};
  bool may_be(const Recorded& node) const { return node.op == op && node.where.line == line; }
};

struct Rounds {
  std::uint64_t place = 0;  // of the op that ends a round; 0: nothing comes round
  PlaceLike like;
  std::int64_t each = 1;   // times that the program is there from one piece to the next
  std::int64_t since = 0;  // times that it was there since the last piece
  /// What is to be evaluated before the roots, one after the other.
  std::vector<std::vector<RecordedPtr>> pieces;
};

/// The rounds of what was recorded: they end where the place comes round again at which the fewest bytes are needed later. The operations
/// must keep their operands meanwhile.
Rounds find_rounds(std::span<const Pending> operations, const Reach& reach);

}  // namespace sinter::trace
