#include "onnx/rewrite_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "onnx/types.hpp"

namespace sinter::onnx {

Uses::Uses(const Graph& graph) {
  constexpr std::size_t kOutside = std::numeric_limits<std::size_t>::max();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::string& output : graph.nodes[n].outputs) givers_[output] = n;
    for (const std::string& input : graph.nodes[n].inputs) readers_[input].push_back(n);
  }
  for (const ModelValue& output : graph.outputs) readers_[output.name].push_back(kOutside);
  for (const std::string& name : inner_reads(graph)) readers_[name].push_back(kOutside);
}

std::optional<std::size_t> Uses::giver(const std::string& value) const {
  const auto found = givers_.find(value);
  return found == givers_.end() || value.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Uses::only_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  if (value.empty() || found == readers_.end() || found->second.size() != 1 || found->second[0] == std::numeric_limits<std::size_t>::max()) return {};
  return found->second[0];
}

namespace {

// Operators whose first result has the type of their first operand.
constexpr std::string_view kKeepType[] = {"Abs",         "Add",       "AveragePool", "BatchNormalization",
                                          "Ceil",        "Clip",      "Concat",      "Conv",
                                          "Div",         "Dropout",   "Elu",         "Erf",
                                          "Exp",         "Expand",    "Flatten",     "Floor",
                                          "Gather",      "Gelu",      "Gemm",        "GlobalAveragePool",
                                          "HardSigmoid", "HardSwish", "Identity",    "LayerNormalization",
                                          "LeakyRelu",   "Log",       "MatMul",      "Max",
                                          "MaxPool",     "Mean",      "Min",         "Mul",
                                          "Neg",         "Pad",       "Pow",         "ReduceMax",
                                          "ReduceMean",  "ReduceSum", "Relu",        "Reshape",
                                          "Sigmoid",     "Slice",     "Softmax",     "Split",
                                          "Sqrt",        "Squeeze",   "Sub",         "Sum",
                                          "Tanh",        "Tile",      "Transpose",   "Unsqueeze"};

}  // namespace

Types::Types(const Graph& graph) {
  for (const ModelValue& input : graph.inputs) {
    types_[input.name] = input.dtype;
    if (input.shape) ranks_[input.name] = static_cast<std::int64_t>(input.shape->size());
  }
  for (const auto& [name, constant] : graph.constants) {
    types_[name] = constant.dtype();
    ranks_[name] = constant.ndim();
  }
  for (const Node& node : graph.nodes) {
    if (node.outputs.empty() || node.outputs[0].empty()) continue;
    if (node.op == "Cast") {
      if (const auto to = element_type(integer(node, "to", 0))) types_[node.outputs[0]] = *to;
    } else if (node.op == "Shape" || node.op == "Size" || node.op == "ArgMax" || node.op == "ArgMin" || node.op == "NonZero") {
      types_[node.outputs[0]] = DType::int64;
    } else if (std::find(std::begin(kKeepType), std::end(kKeepType), node.op) != std::end(kKeepType) && !node.inputs.empty()) {
      if (const auto from = of(node.inputs[0]))
        for (const std::string& output : node.op == "Split" ? node.outputs : std::vector<std::string>{node.outputs[0]}) types_[output] = *from;
    }
  }
}

std::optional<DType> Types::of(const std::string& value) const {
  const auto found = types_.find(value);
  return found == types_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::int64_t> Types::rank_of(const std::string& value) const {
  const auto found = ranks_.find(value);
  return found == ranks_.end() ? std::nullopt : std::optional(found->second);
}

const Tensor* constant_of(const Graph& graph, const std::string& value) {
  const auto found = graph.constants.find(value);
  return found == graph.constants.end() ? nullptr : &found->second;
}

std::string add_constant(Graph& graph, const std::string& like, const Tensor& tensor) {
  for (int k = 1;; ++k) {
    std::string name = fmt::format("{}/folded{}", like, k);
    if (graph.constants.emplace(name, tensor).second) return name;
  }
}

void redirect(Node& node, const std::map<std::string, std::string>& same) {
  for (std::string& input : node.inputs)
    if (const auto found = same.find(input); !input.empty() && found != same.end()) input = found->second;
}

void erase_nodes(Graph& graph, const std::vector<bool>& gone) {
  std::vector<Node> left;
  left.reserve(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!gone[n]) left.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(left);
}

namespace {

template <class T> const T* find(const Node& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

std::int64_t integer(const Node& node, std::string_view attribute, std::int64_t otherwise) {
  const auto* value = find<std::int64_t>(node, attribute);
  return value ? *value : otherwise;
}
double number(const Node& node, std::string_view attribute, double otherwise) {
  const auto* value = find<float>(node, attribute);
  return value ? *value : otherwise;
}
std::string attribute_text(const Node& node, std::string_view attribute, const std::string& otherwise) {
  const auto* value = find<std::string>(node, attribute);
  return value ? *value : otherwise;
}
std::vector<std::int64_t> integers(const Node& node, std::string_view attribute) {
  const auto* value = find<std::vector<std::int64_t>>(node, attribute);
  return value ? *value : std::vector<std::int64_t>();
}

}  // namespace sinter::onnx
