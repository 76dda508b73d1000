// Rewrites that change weights. An operation after a convolution or product with constant weights becomes part of the weights if it is one factor and
// one summand for each channel. The weights are computed in float64 and rounded once.
#include <algorithm>

#include "onnx/rewrite_rules.hpp"
#include "sinter/ops.hpp"

namespace sinter::onnx {
namespace {

/// y = x * factor + summand for each channel, float64, both of shape [channels].
struct Affine {
  Tensor factor, summand;
};

Tensor wide(const Tensor& x) { return astype(x, DType::float64); }

/// Returns a constant as one number for each of `channels`, if it broadcasts so to [batch, channels, places..] of this rank; otherwise nothing.
Tensor per_channel(const Tensor& constant, std::int64_t channels, int rank, int channel_axis) {
  if (constant.ndim() > rank) return {};  // the constant would add axes
  if (constant.size() == 1) return broadcast_to(reshape(wide(constant), {1}), {channels});
  for (int i = 0; i < constant.ndim(); ++i) {
    const int axis = rank - constant.ndim() + i;
    if (constant.size(i) != (axis == channel_axis ? channels : 1)) return {};
  }
  return constant.size() == channels ? reshape(wide(constant), {channels}) : Tensor();
}

std::optional<Affine> batch_norm(const Graph& graph, const Node& node, std::int64_t channels) {
  if (node.op != "BatchNormalization" || node.inputs.size() != 5 || integer(node, "training_mode", 0) != 0) return {};
  for (std::size_t k = 1; k < node.outputs.size(); ++k)
    if (!node.outputs[k].empty()) return {};
  Tensor p[4];
  for (int k = 0; k < 4; ++k) {
    const Tensor* constant = constant_of(graph, node.inputs[static_cast<std::size_t>(k + 1)]);
    if (!constant || constant->ndim() != 1 || constant->size() != channels) return {};
    p[k] = wide(*constant);
  }
  const Tensor factor = p[0] / sqrt(p[3] + number(node, "epsilon", 1e-5f));
  return Affine{factor, p[1] - p[2] * factor};
}

/// Recognises a Mul, Div, Add or Sub of `value` with a constant for each channel.
std::optional<Affine> arithmetic(const Graph& graph, const Node& node, const std::string& value, std::int64_t channels, int rank, int channel_axis) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return {};
  const bool first = node.inputs[0] == value;
  const Tensor* constant = constant_of(graph, node.inputs[first ? 1 : 0]);
  if (!constant || !is_floating(constant->dtype())) return {};
  const Tensor c = per_channel(*constant, channels, rank, channel_axis);
  if (c.empty_handle()) return {};
  const Tensor one = ones({channels}), zero = zeros({channels});
  if (node.op == "Mul") return Affine{c, zero};
  if (node.op == "Add") return Affine{one, c};
  if (node.op == "Sub") return first ? Affine{one, -c} : Affine{-one, c};
  if (node.op == "Div" && first) return Affine{1 / c, zero};
  return {};
}

/// A node's weights and bias, and the axis of the weights along which the result's channels lie.
struct Weighted {
  Tensor weight, bias;
  std::int64_t channels = 0;
  int rank = 0, channel_axis = 1;  // of the result: its rank, and its axis of channels
  int out_axis = 0;                // of the weights: the axes of the results' and of the operand's channels
};

std::optional<Weighted> weighted(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2) return {};
  const Tensor* weight = constant_of(graph, node.inputs[1]);
  if (!weight || !is_floating(weight->dtype())) return {};
  Weighted w;
  w.weight = *weight;
  if (node.inputs.size() > 2 && !node.inputs[2].empty()) {
    const Tensor* bias = constant_of(graph, node.inputs[2]);
    if (!bias) return {};
    w.bias = *bias;
  }
  if (node.op == "Conv") {
    if (weight->ndim() < 3) return {};
    w.channels = weight->size(0), w.rank = weight->ndim();
  } else if (node.op == "ConvTranspose") {
    if (weight->ndim() < 3 || integer(node, "group", 1) != 1) return {};
    w.channels = weight->size(1), w.rank = weight->ndim(), w.out_axis = 1;
  } else if (node.op == "Gemm") {
    if (weight->ndim() != 2 || number(node, "alpha", 1) != 1 || number(node, "beta", 1) != 1) return {};
    w.out_axis = integer(node, "transB", 0) != 0 ? 0 : 1;
    w.channels = weight->size(w.out_axis), w.rank = 2;
    if (!w.bias.empty_handle() && (w.bias.size() != w.channels || w.bias.ndim() > 2)) return {};
  } else {
    return {};
  }
  return w;
}

/// Changes the node so that its result is multiplied by the factor and increased by the summand.
void absorb(Graph& graph, Node& node, const Weighted& w, const Affine& affine) {
  Shape along(static_cast<std::size_t>(w.weight.ndim()), 1);
  along[static_cast<std::size_t>(w.out_axis)] = w.channels;
  Tensor bias = affine.summand;
  if (!w.bias.empty_handle()) bias = reshape(wide(w.bias), {w.channels}) * affine.factor + affine.summand;
  node.inputs.resize(std::max<std::size_t>(node.inputs.size(), 3));
  node.inputs[1] = add_constant(graph, node.inputs[1], astype(wide(w.weight) * reshape(affine.factor, along), w.weight.dtype()));
  node.inputs[2] = add_constant(graph, node.name.empty() ? node.outputs[0] : node.name, astype(bias, w.weight.dtype()));
}

/// Absorbs each node after a weighted node that `match` accepts.
template <class Match> int absorb_following(Graph& graph, Match&& match) {
  int count = 0;
  Uses uses(graph);
  std::vector<bool> gone(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    Node& node = graph.nodes[n];
    if (gone[n]) continue;
    while (true) {
      const auto reader = uses.only_reader(node.outputs[0]);
      if (!reader || gone[*reader]) break;
      const std::optional<Weighted> w = weighted(graph, node);
      if (!w) break;
      const std::optional<Affine> affine = match(graph.nodes[*reader], node.outputs[0], *w);
      if (!affine) break;
      absorb(graph, node, *w, *affine);
      uses.renamed(node.outputs[0], graph.nodes[*reader].outputs[0], n);
      node.outputs[0] = graph.nodes[*reader].outputs[0];
      gone[*reader] = true;
      ++count;
    }
  }
  erase_nodes(graph, gone);
  return count;
}

}  // namespace

int fold_batch_norms(Graph& graph) {
  return absorb_following(graph, [&](const Node& next, const std::string& value, const Weighted& w) -> std::optional<Affine> {
    if (next.inputs.empty() || next.inputs[0] != value) return {};
    return batch_norm(graph, next, w.channels);
  });
}

int fold_scales(Graph& graph) {
  return absorb_following(
      graph, [&](const Node& next, const std::string& value, const Weighted& w) { return arithmetic(graph, next, value, w.channels, w.rank, w.channel_axis); });
}

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

/// Merges products of one operand with several constant matrices into one product, whose result is read in parts. Merges additions of a constant row to each of
/// them too.
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
      fill = wide(*constant).item<double>();
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
