// Operators on lists of tensors. The length of a list is known while the model is recorded, as is the number of a Loop's results. So a list is only a C++ list
// of tensors, and plans contain none.
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
