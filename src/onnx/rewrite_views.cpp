// Rewrites of nodes that only rearrange elements, and of nodes that repeat another one.
#include <algorithm>
#include <limits>
#include <map>

#include "onnx/rewrite_rules.hpp"

namespace sinter::onnx {

int merge_transposes(Graph& graph) {
  int count = 0;
  const Uses uses(graph);
  std::vector<bool> gone(graph.nodes.size());
  std::map<std::string, std::string> same;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    redirect(node, same);
    const std::vector<std::int64_t> axes = integers(node, "perm");
    if (node.op != "Transpose" || axes.empty() || node.inputs.empty()) continue;
    const auto giver = uses.giver(node.inputs[0]);
    if (!giver || graph.nodes[*giver].op != "Transpose" || graph.nodes[*giver].inputs.empty()) continue;
    const std::vector<std::int64_t> before = integers(graph.nodes[*giver], "perm");
    if (before.size() != axes.size()) continue;
    std::vector<std::int64_t> both(axes.size());
    bool identity = true, fine = true;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      fine &= axes[i] >= 0 && axes[i] < static_cast<std::int64_t>(axes.size());
      if (!fine) break;
      both[i] = before[static_cast<std::size_t>(axes[i])];
      identity &= both[i] == static_cast<std::int64_t>(i);
    }
    if (!fine) continue;
    ++count;
    node.inputs[0] = graph.nodes[*giver].inputs[0];  // another rewrite removes the first node if it has no other reader
    node.attributes.insert_or_assign("perm", both);
    if (!identity || graph.is_output(node.outputs[0]) || inner_reads(graph).contains(node.outputs[0])) continue;
    same.emplace(node.outputs[0], node.inputs[0]);
    gone[n] = true;
  }
  erase_nodes(graph, gone);
  return count;
}

int merge_reshapes(Graph& graph) {
  int count = 0;
  const Uses uses(graph);
  for (Node& node : graph.nodes) {
    if (node.op != "Reshape" || node.inputs.size() != 2) continue;
    const auto giver = uses.giver(node.inputs[0]);
    if (!giver) continue;
    const Node& before = graph.nodes[*giver];
    if (before.op != "Reshape" && before.op != "Flatten" && before.op != "Squeeze" && before.op != "Unsqueeze") continue;
    if (before.inputs.empty()) continue;
    const Tensor* sizes = constant_of(graph, node.inputs[1]);
    if (!sizes || sizes->dtype() != DType::int64 || integer(node, "allowzero", 0) != 0) continue;
    const std::vector<std::int64_t> list = sizes->to_vector<std::int64_t>();
    if (std::find(list.begin(), list.end(), 0) != list.end()) continue;  // a 0 copies a size of the shape in between
    node.inputs[0] = before.inputs[0];
    ++count;
  }
  return count;
}

namespace {

/// Returns whether `to` represents every number of `from`.
bool holds_all(DType to, DType from) {
  if (to == from || from == DType::bool_) return true;
  const int bits_to = static_cast<int>(itemsize(to)) * 8, bits_from = static_cast<int>(itemsize(from)) * 8;
  if (is_floating(from)) return is_floating(to) && bits_to > bits_from;  // float16 and bfloat16 represent different numbers
  if (to == DType::bool_) return false;
  const int digits = bits_from - (is_unsigned(from) ? 0 : 1);
  if (is_floating(to)) return digits <= visit_storage(to, []<class T>() { return std::numeric_limits<T>::digits; });
  return is_unsigned(to) ? is_unsigned(from) && bits_to > bits_from : bits_to > bits_from;
}

}  // namespace

int merge_casts(Graph& graph) {
  int count = 0;
  const Uses uses(graph);
  const Types types(graph);
  for (Node& node : graph.nodes) {
    if (node.op != "Cast" || node.inputs.empty()) continue;
    const auto giver = uses.giver(node.inputs[0]);
    if (!giver || graph.nodes[*giver].op != "Cast" || graph.nodes[*giver].inputs.empty()) continue;
    const std::string& first = graph.nodes[*giver].inputs[0];
    const auto from = types.of(first), between = types.of(node.inputs[0]);
    if (!from || !between || !holds_all(*between, *from)) continue;
    node.inputs[0] = first;  // another rewrite removes the first node if it has no other reader
    ++count;
  }
  return count;
}

namespace {

/// Returns whether the node is a nondecreasing function: the function of the maximum is then the maximum of the function.
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
    break;  // the table of givers is out of date: the next application continues
  }
  return count;
}

namespace {

/// Returns the properties that decide a node's result, as text; an empty text if they are unknown or the node must not be merged with another.
std::string meaning(const Node& node) {
  if (node.op.starts_with("Random") || node.op == "Multinomial" || node.op == "Bernoulli" || node.op == "Dropout") return {};
  std::string text = node.op;
  for (const std::string& input : node.inputs) text += '\0' + input;
  for (const auto& [name, value] : node.attributes) {
    text += '\1' + name + '\2';
    if (const auto* i = std::get_if<std::int64_t>(&value)) text += std::to_string(*i);
    else if (const auto* s = std::get_if<std::string>(&value)) text += *s;
    else if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
      for (const std::int64_t i2 : *list) text += std::to_string(i2) + ',';
    else if (const auto* f = std::get_if<float>(&value)) text.append(reinterpret_cast<const char*>(f), sizeof *f);
    else return {};
  }
  return text;
}

}  // namespace

int merge_equal_nodes(Graph& graph) {
  int count = 0;
  std::map<std::string, std::size_t> known;
  std::map<std::string, std::string> same;
  std::vector<bool> gone(graph.nodes.size());
  const auto inner = inner_reads(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    redirect(node, same);
    const bool fixed =
        std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& output) { return graph.is_output(output) || inner.contains(output); });
    const std::string key = meaning(node);
    if (key.empty()) continue;
    const auto [at, added] = known.emplace(key, n);
    if (added || fixed || graph.nodes[at->second].outputs.size() != node.outputs.size()) continue;
    const Node& first = graph.nodes[at->second];
    bool whole = true;
    for (std::size_t k = 0; k < node.outputs.size(); ++k) whole &= node.outputs[k].empty() || !first.outputs[k].empty();
    if (!whole) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) same.emplace(node.outputs[k], first.outputs[k]);
    gone[n] = true;
    ++count;
  }
  erase_nodes(graph, gone);
  return count;
}

}  // namespace sinter::onnx
