// The recording of a formula with decisions, as stages. A stage follows a path of answers and ends at the next decision or with the results. The costly values
// that a stage has computed for its decision are kept: they are results of the stage, and further inputs of the stages after it.
#pragma once
#include <cstddef>
#include <vector>

#include "freeze/frozen_function.hpp"

namespace sinter::freezing {

/// The answers that lead to a stage, and the values that it and the stages before it keep.
struct StagePath {
  std::vector<bool> answers;
  /// For each decision, its own included: the numbers of the kept values among the values from which the condition is computed, operands first. Numbers beyond
  /// the last, at sizes with a shorter recording, mean the last.
  std::vector<std::vector<std::size_t>> kept;
  bool first = true;      // nothing was recorded yet
  bool decides = false;   // whether it ends at a decision, not with the results
  trace::Site decision;   // the call that decides
};

/// Records the stage on placeholders of the formula's inputs, appends a placeholder for each value that the stages before it keep, and returns the condition and
/// the values to keep, or the results. The first recording finds where the stage ends and what it keeps. Throws ValueError if another one ends elsewhere.
std::vector<Tensor> record_stage(const Function::Formula& formula, StagePath& path, std::vector<Tensor>& inputs);

}  // namespace sinter::freezing
