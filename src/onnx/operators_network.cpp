// Operators of networks: matrix products and normalisations.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "onnx/call.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

Results gemm(const Call& c) {
  const Tensor a = c.integer("transA", 0) != 0 ? matrix_transpose(c[0]) : c.tensor(0);
  const Tensor b = c.integer("transB", 0) != 0 ? matrix_transpose(c[1]) : c.tensor(1);
  Tensor result = matmul(c.at_node(a), b);
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  if (alpha != 1) result = astype(multiply(c.at_node(result), alpha), a.dtype());
  if (!c.has(2) || beta == 0) return {result};
  return {add(c.at_node(result), beta == 1 ? c.tensor(2) : astype(multiply(c[2], beta), a.dtype()))};
}

Results einsum_of(const Call& c) { return {einsum(c.text("equation"), c.tensors(), c.where())}; }

Results batch_normalization(const Call& c) {
  const Tensor& x = c.tensor(0);
  const double epsilon = c.number("epsilon", 1e-5f);
  if (c.integer("training_mode", 0) == 0) return {batch_norm(c[0], c.tensor(3), c.tensor(4), c.tensor(1), c.tensor(2), epsilon)};
  std::vector<std::int64_t> others(static_cast<std::size_t>(x.ndim()));
  std::iota(others.begin(), others.end(), 0);
  if (others.size() < 2) c.refuse(fmt::format("a tensor of {}", sinter::counted(others.size(), "dimension")));
  others.erase(others.begin() + 1);
  const Tensor in = astype(c[0], traits(x.dtype()).compute);
  const Tensor m = mean(c.at_node(in), others), v = var(c.at_node(in), others);
  const double momentum = c.number("momentum", 0.9f);
  const auto running = [&](const Tensor& old, const Tensor& now) {
    return astype(add(multiply(c.at_node(old), momentum), multiply(c.at_node(now), 1 - momentum)), old.dtype());
  };
  return {batch_norm(c[0], m, v, c.tensor(1), c.tensor(2), epsilon), running(c.tensor(3), m), running(c.tensor(4), v)};
}

Results scaled_channels(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() < 2 || x.size(1) != c.tensor(1).size()) c.refuse(fmt::format("{} channels do not fit shape {}", c.tensor(1).size(), to_string(x.shape())));
  Shape along(static_cast<std::size_t>(x.ndim() - 1), 1);
  along[0] = x.size(1);
  const Tensor scaled = multiply(astype(c[0], traits(x.dtype()).compute), reshape(c[1], along));
  return {astype(c.at_node(add(c.at_node(scaled), reshape(c[2], along))), x.dtype())};
}

Results group_normalization(const Call& c) {
  const std::int64_t groups = c.size("num_groups"), channels = c.tensor(0).ndim() > 1 ? c.tensor(0).size(1) : 0;
  if (channels % groups != 0) c.refuse(fmt::format("{} in {}", sinter::counted(channels, "channel"), sinter::counted(groups, "group")));
  const auto parameter = [&](std::size_t i) {  // up to opset 20 there is one parameter for each group
    return c.tensor(i).size() == channels ? c.tensor(i) : repeat(c[i], channels / groups);
  };
  return {group_norm(c[0], groups, parameter(1), parameter(2), c.number("epsilon", 1e-5f))};
}

std::vector<std::int64_t> axes_from(const Call& c, std::int64_t first) {
  const int rank = c.tensor(0).ndim();
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = c.axis(first, rank); axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

Results layer_normalization(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<std::int64_t> axes = axes_from(c, c.integer("axis", -1));
  const double epsilon = c.number("epsilon", 1e-5f);
  const DType wide = traits(x.dtype()).compute;
  const Tensor in = astype(c[0], wide);
  const Tensor m = mean(c.at_node(in), axes, true), v = var(c.at_node(in), axes, true);
  const Tensor inverse = reciprocal(c.at_node(sqrt(c.at_node(add(c.at_node(v), epsilon)))));
  Tensor result = astype(c.at_node(multiply(c.at_node(subtract(c.at_node(in), m)), inverse)), x.dtype());
  result = multiply(c.at_node(result), c.tensor(1));
  if (c.has(2)) result = add(c.at_node(result), c.tensor(2));
  return {result, m, inverse};
}

/// Normalises the sum of the input and one or more other inputs; an operator of ONNX Runtime.
Results skip_layer_normalization(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool simplified = c.node().op.ends_with("SkipSimplifiedLayerNormalization");
  Tensor total = add(c[0], c[1]);
  const std::size_t bias = simplified ? 3 : 4;
  if (c.has(bias)) total = add(c.at_node(total), c.tensor(bias));
  const double epsilon = c.number("epsilon", 1e-12f);
  if (simplified) return {rms_norm(c.at_node(total), c.tensor(2), epsilon), Tensor(), Tensor(), total};
  return {astype(layer_norm(c.at_node(total), c.tensor(2), c.tensor_or_none(3), epsilon), x.dtype()), Tensor(), Tensor(), total};
}

/// ONNX Runtime's operator that adds embeddings of words, positions and segments and normalises the sum. The second result counts the unmasked positions of
/// each sequence.
Results embed_layer_normalization(const Call& c) {
  const Tensor& words = c.tensor(0);
  if (words.ndim() != 2) c.refuse(fmt::format("words of shape {}", to_string(words.shape())));
  Tensor total = take(c[2], words, 0);
  const Tensor positions = c.has(8) ? take(c[3], c.tensor(8), 0) : c.tensor(3).at({Slice{0, words.size(1)}}, c.where());
  total = add(c.at_node(total), positions);
  if (c.has(1) && c.has(4)) total = add(c.at_node(total), take(c[4], c.tensor(1), 0));
  const Tensor kept = c.has(7) ? sum(c[7], 1, false, DType::int32) : zeros({words.size(0)}, DType::int32, c.where());
  return {layer_norm(c.at_node(total), c.tensor(5), c.tensor(6), c.number("epsilon", 1e-12f)), kept, total};
}

/// The same operator with tables of 8-bit numbers.
Results q_embed_layer_normalization(const Call& c) {
  std::vector<Tensor> inputs{c.tensor(0), c.tensor_or_none(1)};
  for (std::size_t i = 2; i < 7; ++i) {
    if (!c.has(i)) {
      inputs.emplace_back();
      continue;
    }
    const Tensor centred =
        c.has(i + 11) ? subtract(c.at_node(astype(c[i], DType::int32)), astype(c.at_node(reshape(c[i + 11], {})), DType::int32)) : c.tensor(i);
    inputs.push_back(multiply(c.at_node(astype(c.at_node(centred), DType::float32)), reshape(c[i + 6], {})));
  }
  inputs.push_back(c.tensor_or_none(7));
  return embed_layer_normalization(c.with(std::move(inputs)));
}

Results rms_normalization(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::vector<std::int64_t> axes = axes_from(c, c.integer("axis", -1));
  const Tensor in = astype(c[0], traits(x.dtype()).compute);
  const Tensor size = mean(c.at_node(square(c.at_node(in))), axes, true);
  const Tensor result = divide(c.at_node(in), sqrt(c.at_node(add(c.at_node(size), c.number("epsilon", 1e-5f)))));
  return {multiply(c.at_node(astype(c.at_node(result), x.dtype())), c.tensor(1))};
}

Results lp_normalization(const Call& c) {
  const std::int64_t axis = c.integer("axis", -1), p = c.integer("p", 2);
  if (p != 1 && p != 2) c.refuse(fmt::format("p = {}", p));
  const Tensor length = p == 1 ? sum(absolute(c[0]), axis, true) : sqrt(sum(square(c[0]), axis, true));
  return {divide(c[0], length)};
}

Results mean_variance_normalization(const Call& c) {
  const std::vector<std::int64_t> axes = c.integers("axes", std::vector<std::int64_t>{0, 2, 3});
  const Tensor centred = subtract(c[0], mean(c[0], axes, true));
  const Tensor deviation = sqrt(mean(square(c.at_node(centred)), axes, true));
  return {divide(c.at_node(centred), add(c.at_node(deviation), 1e-9))};
}

/// Computes x / (bias + alpha / size * the sum of squares over `size` neighbouring channels)^beta.
Results lrn(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t size = c.size("size");
  if (x.ndim() < 2) c.refuse(fmt::format("size {} of a tensor of {}", size, sinter::counted(x.ndim(), "dimension")));
  // A window extends at most over all channels.
  const std::int64_t before = std::min((size - 1) / 2, x.size(1)), after = std::min(size - 1 - (size - 1) / 2, x.size(1));
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.ndim()));
  widths[1] = {before, after};
  const Tensor windows = sliding_window_view(c.at_node(pad(square(c[0]), widths)), {before + 1 + after}, 1);
  const Tensor scale = add(multiply(sum(c.at_node(windows), -1), c.number("alpha", 1e-4f) / static_cast<double>(size)), c.number("bias", 1));
  return {divide(c[0], power(c.at_node(scale), c.number("beta", 0.75)))};
}

/// Returns minus the value at each row's target, weighted, and reduced as the attribute says.
Tensor log_likelihood(const Call& c, const Tensor& x) {
  const Tensor target = astype(c[1], DType::int64);
  const bool ignores = c.given("ignore_index");
  const std::int64_t ignored = c.integer("ignore_index", -1);
  const Tensor counted = ignores ? not_equal(c.at_node(target), ignored) : Tensor();
  const Tensor place = ignores ? where(c.at_node(counted), target, 0) : target;
  Tensor loss = negative(c.at_node(squeeze(c.at_node(take_along_axis(c.at_node(x), expand_dims(c.at_node(place), 1), 1)), 1)));
  Tensor weight = c.has(2) ? take(c[2], place) : Tensor();
  if (ignores) {
    if (weight.empty_handle()) weight = astype(c.at_node(counted), x.dtype());
    else weight = where(c.at_node(counted), weight, full({}, Arg(0.0, c.where()), x.dtype()));
    loss = where(c.at_node(counted), loss, full({}, Arg(0.0, c.where()), x.dtype()));
  }
  if (!weight.empty_handle()) loss = multiply(c.at_node(loss), weight);
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  if (reduction == "sum") return sum(c.at_node(loss));
  if (reduction != "mean") c.refuse(fmt::format("reduction '{}'", reduction));
  return weight.empty_handle() ? mean(c.at_node(loss)) : divide(sum(c.at_node(loss)), sum(c.at_node(weight)));
}

Results softmax_cross_entropy(const Call& c) {
  const Tensor logarithms = log_softmax(c[0], 1);
  return {log_likelihood(c, logarithms), logarithms};
}

Results fused_matmul(const Call& c) {
  const Tensor a = c.integer("transA", 0) != 0 ? matrix_transpose(c[0]) : c.tensor(0);
  const Tensor b = c.integer("transB", 0) != 0 ? matrix_transpose(c[1]) : c.tensor(1);
  if (c.integer("transBatchA", 0) != 0 || c.integer("transBatchB", 0) != 0) c.refuse("transBatchA and transBatchB are not supported");
  const double alpha = c.number("alpha", 1);
  const Tensor result = matmul(c.at_node(a), b);
  return {alpha == 1 ? result : multiply(c.at_node(result), alpha)};
}

const Operator kNetworkRows[] = {
    {"BatchNormalization", {5, 5}, batch_normalization},
    {"Einsum", {1, kAny}, einsum_of},
    {"Gemm", {2, 3}, gemm},
    {"GroupNormalization", {3, 3}, group_normalization},
    {"InstanceNormalization", {3, 3}, [](const Call& c) -> Results { return {instance_norm(c[0], c.tensor(1), c.tensor(2), c.number("epsilon", 1e-5f))}; }},
    {"LRN", {1, 1}, lrn},
    {"LayerNormalization", {2, 3}, layer_normalization},
    {"LpNormalization", {1, 1}, lp_normalization},
    {"MatMul", {2, 2}, [](const Call& c) -> Results { return {matmul(c[0], c[1])}; }},
    {"MeanVarianceNormalization", {1, 1}, mean_variance_normalization},
    {"NegativeLogLikelihoodLoss", {2, 3}, [](const Call& c) -> Results { return {log_likelihood(c, c.tensor(0))}; }},
    {"RMSNormalization", {2, 2}, rms_normalization},
    {"SimplifiedLayerNormalization", {2, 2}, rms_normalization},
    {"SoftmaxCrossEntropyLoss", {2, 3}, softmax_cross_entropy},
    {kScaledChannels, {3, 3}, scaled_channels},
    {"com.microsoft.EmbedLayerNormalization", {1, 9}, embed_layer_normalization},
    {"com.microsoft.FusedMatMul", {2, 2}, fused_matmul},
    {"com.microsoft.QEmbedLayerNormalization", {1, 18}, q_embed_layer_normalization},
    {"com.microsoft.SkipLayerNormalization", {3, 5}, skip_layer_normalization},
    {"com.microsoft.SkipSimplifiedLayerNormalization", {3, 4}, skip_layer_normalization},
};

}  // namespace

std::span<const Operator> network_operators() { return kNetworkRows; }

}  // namespace sinter::onnx
