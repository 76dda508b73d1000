// Exchanges a MaxPool and the function before it.
#include "onnx/rewrite_rules.hpp"

namespace sinter::onnx {
namespace {

/// Returns whether the node is a nondecreasing function, so that the function of the maximum is the maximum of the function.
bool rises(const Graph& graph, const Node& node) {
  if (node.op == "Sigmoid" || node.op == "Tanh" || node.op == "Softplus" || node.op == "Softsign" || node.op == "Erf" || node.op == "Exp" || node.op == "Relu")
    return true;
  if (node.op == "DequantizeLinear") {
    const Tensor* scale = node.inputs.size() > 1 ? constant_of(graph, node.inputs[1]) : nullptr;
    return scale && scale->size() == 1 && integer(node, "block_size", 0) == 0 && scale->astype(DType::float64).item<double>() > 0;
  }
  if (node.op == "HardSigmoid") return number(node, "alpha", 0.2f) >= 0;
  if (node.op == "LeakyRelu") return number(node, "alpha", 0.01f) >= 0;
  if (node.op == "Elu") return number(node, "alpha", 1) >= 0;
  if (node.op != "Clip") return false;
  for (std::size_t k = 1; k < node.inputs.size(); ++k)
    if (!node.inputs[k].empty() && !constant_of(graph, node.inputs[k])) return false;
  return true;
}

/// Returns whether the node takes a few comparisons for each number, which cost nothing after a convolution.
bool is_cheap(const Node& node) { return node.op == "Relu" || node.op == "Clip" || node.op == "LeakyRelu"; }

}  // namespace

int pool_first(Graph& graph) {
  int count = 0;
  const Uses uses(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& pool = graph.nodes[n];
    if ((pool.op != "MaxPool" && pool.op != "GlobalMaxPool") || pool.outputs.size() != 1 || pool.inputs.size() != 1 || integer(pool, "ceil_mode", 0) != 0)
      continue;
    const auto giver = uses.giver(pool.inputs[0]);
    if (!giver || uses.only_reader(pool.inputs[0]) != n) continue;
    Node& function = graph.nodes[*giver];
    if (!rises(graph, function) || function.outputs.size() != 1 || function.inputs.empty()) continue;
    const auto before = uses.giver(function.inputs[0]);
    if (is_cheap(function) && before && (graph.nodes[*before].op == "Conv" || graph.nodes[*before].op == "ConvTranspose")) continue;
    const std::string pooled = function.outputs[0] + "/pooled";
    pool.inputs[0] = function.inputs[0];
    function.inputs[0] = pooled;
    function.outputs[0] = pool.outputs[0];
    pool.outputs[0] = pooled;
    std::swap(pool, function);
    ++count;
    break;  // the table of producers is out of date, so the next application of the rule continues
  }
  return count;
}

}  // namespace sinter::onnx
