// Rewrites that merge several nodes to one product, convolution or constant.
#include <algorithm>

#include "onnx/rewrite_rules.hpp"
#include "sinter/ops.hpp"

namespace sinter::onnx {
namespace {

/// Finds the Adds of a constant row, as wide as the product, that are the only readers of the products; returns nothing if one product has no such reader.
std::vector<std::size_t> biases_of(const Graph& graph, const Uses& uses, const std::vector<std::size_t>& products, const std::vector<std::int64_t>& widths,
                                   std::vector<Tensor>& rows) {
  std::vector<std::size_t> adds;
  for (std::size_t k = 0; k < products.size(); ++k) {
    const std::string& product = graph.nodes[products[k]].outputs[0];
    const auto reader = uses.only_reader(product);
    if (!reader || graph.nodes[*reader].op != "Add" || graph.nodes[*reader].inputs.size() != 2) return {};
    const Node& add = graph.nodes[*reader];
    const Tensor* row = constant_of(graph, add.inputs[add.inputs[0] == product ? 1 : 0]);
    if (!row || row->shape() != Shape{widths[k]} || row->dtype() != constant_of(graph, graph.nodes[products[k]].inputs[1])->dtype()) return {};
    rows.push_back(*row);
    adds.push_back(*reader);
  }
  return adds;
}

}  // namespace

/// Merges products of one operand with several constant matrices into one product, whose result is read in parts. Also merges additions of a constant row to
/// each product.
int merge_products(Graph& graph) {
  int count = 0;
  const Uses uses(graph);
  std::map<std::string, std::vector<std::size_t>> by_operand;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != "MatMul" || node.inputs.size() != 2) continue;
    const Tensor* weight = constant_of(graph, node.inputs[1]);
    if (weight && weight->ndim() == 2 && is_floating(weight->dtype())) by_operand[node.inputs[0]].push_back(n);
  }
  std::vector<Node> splits;
  for (const auto& [operand, group] : by_operand) {
    if (group.size() < 2) continue;
    std::vector<Tensor> weights;
    std::vector<std::int64_t> widths;
    const Tensor& first = *constant_of(graph, graph.nodes[group[0]].inputs[1]);
    bool same = true;
    for (const std::size_t n : group) {
      const Tensor& weight = *constant_of(graph, graph.nodes[n].inputs[1]);
      same &= weight.dtype() == first.dtype() && weight.size(0) == first.size(0);
      weights.push_back(weight);
      widths.push_back(weight.size(1));
    }
    if (!same) continue;
    std::vector<Tensor> rows;
    const std::vector<std::size_t> adds = biases_of(graph, uses, group, widths, rows);
    Node& merged = graph.nodes[group[0]];
    Node split{"Split", merged.name + "/parts", merged.place, {}, {}, {}};
    for (const std::size_t n : adds.empty() ? group : adds) split.outputs.push_back(graph.nodes[n].outputs[0]);
    const std::string whole = merged.outputs[0] + "/merged";
    split.inputs = {whole};
    if (!adds.empty()) {
      Node& add = graph.nodes[adds[0]];
      add.inputs = {whole, add_constant(graph, merged.name + "/bias", concatenate(rows, 0))};
      add.outputs[0] = split.inputs[0] = whole + "/biased";
      for (std::size_t k = 1; k < adds.size(); ++k) graph.nodes[adds[k]].op.clear();
    }
    split.attributes.emplace("axis", std::int64_t{-1});
    split.attributes.emplace("split", widths);
    merged.inputs[1] = add_constant(graph, merged.inputs[1], concatenate(weights, 1));
    merged.outputs[0] = whole;
    for (std::size_t k = 1; k < group.size(); ++k) graph.nodes[group[k]].op.clear();
    splits.push_back(std::move(split));
    count += static_cast<int>(group.size()) - 1;
  }
  if (count == 0) return 0;
  for (Node& split : splits) graph.nodes.push_back(std::move(split));
  std::erase_if(graph.nodes, [](const Node& node) { return node.op.empty(); });
  sort_nodes(graph);
  return count;
}

/// Computes in float64 and rounds once.
int fold_batch_norms(Graph& graph) {
  int count = 0;
  for (Node& node : graph.nodes) {
    if (node.op != "BatchNormalization" || integer(node, "training_mode", 0) != 0 ||
        std::any_of(node.outputs.begin() + 1, node.outputs.end(), [](const std::string& output) { return !output.empty(); }))
      continue;
    Tensor p[4];  // scale, bias, mean, variance
    DType dtype{};
    for (std::size_t k = 0; k < 4; ++k)
      if (const Tensor* constant = constant_of(graph, node.inputs[k + 1]); constant && constant->ndim() == 1) {
        if (k == 0) dtype = constant->dtype();
        p[k] = astype(*constant, DType::float64);
      }
    if (std::any_of(p, p + 4, [&](const Tensor& each) { return each.empty_handle() || each.shape() != p[0].shape(); })) continue;
    const Tensor factor = p[0] / sqrt(p[3] + number(node, "epsilon", 1e-5f));
    node.op = kScaledChannels;
    node.inputs = {node.inputs[0], add_constant(graph, node.inputs[1], astype(factor, dtype)),
                   add_constant(graph, node.inputs[2], astype(p[1] - p[2] * factor, dtype))};
    ++count;
  }
  return count;
}

int absorb_pads(Graph& graph) {
  int count = 0;
  Uses uses(graph);
  std::vector<bool> gone(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (node.op != "Conv" || node.inputs.empty() || attribute_text(node, "auto_pad", "NOTSET") != "NOTSET") continue;
    const auto giver = uses.giver(node.inputs[0]);
    if (!giver || gone[*giver] || uses.only_reader(node.inputs[0]) != n) continue;
    const Node& pad = graph.nodes[*giver];
    if (pad.op != "Pad" || pad.inputs.empty() || attribute_text(pad, "mode", "constant") != "constant" || (pad.inputs.size() > 3 && !pad.inputs[3].empty()))
      continue;
    std::vector<std::int64_t> widths = integers(pad, "pads");
    if (widths.empty() && pad.inputs.size() > 1)
      if (const Tensor* constant = constant_of(graph, pad.inputs[1]); constant && constant->dtype() == DType::int64)
        widths = constant->to_vector<std::int64_t>();
    double fill = number(pad, "value", 0);
    if (pad.inputs.size() > 2 && !pad.inputs[2].empty()) {
      const Tensor* constant = constant_of(graph, pad.inputs[2]);
      if (!constant || constant->size() != 1) continue;
      fill = astype(*constant, DType::float64).item<double>();
    }
    const std::size_t rank = widths.size() / 2;
    if (fill != 0 || rank < 3 || widths.size() % 2 != 0 || widths[0] != 0 || widths[1] != 0 || widths[rank] != 0 || widths[rank + 1] != 0) continue;
    std::vector<std::int64_t> pads = integers(node, "pads");
    const auto far = [](std::int64_t width) { return width < 0 || width > std::int64_t{1} << 30; };
    if (std::any_of(widths.begin(), widths.end(), far) || std::any_of(pads.begin(), pads.end(), far)) continue;
    if (pads.empty()) pads.resize(2 * (rank - 2));
    if (pads.size() != 2 * (rank - 2)) continue;
    for (std::size_t i = 0; i + 2 < rank; ++i) pads[i] += widths[i + 2], pads[i + rank - 2] += widths[rank + i + 2];
    node.attributes.insert_or_assign("pads", pads);
    node.inputs[0] = pad.inputs[0];
    gone[*giver] = true;
    ++count;
  }
  erase_nodes(graph, gone);
  return count;
}

}  // namespace sinter::onnx
