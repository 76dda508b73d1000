#include "model/layout.hpp"

#include <algorithm>
#include <string_view>

#include "model/quantized.hpp"
#include "sinter/blocked.hpp"
#include "sinter/engine.hpp"
#include "sinter/sinter.hpp"

namespace sinter::model {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Channels of an input that is read as it is: pictures have few.
constexpr std::int64_t kPlanes = 4;
/// Of convolutions that are computed in tiles: channels and filters, places of an image, and products for each that the definition takes.
constexpr std::int64_t kLeastChannels = 32, kLeastPlaces = 64;
constexpr double kWorthTiles = 0.7;
/// How much work blocks that are not full may add.
constexpr double kWaste = 2;

std::int64_t up_to_blocks(std::int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock; }

// Element by element: what fills the last block stays finite, and no convolution reads it with a weight other than 0.
constexpr std::string_view kElementwise[] = {"Abs", "Add", "Cast", "Celu", "Clip", "Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Max", "Mean", "Min",
                                             "Mish", "Mul", "Neg", "PRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sub", "Sum", "Swish", "Tanh",
                                             "ThresholdedRelu", "com.microsoft.Gelu", "com.microsoft.QuickGelu"};
// Of 8-bit numbers: element by element, or each channel by itself over the places, beside scales and zero points of one number.
constexpr std::string_view kOneScale[] = {"DequantizeLinear", "QuantizeLinear", "com.microsoft.QLinearAdd", "com.microsoft.QLinearGlobalAveragePool", "com.microsoft.QLinearLeakyRelu",
                                          "com.microsoft.QLinearMul", "com.microsoft.QLinearSigmoid"};
// Each channel by itself, over the places.
constexpr std::string_view kOverPlaces[] = {"GlobalAveragePool", "GlobalMaxPool"};
constexpr std::string_view kWindows[] = {"AveragePool", "MaxPool"};

bool holds(std::span<const std::string_view> names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

/// An operand beside others in blocks of so many channels, for a function element by element; nothing where it broadcasts otherwise.
std::optional<Tensor> beside(const Laid& operand, std::int64_t channels, DType dtype) {
  const Tensor& x = operand.tensor;
  if (x.empty_handle() || x.size() == 1) return operand.plain();  // bounds of a Clip
  if (operand.in_blocks()) return operand.channels == channels ? std::optional(x) : std::nullopt;
  const Shape& shape = x.shape();
  if (shape.size() > 4 || x.dtype() != dtype) return {};
  Shape whole(4 - shape.size(), 1);
  whole.insert(whole.end(), shape.begin(), shape.end());
  if (whole[1] != 1 && whole[1] != channels) return {};
  return block_channels(whole == shape ? x : reshape(x, whole));
}

}  // namespace

std::optional<BlockedWindows> blocked_windows(const Call& call, const Laid& x, const Shape& weight, std::string& why) {
  const auto left = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (weight.size() != 4 || x.tensor.ndim() != (x.in_blocks() ? 5 : 4)) return left("it is over one axis or three");
  const Shape& shape = x.tensor.shape();
  const std::int64_t channels = x.in_blocks() ? x.channels : shape[1], filters = weight[0], groups = call.integer("group", 1);
  const bool depthwise = groups > 1 && groups == channels && filters == channels && weight[1] == 1;
  if (!depthwise && (groups != 1 || weight[1] != channels)) return left("it has groups of several channels");
  const bool planes = !x.in_blocks() && !depthwise && channels <= kPlanes;
  const double waste = static_cast<double>(up_to_blocks(filters)) / static_cast<double>(filters) *
                       (planes || depthwise ? 1.0 : static_cast<double>(up_to_blocks(channels)) / static_cast<double>(channels));
  const bool one_place = shape[2] * shape[3] == 1;
  if (waste > kWaste && !(x.in_blocks() && one_place)) return left("blocks that are not full would more than double its work");
  if (one_place && !x.in_blocks()) return left("it is a product of a matrix and a vector");
  const Windows how = windows(call, {weight[2], weight[3]}, {shape[2], shape[3]});
  for (const auto& [before, after] : how.padding)
    if (before < 0 || after < 0) return left("it cuts off what it reads");
  return BlockedWindows{channels, depthwise, planes, how};
}

namespace {

/// True where minimal filtering (FilterLayout::winograd) is faster: its weights are nearly twice as many, and read once for each image at least.
bool by_tiles(const Tensor& weight, const Windows& how, const Shape& x) {
  const Shape& taps = weight.shape();
  if (taps[2] != 3 || taps[3] != 3 || taps[1] < kLeastChannels || taps[0] < kLeastChannels) return false;
  std::int64_t places = 1, tiles = 1;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (how.stride[axis] != 1 || how.dilation[axis] != 1) return false;
    const std::int64_t count = x[axis + 2] + how.padding[axis].first + how.padding[axis].second - 2;
    if (count < 1) return false;
    places *= count;
    tiles *= (count + 1) / 2;
  }
  return places >= kLeastPlaces && static_cast<double>(16 * tiles) <= kWorthTiles * static_cast<double>(9 * places);
}

/// The node with a further axis of windows, along the channels of a block: of one each.
Node along_blocks(const Node& node) {
  Node longer = node;
  const auto add = [&](const char* name, std::initializer_list<std::ptrdiff_t> places, std::int64_t value) {
    const auto found = longer.attributes.find(name);
    if (found == longer.attributes.end()) return;
    if (auto* list = std::get_if<Numbers>(&found->second))
      for (const std::ptrdiff_t place : places)
        if (place <= static_cast<std::ptrdiff_t>(list->size())) list->insert(list->begin() + place, value);
  };
  add("kernel_shape", {2}, 1);
  add("strides", {2}, 1);
  add("dilations", {2}, 1);
  add("pads", {2, 5}, 0);
  return longer;
}

}  // namespace

Tensor Laid::plain() const { return in_blocks() ? unblock_channels(tensor, channels) : tensor; }

std::optional<std::vector<Laid>> Layouts::record(const Graph& graph, const Node& node, const Operator& op, std::span<const Laid> operands,
                                                 const ReadIntegers& read, std::string& why) const {
  const auto one = [](Tensor tensor, std::int64_t channels) { return std::vector<Laid>{{std::move(tensor), channels}}; };
  if (node.op == "Conv") {
    if (std::optional<Laid> result = convolve(graph, node, operands, read, why)) return std::vector<Laid>{std::move(*result)};
    return {};
  }
  if (convolution_inputs(node.op)) {
    if (std::optional<Laid> result = convolve_bytes(graph, node, operands, read, why)) return std::vector<Laid>{std::move(*result)};
    return {};
  }
  const auto first = std::find_if(operands.begin(), operands.end(), [](const Laid& operand) { return operand.in_blocks(); });
  why = "nothing that it reads is in blocks";
  if (first == operands.end()) return {};
  if (node.op == "DynamicQuantizeLinear" && first->channels % kChannelBlock == 0) {  // what fills a block would count
    why = "it takes the blocks as they are";
    const Results results = op.record(Call(graph, node, {operands[0].tensor}, read));
    return std::vector<Laid>{{results[0], first->channels}, {results[1]}, {results[2]}};
  }
  why = "it has several results";
  if (node.outputs.size() != 1) return {};
  why = "it takes the blocks as they are";
  const std::int64_t channels = first->channels;
  const auto recorded = [&](const Node& as, std::vector<Tensor> tensors) { return one(op.record(Call(graph, as, std::move(tensors), read))[0], channels); };
  if (holds(kOneScale, node.op)) {
    std::vector<Tensor> tensors;
    for (const Laid& operand : operands) {
      if (!operand.in_blocks() && !operand.tensor.empty_handle() && operand.tensor.size() != 1) {
        why = "its scales are several";
        return {};
      }
      tensors.push_back(operand.tensor);
    }
    return recorded(node, std::move(tensors));
  }
  if (holds(kElementwise, node.op)) {
    std::vector<Tensor> tensors;
    for (const Laid& operand : operands) {
      std::optional<Tensor> tensor = beside(operand, channels, first->tensor.dtype());
      if (!tensor) {
        why = "what it reads beside the blocks broadcasts otherwise than channel by channel";
        return {};
      }
      tensors.push_back(std::move(*tensor));
    }
    return recorded(node, std::move(tensors));
  }
  if (holds(kWindows, node.op) && operands.size() == 1) {
    const auto kernel = node.attributes.find("kernel_shape");
    const Numbers* list = kernel == node.attributes.end() ? nullptr : std::get_if<Numbers>(&kernel->second);
    if (!list || list->size() != 2) {
      why = "its windows are not over two axes";
      return {};
    }
    return recorded(along_blocks(node), {first->tensor});
  }
  const bool mean_of_places = [&] {
    if (node.op != "ReduceMean" || !operands[0].in_blocks()) return false;
    std::vector<Tensor> tensors;
    for (const Laid& operand : operands) tensors.push_back(operand.tensor);
    const Call call(graph, node, std::move(tensors), read);
    auto axes = call.axes("axes", 1);
    if (!axes || call.integer("keepdims", 1) == 0) return false;
    for (std::int64_t& axis : *axes) axis = call.axis(axis, 4);
    std::sort(axes->begin(), axes->end());
    return *axes == Numbers{2, 3};
  }();
  if (mean_of_places || (holds(kOverPlaces, node.op) && operands.size() == 1)) {
    const Call call(graph, node, {operands[0].tensor}, read);
    return one(node.op == "GlobalMaxPool" ? max(call[0], {2, 3}, true) : mean(call[0], {2, 3}, true), channels);
  }
  const bool of_numbers = node.op == "com.microsoft.QLinearConcat";  // scales and zero points between
  if (node.op == "Concat" || of_numbers) {
    const auto axis = node.attributes.find("axis");
    const std::int64_t* number = axis == node.attributes.end() ? nullptr : std::get_if<std::int64_t>(&axis->second);
    std::int64_t all = 0;
    std::vector<Tensor> tensors;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const Laid& operand = operands[k];
      if (of_numbers && (k < 2 || k % 3 != 2)) {
        tensors.push_back(operand.tensor);
        continue;
      }
      if (!operand.in_blocks() || operand.channels % kChannelBlock != 0) {
        why = "it joins what does not end with a whole block";
        return {};
      }
      all += operand.channels;
      tensors.push_back(operand.tensor);
    }
    if (!number || *number != 1) {
      why = "it joins along another axis than the channels";
      return {};
    }
    return one(op.record(Call(graph, node, std::move(tensors), read))[0], all);
  }
  why = node.op + " is written for the order that the model says";
  return {};
}

/// In blocks: a convolution of float32 whose weights are constants, and that reads all channels or one for each filter. What is not in blocks yet
/// is brought there where the convolution is worth it.
std::optional<Laid> Layouts::convolve(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read, std::string& why) const {
  const auto left = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (operands.size() < 2 || node.outputs.size() != 1) return left("it is no convolution of two operands");
  if (!convolves_in_blocks()) return left("the device has no convolution in blocks");
  const Laid& x = operands[0];
  const Tensor &weight = operands[1].tensor, bias = operands.size() > 2 ? operands[2].tensor : Tensor();
  const auto constant = [&](std::size_t k) { return k >= node.inputs.size() || node.inputs[k].empty() || graph.constants.contains(node.inputs[k]); };
  if (x.tensor.empty_handle() || weight.empty_handle() || !constant(1) || !constant(2) || operands[1].in_blocks()) return left("its weights or its bias are no constants");
  if (x.tensor.dtype() != DType::float32 || weight.dtype() != DType::float32) return left("it is of another type than float32");
  if (!bias.empty_handle() && (bias.dtype() != DType::float32 || weight.ndim() == 0 || bias.shape() != Shape{weight.shape()[0]})) return left("its bias is not one float32 for each filter");
  const Call call(graph, node, {x.tensor, weight, bias}, read);
  const std::optional<BlockedWindows> reads = blocked_windows(call, x, weight.shape(), why);
  if (!reads) return {};
  const std::int64_t filters = weight.shape()[0];
  const auto& [channels, depthwise, planes, how] = *reads;
  const Shape& shape = x.tensor.shape();
  const FilterLayout layout = depthwise ? FilterLayout::depthwise : planes ? FilterLayout::planes : by_tiles(weight, how, shape) ? FilterLayout::winograd : FilterLayout::blocked;
  const Filters laid_out = [&] {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = filters_.find({node.outputs[0], layout}); known != filters_.end()) return known->second;
    }
    Filters made;
    made.weight = block_filters(weight, layout);
    // Zeros too are computed once, and not at each call.
    made.bias = bias.empty_handle() ? from_span(std::vector<float>(static_cast<std::size_t>(up_to_blocks(filters)))) : pad(bias, {{0, up_to_blocks(filters) - filters}});
    eval({made.weight, made.bias});
    const std::lock_guard lock(mutex_);
    return filters_.emplace(std::pair(node.outputs[0], layout), std::move(made)).first->second;
  }();
  why = depthwise                         ? "a convolution of each channel by itself: the blocks are its vectors"
        : layout == FilterLayout::winograd ? "a convolution of 3x3 taps by constant weights: tiles of 2x2 places take 16 products for 36"
                                           : "a convolution by constant weights: the sums of a block stay in registers";
  const Tensor in = x.in_blocks() || planes ? x.tensor : block_channels(call[0]);
  return Laid{conv2d_blocked(call.at_node(in), laid_out.weight, laid_out.bias, {.stride = how.stride, .padding = how.padding, .dilation = how.dilation}), filters};
}

}  // namespace sinter::model
