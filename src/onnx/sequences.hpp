// Operators on sequences of tensors. The length of a sequence is known while the model is recorded, like the number of a Loop's iterations. So a sequence is a
// C++ list of tensors, and plans contain no sequences.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/call.hpp"

namespace sinter::onnx {

/// An operand or result of a node.
struct NodeValue {
  Tensor tensor = {};                                        // empty: omitted, or a list
  std::shared_ptr<const std::vector<Tensor>> sequence = {};  // the tensors, if the value is a list
};

struct SequenceOperator {
  std::string_view name;
  Inputs inputs;
  /// `operands`: the call's operands, including lists.
  std::vector<NodeValue> (*record)(const Call& call, std::span<const NodeValue> operands);
};
/// Returns the operator's row, or nullptr.
const SequenceOperator* find_sequence_operator(std::string_view name);

}  // namespace sinter::onnx
