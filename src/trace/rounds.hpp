// Splits a recording of many iterations of a loop into iterations, as if the user had evaluated each. All iterations share one plan, and the planner need not
// analyse shifted reads of shifted reads across iterations.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// The number of ops in one kernel, and so the number computed together of a loop whose iterations can be fused.
inline constexpr int kLoopOps = 128;

/// An unevaluated operation that some roots need. Operands come before users.
struct Pending {
  const RecordedPtr* handle;
  bool asked = false;  // a root
  /// Its operands' numbers among the operations; kLeaf for evaluated operands and for leaves.
  std::array<std::int32_t, kMaxArity> inputs{};
  std::uint32_t arity = 0;

  static constexpr std::int32_t kLeaf = -1;
};

/// The extent of dependences between the operations.
struct Reach {
  /// For each operation: how many times on the way from the leaves a result is read at other places than its own: shifted, reduced, by a library, or in two
  /// orders by one op. 0: nothing is computed.
  std::vector<int> level;
  int levels = 0;  // the maximum
  int shifts = 0;  // the most levels of one operation that slices and pads cause
  int chain = 0;   // weight of the longest chain
  /// Returns whether planning all operations at once would take long.
  bool is_long() const;
};
Reach reach_of(std::span<const Pending> operations);

/// Returns a hash of the place in the program that recorded the node: equal for the same op of the next iteration of a loop.
std::uint64_t place_of(const Recorded& node);

/// A quick test that excludes most other places.
struct PlaceLike {
  std::uint32_t line = 0;
  Op op{};
  bool may_be(const Recorded& node) const { return node.op == op && node.where.line == line; }
};

struct Rounds {
  std::uint64_t place = 0;  // of the op that ends an iteration; 0: nothing repeats
  PlaceLike like;
  std::int64_t each = 1;   // iterations per piece, counted by how often the place occurs
  std::int64_t since = 0;  // occurrences since the last piece
  /// The lists to evaluate before the roots, one after the other.
  std::vector<std::vector<RecordedPtr>> pieces;
};

/// Finds the iterations of a recording. They end where the repeating place occurs at which the fewest bytes are needed later. The operations must retain their
/// operands meanwhile.
Rounds find_rounds(std::span<const Pending> operations, const Reach& reach);

}  // namespace sinter::trace
