#include "onnx/layout.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>

#include "onnx/quantized.hpp"
#include "sinter/blocked.hpp"
#include "sinter/engine.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Channels of an input that is read as it is: pictures have few.
constexpr std::int64_t kPlanes = 4;
/// Of convolutions that are computed in tiles: channels and filters, places of an image, and products for each that the definition takes.
constexpr std::int64_t kLeastChannels = 32, kLeastPlaces = 64;
constexpr double kWorthTiles = 0.7;
/// How much work blocks that are not full may add.
constexpr double kWaste = 3;
/// The same where x is in blocks already: a product of few rows by windows laid out side by side is as slow.
constexpr double kWasteBehindBlocks = 6;
/// In transposed convolutions each stride is so many filters.
constexpr std::int64_t kLongestStride = 256;
/// Groups that fill blocks side by side: filters read zeros of the others' channels.
constexpr std::int64_t kMostJoined = 4;

std::int64_t up_to_blocks(std::int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock * kChannelBlock; }
/// So many times the work are channels with those that fill their last block.
double filled_up(std::int64_t channels) { return static_cast<double>(up_to_blocks(channels)) / static_cast<double>(channels); }

// Element by element: what fills the last block stays finite, and no convolution reads it with a weight other than 0.
constexpr std::string_view kElementwise[] = {"Abs",
                                             "Add",
                                             "Cast",
                                             "Celu",
                                             "Clip",
                                             "Elu",
                                             "Erf",
                                             "Gelu",
                                             "HardSigmoid",
                                             "HardSwish",
                                             "Identity",
                                             "LeakyRelu",
                                             "Max",
                                             "Mean",
                                             "Min",
                                             "Mish",
                                             "Mul",
                                             "Neg",
                                             "PRelu",
                                             "Relu",
                                             "Selu",
                                             "Sigmoid",
                                             "Softplus",
                                             "Softsign",
                                             "Sub",
                                             "Sum",
                                             "Swish",
                                             "Tanh",
                                             "ThresholdedRelu",
                                             "com.microsoft.Gelu",
                                             "com.microsoft.QuickGelu"};
// Of 8-bit numbers: element by element, or each channel by itself over the places, beside scales and zero points of one number.
constexpr std::string_view kOneScale[] = {"DequantizeLinear",
                                          "QuantizeLinear",
                                          "com.microsoft.QLinearAdd",
                                          "com.microsoft.QLinearGlobalAveragePool",
                                          "com.microsoft.QLinearLeakyRelu",
                                          "com.microsoft.QLinearMul",
                                          "com.microsoft.QLinearSigmoid"};
// Each channel by itself, over the places.
constexpr std::string_view kOverPlaces[] = {"GlobalAveragePool", "GlobalMaxPool"};
constexpr std::string_view kWindows[] = {"AveragePool", "MaxPool"};

bool holds(std::span<const std::string_view> names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

/// An operand beside another that is in blocks, for a function element by element; nothing where it broadcasts otherwise. One number for all channels, or
/// for a place, is 0 where blocks are filled up: what fills them stays finite, whatever the model adds and multiplies.
std::optional<Tensor> beside(const Laid& operand, const Laid& other) {
  const std::int64_t channels = other.channels;
  const DType dtype = other.tensor.dtype();
  const Tensor& x = operand.tensor;
  if (x.empty_handle()) return x;
  if (operand.in_blocks()) return operand.channels == channels && operand.axes == other.axes ? std::optional(x) : std::nullopt;
  const Shape& shape = x.shape();
  if (shape.size() > other.axes + 2) return {};
  const bool filled = channels % kChannelBlock != 0;
  if (x.size() == 1 && (!filled || x.dtype() != dtype)) return reshape(x, {});
  if (x.dtype() != dtype) return {};
  Shape whole(other.axes + 2 - shape.size(), 1);
  whole.insert(whole.end(), shape.begin(), shape.end());
  if (other.axes == 1) whole.insert(whole.begin() + 2, 1);
  if (whole[1] != 1 && whole[1] != channels) return {};
  Tensor beside = whole == shape ? x : reshape(x, whole);
  if (filled && whole[1] == 1) {
    whole[1] = channels;
    beside = broadcast_to(beside, whole);
  }
  return block_channels(beside);
}

}  // namespace

std::optional<BlockedWindows> blocked_windows(const Call& call, const Laid& x, const Shape& weight, std::string& why) {
  const auto left = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (weight.size() != 4 || x.tensor.ndim() != (x.in_blocks() ? 5 : 4)) return left("it is not over two axes");
  const Shape& shape = x.tensor.shape();
  const std::int64_t channels = x.in_blocks() ? x.channels : shape[1], filters = weight[0], groups = call.size("group", 1);
  const bool depthwise = groups > 1 && groups == channels && filters == channels && weight[1] == 1;
  if (groups < 1 || channels % groups != 0 || filters % groups != 0 || weight[1] != channels / groups || filters == 0 || channels == 0)
    return left("its sizes do not fit");
  const bool planes = !x.in_blocks() && groups == 1 && channels <= kPlanes;
  const std::int64_t joined =
      depthwise || groups == 1 ? 1 : std::lcm(kChannelBlock / std::gcd(kChannelBlock, weight[1]), kChannelBlock / std::gcd(kChannelBlock, filters / groups));
  if (joined > kMostJoined || groups % joined != 0) return left("its groups do not fill blocks");
  const double waste = filled_up(filters) * (planes || groups > 1 ? 1.0 : filled_up(channels));
  const bool one_place = shape[2] * shape[3] == 1;
  const bool windows_of_blocks = x.in_blocks() && weight[2] * weight[3] > 1;
  if (waste > (windows_of_blocks ? kWasteBehindBlocks : kWaste) && !(x.in_blocks() && one_place))
    return left("blocks that are not full would more than treble its work");
  if (one_place && !x.in_blocks()) return left("it is a product of a matrix and a vector");
  const Windows how = windows(call, {weight[2], weight[3]}, {shape[2], shape[3]});
  for (const auto& [before, after] : how.padding)
    if (before < 0 || after < 0) return left("it cuts off what it reads");
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (shape[axis + 2] + how.padding[axis].first + how.padding[axis].second < (weight[axis + 2] - 1) * how.dilation[axis] + 1)
      return left("not one window fits");
  return BlockedWindows{channels, depthwise, planes, depthwise ? 1 : groups / joined, joined, how};
}

namespace {

/// True where minimal filtering (FilterLayout::winograd) is faster: its weights are nearly twice as many, and read once for each image at least.
bool by_tiles(const Shape& taps, const Windows& how, const Shape& x) {
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

/// The node with a further number in its list of this name, in front of each of these places from the end.
void insert(Node& node, const char* name, std::initializer_list<std::ptrdiff_t> from_end, std::int64_t number) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return;
  if (auto* list = std::get_if<Numbers>(&found->second))
    for (const std::ptrdiff_t place : from_end)
      if (place <= static_cast<std::ptrdiff_t>(list->size())) list->insert(list->end() - place, number);
}

/// The node with a further axis of windows, along the channels of a block: of one each.
Node along_blocks(const Node& node) {
  Node longer = node;
  for (const char* name : {"kernel_shape", "strides", "dilations"}) insert(longer, name, {0}, 1);
  insert(longer, "pads", {0, 3}, 0);
  return longer;
}

/// A node of windows along one axis as one along two, whose rows are 1.
Node with_rows(const Node& node) {
  Node longer = node;
  for (const char* name : {"kernel_shape", "strides", "dilations", "output_shape"}) insert(longer, name, {1}, 1);
  insert(longer, "output_padding", {1}, 0);
  insert(longer, "pads", {1, 3}, 0);
  return longer;
}

Tensor with_rows(const Tensor& x) { return expand_dims(x, 2); }

/// Filters of so many groups, each of some of the model's side by side, whose channels all of them read: zeros stand for the others'.
Tensor joined_filters(const Tensor& weight, std::int64_t groups, std::int64_t joined) {
  if (joined == 1) return weight;
  const Shape& shape = weight.shape();
  const std::int64_t filters = shape[0] / (groups * joined);
  const Tensor own = reshape(eye(joined, {}, 0, DType::bool_), {1, joined, 1, joined, 1, 1, 1});
  const Tensor apart = where(own, reshape(weight, {groups, joined, filters, 1, shape[1], shape[2], shape[3]}), 0.f);
  return reshape(apart, {shape[0], joined * shape[1], shape[2], shape[3]});
}

}  // namespace

Tensor Laid::plain() const {
  if (!in_blocks()) return tensor;
  const Tensor all = unblock_channels(tensor, channels);
  return axes == 2 ? all : squeeze(all, 2);
}

std::optional<std::vector<Laid>> Layouts::record(const Graph& graph, const Node& node, const Operator& op, std::span<const Laid> operands,
                                                 const ReadIntegers& read, std::string& why) const {
  if (node.op == "Conv") {
    if (std::optional<Laid> result = convolve(graph, node, operands, read, why)) return std::vector<Laid>{std::move(*result)};
    return {};
  }
  if (node.op == "ConvTranspose") {
    if (std::optional<Laid> result = convolve_transposed(graph, node, operands, read, why)) return std::vector<Laid>{std::move(*result)};
    return {};
  }
  if (convolution_inputs(node.op)) {
    if (std::optional<Laid> result = convolve_bytes(graph, node, operands, read, why)) return std::vector<Laid>{std::move(*result)};
    return {};
  }
  const auto first = std::find_if(operands.begin(), operands.end(), [](const Laid& operand) { return operand.in_blocks(); });
  why = "nothing that it reads is in blocks";
  if (first == operands.end()) return {};
  const std::size_t axes = first->axes;
  const auto one = [&](Tensor tensor, std::int64_t channels) { return std::vector<Laid>{{std::move(tensor), channels, {}, axes}}; };
  if (node.op == "DynamicQuantizeLinear" && first->channels % kChannelBlock == 0) {  // what fills a block would count
    why = "it takes the blocks as they are";
    const Results results = op.record(Call(graph, node, {operands[0].tensor}, read));
    return std::vector<Laid>{{results[0], first->channels, {}, axes}, {results[1]}, {results[2]}};
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
      const bool bound = node.op == "Clip" && &operand != &operands[0];
      std::optional<Tensor> tensor = bound ? operand.plain() : beside(operand, *first);
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
    if (!list || list->size() != axes) {
      why = "its windows are not over the places";
      return {};
    }
    return recorded(along_blocks(axes == 1 ? with_rows(node) : node), {first->tensor});
  }
  const bool mean_of_places = [&] {
    if (node.op != "ReduceMean" || !operands[0].in_blocks()) return false;
    std::vector<Tensor> tensors;
    for (const Laid& operand : operands) tensors.push_back(operand.tensor);
    const Call call(graph, node, std::move(tensors), read);
    auto over = call.axes("axes", 1);
    if (!over || call.integer("keepdims", 1) == 0) return false;
    for (std::int64_t& axis : *over) axis = call.axis(axis, static_cast<int>(axes) + 2);
    std::sort(over->begin(), over->end());
    return *over == (axes == 1 ? Numbers{2} : Numbers{2, 3});
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

namespace {

/// A convolution of float32 along two axes: one along a single axis has rows of 1. Or why blocks are not for it.
struct Convolved {
  std::string left;
  std::size_t axes = 2;  // as the model has it
  Laid x = {};
  Tensor weight = {}, bias = {};
  std::optional<Node> with_rows = {};

  Call call(const Graph& graph, const Node& node, const ReadIntegers& read) const {
    return Call(graph, with_rows ? *with_rows : node, {x.tensor, weight, bias}, read);
  }
};
Convolved convolved(const Graph& graph, const Node& node, std::span<const Laid> operands, std::size_t filters_axis) {
  if (operands.size() < 2 || node.outputs.size() != 1) return {"it is no convolution of two operands"};
  if (!convolves_in_blocks()) return {"the device has no convolution in blocks"};
  const Laid& x = operands[0];
  const Tensor &weight = operands[1].tensor, bias = operands.size() > 2 ? operands[2].tensor : Tensor();
  const auto constant = [&](std::size_t k) { return k >= node.inputs.size() || node.inputs[k].empty() || graph.constants.contains(node.inputs[k]); };
  if (x.tensor.empty_handle() || weight.empty_handle() || !constant(1) || !constant(2) || operands[1].in_blocks())
    return {"its weights or its bias are no constants"};
  if (x.tensor.dtype() != DType::float32 || weight.dtype() != DType::float32) return {"it is of another type than float32"};
  const bool line = weight.ndim() == 3 && (x.in_blocks() ? x.axes == 1 : x.tensor.ndim() == 3);
  if (!line && (weight.ndim() != 4 || (x.in_blocks() ? x.axes != 2 : x.tensor.ndim() != 4))) return {"it is over three axes"};
  if (!bias.empty_handle() && (bias.dtype() != DType::float32 || bias.shape() != Shape{weight.shape()[filters_axis]}))
    return {"its bias is not one float32 for each filter"};
  // The node's own order has an error for lists that do not fit.
  for (const char* name : {"strides", "dilations", "kernel_shape", "output_padding", "pads"}) {
    const auto found = node.attributes.find(name);
    const auto* list = found == node.attributes.end() ? nullptr : std::get_if<Numbers>(&found->second);
    if (!list) continue;
    const bool pads = name == std::string_view("pads"), more = name == std::string_view("output_padding");
    const std::size_t count = (line ? 1 : 2) * (pads ? 2 : 1);
    if (list->size() != count || (!pads && std::any_of(list->begin(), list->end(), [&](std::int64_t n) { return n < (more ? 0 : 1); })))
      return {"its attributes do not fit"};
    if (name == std::string_view("kernel_shape") && !std::equal(list->begin(), list->end(), weight.shape().begin() + 2)) return {"its attributes do not fit"};
  }
  Convolved two{{}, line ? std::size_t{1} : std::size_t{2}, x, weight, bias};
  if (!line) return two;
  if (!x.in_blocks()) two.x.tensor = with_rows(x.tensor);
  two.weight = with_rows(weight);
  two.with_rows = with_rows(node);
  return two;
}

}  // namespace

/// Weights and bias as they are laid out, once for each result and layout.
Layouts::Filters Layouts::laid_out(const std::string& result, FilterLayout layout, const std::function<Filters()>& make) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = filters_.find({result, layout}); known != filters_.end()) return known->second;
  }
  Filters made = make();
  eval({made.weight, made.bias});
  const std::lock_guard lock(mutex_);
  return filters_.emplace(std::pair(result, layout), std::move(made)).first->second;
}

/// In blocks: a convolution of float32 whose weights are constants, and that reads all channels, those of groups that fill blocks, or one for each filter.
/// What is not in blocks yet is brought there where the convolution is worth it.
std::optional<Laid> Layouts::convolve(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read, std::string& why) const {
  const Convolved given = convolved(graph, node, operands, 0);
  why = given.left;
  if (!why.empty()) return {};
  const Laid& x = given.x;
  const Tensor &weight = given.weight, &bias = given.bias;
  const Call call = given.call(graph, node, read);
  const std::optional<BlockedWindows> reads = blocked_windows(call, x, weight.shape(), why);
  if (!reads) return {};
  const std::int64_t filters = weight.shape()[0];
  const auto& [channels, depthwise, planes, groups, joined, how] = *reads;
  const Shape& shape = x.tensor.shape();
  const Shape taps{filters, weight.shape()[1] * joined, weight.shape()[2], weight.shape()[3]};
  const FilterLayout layout = depthwise                                   ? FilterLayout::depthwise
                              : planes                                    ? FilterLayout::planes
                              : groups == 1 && by_tiles(taps, how, shape) ? FilterLayout::winograd
                                                                          : FilterLayout::blocked;
  const Filters made = laid_out(node.outputs[0], layout, [&, of_groups = groups, of_joined = joined] {
    // Zeros too are computed once, and not at each call.
    return Filters{block_filters(joined_filters(weight, of_groups, of_joined), layout),
                   bias.empty_handle() ? from_span(std::vector<float>(static_cast<std::size_t>(up_to_blocks(filters))))
                                       : pad(bias, {{0, up_to_blocks(filters) - filters}})};
  });
  why = depthwise                          ? "a convolution of each channel by itself: the blocks are its vectors"
        : layout == FilterLayout::winograd ? "a convolution of 3x3 taps by constant weights: tiles of 2x2 places take 16 products for 36"
        : groups > 1                       ? "a convolution in groups by constant weights: the groups are whole blocks"
                                           : "a convolution by constant weights: the sums of a block stay in registers";
  const Tensor in = x.in_blocks() || planes ? x.tensor : block_channels(call[0]);
  const ConvOptions options{.stride = how.stride, .padding = how.padding, .dilation = how.dilation, .groups = groups};
  return Laid{conv2d_blocked(call.at_node(in), made.weight, made.bias, options), filters, {}, given.axes};
}

/// A transposed convolution of float32 whose weights are constants: one convolution in blocks, whose filters are the phases of the result. Where the filters
/// fill no whole blocks, the result lies as the model says.
std::optional<Laid> Layouts::convolve_transposed(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read,
                                                 std::string& why) const {
  const Convolved given = convolved(graph, node, operands, 1);
  why = given.left;
  if (!why.empty()) return {};
  const Laid& x = given.x;
  const Tensor &weight = given.weight, &bias = given.bias;
  const Call call = given.call(graph, node, read);
  const Shape &shape = x.tensor.shape(), &taps = weight.shape();
  const std::int64_t channels = x.in_blocks() ? x.channels : shape[1], filters = taps[1];
  why = "it has groups";
  if (call.integer("group", 1) != 1 || taps[0] != channels) return {};
  why = "its channels do not fill blocks";
  if (filters == 0 || channels == 0 || (x.in_blocks() && shape[4] != kChannelBlock) || filled_up(channels) > kWaste) return {};
  const ConvTransposeOptions how = transposed_windows(call, {taps[2], taps[3]}, {shape[2], shape[3]});
  why = "not one place would be left";
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto [before, after] = how.padding.widths()[axis];
    const std::int64_t reach = (taps[axis + 2] - 1) * how.dilation.list()[axis] + 1, more = how.output_padding.list()[axis];
    if ((shape[axis + 2] - 1) * how.stride.list()[axis] - before - after + reach + more < 1 || before < 0 || after < 0 || more < 0 ||
        more >= std::max(how.stride.list()[axis], how.dilation.list()[axis]))
      return {};
  }
  std::int64_t all = filters;
  why = "its strides are longer than what it reads";
  for (const std::int64_t stride : how.stride.list()) {
    if (stride > kLongestStride) return {};
    all *= stride;
  }
  why = "the phases of its filters do not fill blocks";
  if (filled_up(all) > kWaste) return {};
  const Filters made = laid_out(node.outputs[0], FilterLayout::blocked, [&] {
    const Tensor start = bias.empty_handle() ? from_span(std::vector<float>(static_cast<std::size_t>(all))) : tile(bias, {all / filters});
    return Filters{block_transposed_filters(weight, how.stride, how.dilation), pad(start, {{0, up_to_blocks(all) - all}})};
  });
  why = "a transposed convolution by constant weights: its phases are filters of one in blocks";
  const Tensor in = x.in_blocks() ? x.tensor : block_channels(call[0]);
  const Tensor y = conv_transpose2d_blocked(call.at_node(in), made.weight, made.bias, filters, std::vector<std::int64_t>{taps[2], taps[3]}, how);
  if (filters % kChannelBlock != 0) return Laid{given.axes == 1 ? squeeze(y, 2) : y};
  return Laid{y, filters, {}, given.axes};
}

}  // namespace sinter::onnx
