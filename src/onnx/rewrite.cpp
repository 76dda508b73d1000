#include "onnx/rewrite.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "onnx/execute.hpp"
#include "onnx/rewrite_rules.hpp"
#include "sinter/engine.hpp"
#include "sinter/ops.hpp"

namespace sinter::onnx {
namespace {

/// The largest number of elements of a constant that arithmetic makes of much fewer elements, such as filters that a model states by a formula.
constexpr std::int64_t kMaxExpanded = 1 << 20;

/// Returns whether the operator computes no elements, but repeats those of its input or a number.
bool only_repeats(std::string_view op) { return op == "Expand" || op == "ConstantOfShape" || op == "Tile"; }

/// Computes nodes that read only constants. A small description of a large tensor stays a node. A node that fails stays, so that a call of the model reports
/// the error. `each`: computes one node at a time, which is used if computing all at once fails.
int fold_constants(Graph& graph, bool each) {
  std::vector<Tensor> folded;
  std::vector<Node> left;
  int count = 0;
  for (Node& node : graph.nodes) {
    const Operator* op = find_operator(node.op);
    const bool known =
        op && std::all_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& input) { return input.empty() || graph.constants.contains(input); });
    const bool wanted = std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& output) { return graph.is_output(output); });
    if (!known || wanted) {
      left.push_back(std::move(node));
      continue;
    }
    std::vector<Tensor> operands;
    for (const std::string& input : node.inputs) operands.push_back(input.empty() ? Tensor() : graph.constants.at(input));
    try {
      const Results results = record_node(graph, node, op, operands, read_integers);
      std::int64_t in = 0, out = 0;
      for (const Tensor& operand : operands) in += operand.empty_handle() ? 0 : operand.size();
      for (const Tensor& result : results) out += result.empty_handle() ? 0 : result.size();
      if (out > 1024 && out > 4 * in && node.op != "Constant" && (out > kMaxExpanded || only_repeats(node.op))) {
        left.push_back(std::move(node));
        continue;
      }
      if (each) eval(results);
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.outputs[k].empty()) continue;
        graph.constants.insert_or_assign(node.outputs[k], results[k]);
        folded.push_back(results[k]);
      }
      ++count;
    } catch (const Error&) {
      left.push_back(std::move(node));
    }
  }
  graph.nodes = std::move(left);
  eval(folded);
  return count;
}

int fold_constants(Graph& graph) {
  Graph folded = graph;
  try {
    const int count = fold_constants(folded, false);
    graph = std::move(folded);
    return count;
  } catch (const Error&) {
    return fold_constants(graph, true);
  }
}

/// Returns whether all elements of the constant equal this number.
bool all_equal(const Tensor& constant, double number) {
  const std::vector<double> list = constant.astype(DType::float64).to_vector<double>();
  return std::all_of(list.begin(), list.end(), [&](double x) { return x == number; });
}

bool is_identity(const Graph& graph, const Node& node, const Types& types) {
  const auto input = [&](std::size_t k) { return k < node.inputs.size() && !node.inputs[k].empty() ? constant_of(graph, node.inputs[k]) : nullptr; };
  const auto given = [&](std::size_t k) { return k < node.inputs.size() && !node.inputs[k].empty(); };
  if (node.op == "Identity") return true;
  if (node.op == "Dropout") {  // the mask is not used, and the model is not in training mode
    if (node.outputs.size() > 1 && !node.outputs[1].empty()) return false;
    if (!given(2)) return true;
    const Tensor* training = input(2);
    return training && all_equal(*training, 0);
  }
  if (node.op == "Cast") {
    const auto from = types.of(node.inputs[0]), to = types.of(node.outputs[0]);
    return from && to && *from == *to;
  }
  if (node.op == "Transpose") {
    const std::vector<std::int64_t> axes = integers(node, "perm");
    return !axes.empty() && std::is_sorted(axes.begin(), axes.end());
  }
  if (node.op == "Concat" || node.op == "Max" || node.op == "Min" || node.op == "Sum" || node.op == "Mean") return node.inputs.size() == 1;
  if (node.op == "Pad") {
    const Tensor* widths = input(1);
    const std::vector<std::int64_t> list = integers(node, "pads");
    return given(1) ? widths && widths->size() > 0 && all_equal(*widths, 0)
                    : !list.empty() && std::all_of(list.begin(), list.end(), [](std::int64_t width) { return width == 0; });
  }
  if (node.op == "Slice") {  // from the first element to the end, with step 1
    const Tensor *starts = input(1), *ends = input(2);
    return starts && ends && all_equal(*starts, 0) && ends->dtype() == DType::int64 &&
           all_equal(*ends, static_cast<double>(std::numeric_limits<std::int64_t>::max())) && (!given(4) || (input(4) && all_equal(*input(4), 1)));
  }
  if (node.op == "Reshape") {  // each size is copied
    const Tensor* sizes = input(1);
    const auto rank = types.rank_of(node.inputs[0]);
    return sizes && integer(node, "allowzero", 0) == 0 && rank && *rank == sizes->size() && all_equal(*sizes, 0);
  }
  if (node.op == "Mul" || node.op == "Div" || node.op == "Sub" || node.op == "Pow") {  // the operand is a scalar without axes, so no shape changes
    const Tensor* by = node.inputs.size() == 2 ? input(1) : nullptr;
    return by && by->ndim() == 0 && all_equal(*by, node.op == "Sub" ? 0 : 1) && types.of(node.inputs[0]) == by->dtype();
  }
  return false;
}

/// Replaces a node whose result is its input by the input.
int remove_identities(Graph& graph) {
  int count = 0;
  const Types types(graph);
  std::vector<bool> gone(graph.nodes.size());
  std::map<std::string, std::string> same;  // value -> the value that equals it
  const auto inner = inner_reads(graph);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    redirect(node, same);
    const bool output = !node.outputs.empty() && (graph.is_output(node.outputs[0]) || inner.contains(node.outputs[0]));
    if (node.inputs.empty() || node.inputs[0].empty() || output || !is_identity(graph, node, types)) continue;
    same.emplace(node.outputs[0], node.inputs[0]);
    gone[n] = true;
    ++count;
  }
  erase_nodes(graph, gone);
  return count;
}

/// Removes nodes without readers, and then constants without readers.
int remove_dead(Graph& graph) {
  std::unordered_set<std::string> read;
  for (const ModelValue& output : graph.outputs) read.insert(output.name);
  for (const std::string& name : inner_reads(graph)) read.insert(name);
  std::vector<Node> left;
  int count = 0;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(), [&](const std::string& output) { return read.contains(output); })) {
      ++count;
      continue;
    }
    for (const std::string& input : node->inputs) read.insert(input);
    left.push_back(std::move(*node));
  }
  std::reverse(left.begin(), left.end());
  graph.nodes = std::move(left);
  std::erase_if(graph.constants, [&](const auto& constant) { return !read.contains(constant.first); });
  return count;
}

/// Replaces an If with a constant condition by its branch, unless the branch and the graph have values with the same name.
int take_branches(Graph& graph) {
  std::set<std::string, std::less<>> taken = inner_reads(graph);
  for (const auto& [name, tensor] : graph.constants) taken.insert(name);
  for (const ModelValue& input : graph.inputs) taken.insert(input.name);
  for (const Node& node : graph.nodes) taken.insert(node.outputs.begin(), node.outputs.end());
  std::vector<Node> nodes;
  int count = 0;
  for (Node& node : graph.nodes) {
    const auto branch = [&](const char* name) {
      const auto found = node.attributes.find(name);
      const auto* held = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
      return held && (*held)->inputs.empty() && (*held)->outputs.size() == node.outputs.size() ? *held : nullptr;
    };
    const Tensor* condition = node.op == "If" && node.inputs.size() == 1 ? constant_of(graph, node.inputs[0]) : nullptr;
    const bool whole = condition && condition->size() == 1 && branch("then_branch") && branch("else_branch");
    const std::shared_ptr<const Graph> held = whole ? branch(all_equal(*condition, 0) ? "else_branch" : "then_branch") : nullptr;
    std::vector<std::string> own;
    if (held) {
      for (const auto& [name, tensor] : held->constants) own.push_back(name);
      for (const Node& inner : held->nodes) own.insert(own.end(), inner.outputs.begin(), inner.outputs.end());
      std::erase(own, "");
    }
    if (!held || std::any_of(own.begin(), own.end(), [&](const std::string& name) { return taken.contains(name); })) {
      nodes.push_back(std::move(node));
      continue;
    }
    taken.insert(own.begin(), own.end());
    graph.constants.insert(held->constants.begin(), held->constants.end());
    nodes.insert(nodes.end(), held->nodes.begin(), held->nodes.end());
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (!node.outputs[k].empty()) nodes.push_back({"Identity", node.name, node.place, {held->outputs[k].name}, {node.outputs[k]}, {}});
    ++count;
  }
  graph.nodes = std::move(nodes);
  if (count > 0) sort_nodes(graph);
  return count;
}

struct Rule {
  std::string_view name, what;
  int (*apply)(Graph& graph);
  /// once: after the first rounds, when constants are computed, and before products are merged, because a merged constant does not show that a part of it is
  /// tiny as a whole; late: only in the rounds after that.
  enum { always, once, late } when = always;
};
constexpr Rule kRules[] = {
    {"remove_identity", "Identity, Dropout, and casts, transposes, pads, slices, reshapes and arithmetic that change nothing are replaced by their input",
     remove_identities},
    {"keep_quantized", "a Conv, MatMul or Gemm of results of DequantizeLinear multiplies the bytes and scales the sums", keep_quantized},
    {"fold_constants", "nodes that read only constants are computed when the model is loaded", fold_constants},
    {"take_branches", "an If with a constant condition becomes its branch", take_branches},
    {"absorb_pad", "a Pad with zeros becomes the padding of the Conv after it", absorb_pads},
    {"fold_batch_norm", "the constants of a BatchNormalization become one factor and one summand for each channel", fold_batch_norms},
    {"arrange_quantized", "a Reshape, Transpose, Slice, Split or nearest Resize of a result of DequantizeLinear rearranges the bytes", arrange_quantized},
    {"cancel_quantized", "a QuantizeLinear of a result of DequantizeLinear with the same scale and zero point is replaced by that one's input",
     cancel_quantized},
    {"pool_first", "a MaxPool of a nondecreasing function becomes the function of the MaxPool, which is computed for fewer elements", pool_first},
    {"merge_products", "products of one operand with several constant matrices become one, and so do the additions of rows to them", merge_products,
     Rule::late},
    {"remove_dead", "nodes without readers are removed", remove_dead},
    {"flush_subnormals", "subnormal numbers among weights become 0, because a processor takes a hundred times as long for them", flush_subnormals, Rule::once},
};

}  // namespace

std::vector<Rewrite> rewrite(Graph& graph, const std::vector<std::string>& without) {
  std::vector<Rewrite> counts;
  std::vector<bool> left_out;
  for (const Rule& rule : kRules) {
    counts.push_back({rule.name, rule.what, 0});
    left_out.push_back(std::find(without.begin(), without.end(), rule.name) != without.end());
  }
  for (const std::string& name : without) {
    std::vector<std::string_view> names;
    for (const Rule& rule : kRules) names.push_back(rule.name);
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw ValueError(fmt::format("there is no rewrite '{}'; the rewrites are {}", name, fmt::join(names, ", ")));
  }
  const auto apply = [&](auto... when) {
    int all = 0;
    for (std::size_t k = 0; k < std::size(kRules); ++k) {
      if (left_out[k] || ((kRules[k].when != when) && ...)) continue;
      const int fired = kRules[k].apply(graph);
      counts[k].count += fired;
      all += fired;
    }
    return all;
  };
  while (apply(Rule::always) > 0) {
  }
  apply(Rule::once);
  while (apply(Rule::always, Rule::late) > 0) {
  }
  std::vector<Tensor> constants;
  for (const auto& [name, tensor] : graph.constants) constants.push_back(tensor);
  eval(constants);  // computed weights
  return counts;
}

}  // namespace sinter::onnx
