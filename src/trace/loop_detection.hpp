// Splits a recording of many iterations of a loop into iterations, as if the user had evaluated each. All iterations then share one plan, and the planner does
// not have to analyse chains of shifted reads over many iterations.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "trace/record.hpp"

namespace sinter::trace {

/// The maximum number of operations in one kernel. If a loop's iterations can be fused, this many operations are evaluated together.
inline constexpr int kLoopOps = 128;

/// An unevaluated operation that some roots need. Operands come before users.
struct Pending {
  const RecordedPtr* handle;
  bool asked = false;  // a root
  /// The numbers of its operands among the operations; kLeaf for evaluated operands and for leaves.
  std::array<std::int32_t, kMaxArity> inputs{};
  std::uint32_t arity = 0;

  static constexpr std::int32_t kLeaf = -1;
};

/// The extent of dependences between the operations.
struct Reach {
  /// For each operation, the maximum number of reads at other positions on a path from the leaves: shifted reads, reductions, library calls, reads in two
  /// orders by one op. 0: nothing is computed.
  std::vector<int> level;
  int levels = 0;  // the maximum
  int shifts = 0;  // the maximum number of levels that slices and pads cause for one operation
  int chain = 0;   // weight of the longest chain
  /// Returns whether planning all operations at once would take long.
  bool is_long() const;
};
Reach reach_of(std::span<const Pending> operations);

/// Returns a hash of the place in the program that recorded the node. It is the same for the same op of the loop's next iteration.
std::uint64_t place_of(const Recorded& node);

/// A quick test that excludes most other places.
struct PlaceLike {
  std::uint32_t line = 0;
  Op op{};
  bool may_be(const Recorded& node) const { return node.op == op && node.where.line == line; }
};

struct DetectedLoop {
  std::uint64_t place = 0;  // the place of the op that ends an iteration; 0: nothing repeats
  PlaceLike like;
  std::int64_t each = 1;   // iterations per piece: occurrences of the place
  std::int64_t since = 0;  // occurrences since the last piece
  /// The lists of nodes to evaluate in order before the roots.
  std::vector<std::vector<RecordedPtr>> pieces;
};

/// Finds the iterations of a recording. Each ends at an occurrence of one repeated place: of all such places, the one after which the fewest bytes are still
/// needed. The operations must keep their operands meanwhile.
DetectedLoop find_loop(std::span<const Pending> operations, const Reach& reach);

}  // namespace sinter::trace
