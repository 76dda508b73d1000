// Convolutions and products that read dequantised numbers read the 8-bit integers and their scales instead, so that they multiply bytes.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "onnx/quantized.hpp"
#include "onnx/rewrite_rules.hpp"
#include "sinter/ops.hpp"

namespace sinter::onnx {
namespace {

/// A DequantizeLinear whose parameters are constants: one scale and zero point, or one for each index of an axis.
struct Quantized {
  std::string numbers, scale, zero;  // zero: "" if it is omitted
  const Tensor* constant = nullptr;  // the integers, if they are a constant of the model
  std::int64_t scales = 1, axis = 1;
};

class Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), uses_(graph), types_(graph) {}

  std::optional<Quantized> quantized(const std::string& value) const {
    const auto giver = uses_.giver(value);
    if (!giver || graph_.nodes[*giver].op != "DequantizeLinear") return {};
    const Node& node = graph_.nodes[*giver];
    if (node.inputs.size() < 2 || integer(node, "block_size", 0) != 0) return {};
    Quantized found{node.inputs[0], node.inputs[1], node.inputs.size() > 2 ? node.inputs[2] : "", constant(node.inputs[0])};
    const Tensor *scale = constant(found.scale), *zero = found.zero.empty() ? nullptr : constant(found.zero);
    if (!scale || scale->dtype() != DType::float32 || scale->size() < 1 || (!found.zero.empty() && (!zero || zero->size() != scale->size()))) return {};
    const auto dtype = zero ? zero->dtype() : found.constant ? found.constant->dtype() : types_.of(found.numbers);
    if (dtype != DType::int8 && dtype != DType::uint8) return {};
    found.scales = scale->size();
    found.axis = integer(node, "axis", 1);
    return found;
  }
  /// Returns a constant, or the value of a Constant node that is not folded yet.
  const Tensor* constant(const std::string& value) const {
    if (const Tensor* known = constant_of(graph_, value)) return known;
    const auto giver = uses_.giver(value);
    if (!giver || graph_.nodes[*giver].op != "Constant") return nullptr;
    const auto given = graph_.nodes[*giver].attributes.find("value");
    return given == graph_.nodes[*giver].attributes.end() ? nullptr : std::get_if<Tensor>(&given->second);
  }
  bool is_known(const std::string& value) const { return constant_of(graph_, value) || uses_.giver(value); }

 private:
  const Graph& graph_;
  Uses uses_;
  Types types_;
};

/// Returns whether the constant integers have one scale, or one for each index of this axis.
bool scales_along(const Quantized& w, std::int64_t axis) {
  if (w.scales == 1) return true;
  const std::int64_t rank = w.constant ? w.constant->ndim() : 0;
  return w.constant && (w.axis < 0 ? w.axis + rank : w.axis) == axis && w.constant->shape()[static_cast<std::size_t>(axis)] == w.scales;
}

std::vector<std::string> inputs_of(const Quantized& x, const Quantized& w) { return {x.numbers, x.scale, x.zero, w.numbers, w.scale, w.zero}; }

bool same_number(const Tensor* a, const Tensor* b) {
  return a && b && a->dtype() == b->dtype() && a->size() == 1 && b->size() == 1 &&
         a->astype(DType::float64).item<double>() == b->astype(DType::float64).item<double>();
}

}  // namespace

namespace {

/// Returns whether the node only rearranges elements of its first operand.
bool only_arranges(const Node& node) {
  static constexpr std::string_view kViews[] = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Slice", "Split", "DepthToSpace", "SpaceToDepth"};
  if (node.op == "Resize")
    return attribute_text(node, "mode", "nearest") == "nearest" && attribute_text(node, "coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize";
  return std::find(std::begin(kViews), std::end(kViews), node.op) != std::end(kViews);
}

}  // namespace

int arrange_quantized(Graph& graph) {
  int count = 0;
  const Finder find(graph);
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    const auto of = only_arranges(node) && !node.inputs.empty() ? find.quantized(node.inputs[0]) : std::nullopt;
    nodes.push_back(node);
    if (!of || of->scales != 1 || of->constant) continue;
    Node& view = nodes.back();
    view.inputs[0] = of->numbers;
    std::vector<Node> after;
    for (std::string& output : view.outputs) {
      if (output.empty()) continue;
      std::string numbers = output + "/numbers";
      while (find.is_known(numbers)) numbers += "'";
      after.push_back({"DequantizeLinear", node.name, node.place, {numbers, of->scale, of->zero}, {output}, {}});
      if (of->zero.empty()) after.back().inputs.pop_back();
      output = numbers;
    }
    nodes.insert(nodes.end(), std::make_move_iterator(after.begin()), std::make_move_iterator(after.end()));
    ++count;
  }
  graph.nodes = std::move(nodes);
  return count;
}

/// (q - zero) * scale / scale equals q - zero up to two roundings, and no other integer is as near.
int cancel_quantized(Graph& graph) {
  int count = 0;
  const Finder find(graph);
  const auto within = inner_reads(graph);
  std::vector<bool> gone(graph.nodes.size());
  std::map<std::string, std::string> same;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    redirect(node, same);
    if (node.op != "QuantizeLinear" || node.inputs.size() != 3 || node.outputs.size() != 1 || graph.is_output(node.outputs[0]) ||
        within.contains(node.outputs[0]))
      continue;
    const auto of = find.quantized(node.inputs[0]);
    if (!of || of->zero.empty() || !same_number(find.constant(of->scale), find.constant(node.inputs[1])) ||
        !same_number(find.constant(of->zero), find.constant(node.inputs[2])))
      continue;
    const double scale = find.constant(of->scale)->astype(DType::float64).item<double>();
    if (!(scale > 1e-30 && scale < 1e30)) continue;  // keeps the products normal numbers
    same.emplace(node.outputs[0], of->numbers);
    gone[n] = true;
    ++count;
  }
  erase_nodes(graph, gone);
  return count;
}

int keep_quantized(Graph& graph) {
  int count = 0;
  const Finder find(graph);
  std::vector<Node> nodes;
  nodes.reserve(graph.nodes.size());
  for (Node& node : graph.nodes) {
    nodes.push_back(node);
    Node& made = nodes.back();
    const bool conv = node.op == "Conv", gemm = node.op == "Gemm";
    if ((!conv && !gemm && node.op != "MatMul") || node.inputs.size() < 2 || node.outputs.size() != 1) continue;
    const auto x = find.quantized(node.inputs[0]);
    auto w = find.quantized(node.inputs[1]);
    if (!x || !w || x->scales != 1) continue;
    if (conv) {
      if (!w->constant || w->constant->ndim() < 3 || !scales_along(*w, 0)) continue;
      made.op = kQuantizedConv;
      made.inputs = inputs_of(*x, *w);
      if (node.inputs.size() > 2) made.inputs.push_back(node.inputs[2]);
      ++count;
      continue;
    }
    if (gemm) {
      const bool turned = integer(node, "transB", 0) != 0;
      if (integer(node, "transA", 0) != 0 || number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1 || !w->constant || w->constant->ndim() != 2 ||
          !scales_along(*w, turned ? 0 : 1))
        continue;
      if (turned) w->numbers = add_constant(graph, w->numbers, transpose(*w->constant));
    } else if (!(w->scales == 1 || (w->constant && w->constant->ndim() == 2 && scales_along(*w, 1)))) {
      continue;
    }
    made = {std::string(kQuantizedMatMul), node.name, node.place, inputs_of(*x, *w), node.outputs, {}};
    ++count;
    if (!gemm || node.inputs.size() < 3 || node.inputs[2].empty()) continue;
    std::string product = node.outputs[0] + "/product";
    while (find.is_known(product)) product += "'";
    made.outputs = {product};
    nodes.push_back({"Add", node.name, node.place, {product, node.inputs[2]}, node.outputs, {}});
  }
  graph.nodes = std::move(nodes);
  return count;
}

}  // namespace sinter::onnx
