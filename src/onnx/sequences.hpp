// Operators of lists of tensors. Their lengths are known while the model is recorded, as those of a Loop's results are, so that a list is no more than the
// tensors in it: nothing of it is left in a plan.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "onnx/call.hpp"
#include "onnx/layout.hpp"

namespace sinter::onnx {

struct SequenceOperator {
  std::string_view name;
  Inputs inputs;
  /// `operands` are those of the call, lists among them.
  std::vector<Laid> (*record)(const Call& call, std::span<const Laid> operands);
};
/// The row of an operator, or nullptr.
const SequenceOperator* find_sequence_operator(std::string_view name);

}  // namespace sinter::onnx
