// Operators of lists of tensors. Their lengths are known while the model is recorded, as those of a Loop's results are, so that a list is no more than the
// tensors in it: nothing of it is left in a plan.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/call.hpp"

namespace sinter::onnx {

/// What a node takes or gives.
struct NodeValue {
  Tensor tensor = {};                                        // empty: left out, or a list
  std::shared_ptr<const std::vector<Tensor>> sequence = {};  // of a value that is a list of tensors
};

struct SequenceOperator {
  std::string_view name;
  Inputs inputs;
  /// `operands` are those of the call, lists among them.
  std::vector<NodeValue> (*record)(const Call& call, std::span<const NodeValue> operands);
};
/// The row of an operator, or nullptr.
const SequenceOperator* find_sequence_operator(std::string_view name);

}  // namespace sinter::onnx
