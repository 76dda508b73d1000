// The recording of a formula with decisions, as stages. A stage follows a path of turns and ends at the next decision, at the end of a loop's round, or with
// the results. The costly values that a stage has computed for its decision are kept: they are results of the stage, and inputs of the stages after it.
#pragma once
#include <cstddef>
#include <vector>

#include "freeze/decisions.hpp"
#include "freeze/frozen_function.hpp"

namespace sinter::freezing {

/// The turns that lead from the beginning of a round to its end, and the number of values that it collects.
struct Round {
  std::vector<Turn> turns;
  std::size_t collected = 0;
};

/// The values that a decision keeps.
struct Kept {
  std::vector<std::size_t> numbers;  // among the values from which the decision is computed, operands first
  std::vector<DType> dtypes;
  Hash128 structure;  // of those values at the sizes of the first recording; with another structure nothing is kept
};

/// The turns that lead to a stage, where it ends, and the values that it and the stages before it keep.
struct StagePath {
  std::vector<Turn> turns;
  std::vector<Kept> kept;  // for each decision, the one at the end included
  bool recorded = false;   // the first recording finds what follows
  End end = End::results;
  Site decision;             // the call that decides
  std::size_t state = 0;     // of a loop: the number of tensors in its state
  Round round;               // of a loop
  std::size_t counters = 0;  // of the path: the number of loops behind it that collect values

  bool decides() const { return end == End::condition || end == End::loop; }
};

/// Records the stage on placeholders of the formula's inputs and, for each counted loop, of one element a round. Appends placeholders for the values that the
/// turns introduce, and for those that the stages before this one keep. Returns the results; or the condition and the values to keep; or whether a loop has a
/// first round, its state, and the values to keep; or whether a round is followed by another, the state, and the collected values. The first recording finds
/// where the stage ends and what it keeps. Throws OtherDecisions if another one
/// ends elsewhere, and ValueError for a formula that is not recorded alike each time.
std::vector<Tensor> record_stage(const Function::Formula& formula, StagePath& path, std::vector<Tensor>& inputs);

/// Finds a way through a round of the loop to which a path leads.
Round through_round(const Function::Formula& formula, const StagePath& loop, const std::vector<Tensor>& inputs);

}  // namespace sinter::freezing
