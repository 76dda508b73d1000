// How an operation carries shardings from its operands to its result: the `sharding` column of the table of primitives. Nothing propagates backwards, and where
// several answers make sense the rule throws a ShardingError that names the call with which the program decides.
#pragma once
#include <span>
#include <vector>

#include "ranks/exchange.hpp"
#include "ranks/sharding.hpp"

namespace sinter::ranks {

/// An operand as a rule sees it; a value without a spread is whole on the mesh of the others.
struct Operand {
  const trace::Recorded* node = nullptr;
  Sharding sharding;
};

struct Carried {
  Sharding result;
  /// The mesh axes over which the parts that are computed are combined to parts of the result: each part is the sum, or another reduction, over one piece.
  std::vector<int> combined;
  /// The elements of each operand that a part of `work` is computed from.
  std::vector<Wanted> wanted;
  /// Of an op that computes any block of its result: the elements of each operand that the block is computed from.
  std::vector<std::function<Block(const Block&)>> needs;

  /// A sharding whose parts are those that are computed: its axes stand for the mesh axes of `result` and of `combined`.
  Sharding work() const;
};

/// Applies the rule of the node's op. The operands are on one mesh. `as`: the result's sharding where it is known already.
Carried carry(const trace::Recorded& node, std::span<const Operand> operands, const Sharding* as = nullptr);
std::vector<Operand> operands_of(const trace::Operands& inputs, const trace::Site& site);

/// Sets the hook by which recording asks for the spread of a result.
void watch_recording();

}  // namespace sinter::ranks
