// The rules that derive the sharding of an operation's result from those of its operands: the `sharding` column of the table of primitives. A result's sharding
// never changes that of an operand. If several shardings of the result are possible, the rule throws a ShardingError that names the call that chooses one.
#pragma once
#include <span>
#include <vector>

#include "ranks/exchange.hpp"
#include "ranks/sharding.hpp"

namespace sinter::ranks {

/// An operand of a rule; a value without a spread is unsharded on the mesh of the others.
struct Operand {
  const trace::Recorded* node = nullptr;
  Sharding sharding;
};

struct Carried {
  Sharding result;
  /// The mesh axes over which computed parts are combined into parts of the result. Each computed part is the sum, or another reduction, over one piece.
  std::vector<int> combined;
  /// For each operand: the elements from which a part of `work` is computed.
  std::vector<Wanted> wanted;
  /// For an op that can compute any block of its result, and for each operand: the elements from which the block is computed.
  std::vector<std::function<Block(const Block&)>> needs;

  /// Returns the sharding whose parts are computed: its axes are the mesh axes of `result`, then those of `combined`.
  Sharding work() const;
};

/// Applies the rule of the node's op. The operands are on one mesh. `as` is the result's sharding if it is already known.
Carried carry(const trace::Recorded& node, std::span<const Operand> operands, const Sharding* as = nullptr);
std::vector<Operand> operands_of(const trace::Operands& inputs, const trace::Site& site);

/// Sets the hook by which recording asks for the spread of a result.
void watch_recording();

}  // namespace sinter::ranks
