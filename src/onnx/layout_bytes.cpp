// Convolutions of 8-bit numbers with their channels in blocks: of bytes, in int32, exactly.
#include <algorithm>

#include "onnx/layout.hpp"
#include "onnx/quantized.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

bool is_byte(const Tensor& tensor) { return tensor.dtype() == DType::int8 || tensor.dtype() == DType::uint8; }

/// The other kind of byte, 128 more or less: the highest bit is turned.
Tensor turned(const Tensor& x) {
  const Tensor same = astype(x, DType::uint8) ^ full({}, 128, DType::uint8);
  return x.dtype() == DType::int8 ? same : astype(same, DType::int8);
}

/// One number for each filter, or for all, with those that fill the last block.
Tensor of_blocks(const Tensor& each, std::int64_t filters) {
  const std::int64_t more = (kChannelBlock - filters % kChannelBlock) % kChannelBlock;
  return pad(each.size() == filters ? reshape(each, {filters}) : broadcast_to(reshape(each, {1}), {filters}), {{0, more}});
}
Tensor beside_blocks(const Tensor& each) { return reshape(each, {1, each.size() / kChannelBlock, 1, 1, kChannelBlock}); }

}  // namespace

Tensor as_unsigned(const Tensor& bytes) { return bytes.dtype() == DType::uint8 ? bytes : turned(bytes); }
Tensor as_signed(const Tensor& bytes) { return bytes.dtype() == DType::int8 ? bytes : turned(bytes); }

/// The sum of (x - x_zero) * (w - w_zero) is that of x * w, less what the zero points add: x_zero times the filter's sum, known beforehand; and, where weights
/// have a zero point other than 0, that times the sum of what the window reads, which one more filter of ones gives. Outside of it x is its zero point.
std::optional<Laid> Layouts::convolve_bytes(const Graph& graph, const Node& node, std::span<const Laid> operands, const ReadIntegers& read,
                                            std::string& why) const {
  const auto left = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  const QuantizedInputs of = *convolution_inputs(node.op);
  if (node.outputs.size() != 1 || operands.size() <= of.w) return left("it is no convolution of two operands");
  if (!convolves_in_blocks()) return left("the device has no convolution in blocks");
  std::vector<Tensor> tensors;
  for (const Laid& operand : operands) tensors.push_back(operand.tensor);
  const Laid& x = operands[of.x];
  const Call call(graph, node, tensors, read);
  if (!call.is_constant(of.w) || operands[of.w].in_blocks() || (call.has(of.w_zero) && !call.is_constant(of.w_zero)))
    return left("its weights are no constants");
  const Tensor &weight = call.tensor(of.w), w_zero = call.tensor_or_none(of.w_zero), x_zero = call.tensor_or_none(of.x_zero);
  if (x.tensor.empty_handle() || !is_byte(x.tensor) || !is_byte(weight)) return left("it is of numbers of other than 8 bits");
  const auto fits = [](const Tensor& zero, const Tensor& of_these, std::int64_t most) {
    return zero.empty_handle() || (zero.dtype() == of_these.dtype() && (zero.size() == 1 || zero.size() == most));
  };
  const std::int64_t filters = weight.ndim() == 0 ? 0 : weight.shape()[0];
  if (filters == 0 || !fits(x_zero, x.tensor, 1) || !fits(w_zero, weight, filters)) return left("its zero points are of another type, or several for x");
  if (node.op == kQuantizedConv && weight.size() > kMostProducts * filters) return left("its sums would not fit into 32 bits");
  const std::optional<BlockedWindows> reads = blocked_windows(call, x, weight.shape(), why);
  if (!reads) return {};
  if (reads->groups > 1 || reads->joined > 1) return left("it has groups of several channels");

  const ByteFilterLayout layout = reads->depthwise ? ByteFilterLayout::depthwise : reads->planes ? ByteFilterLayout::few : ByteFilterLayout::blocked;
  const ByteFilters laid_out = [&] {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = byte_filters_.find({node.outputs[0], layout}); known != byte_filters_.end()) return known->second;
    }
    ByteFilters made;
    const Tensor bytes = as_signed(weight);
    made.weight = block_byte_filters(bytes, layout);
    made.sums = of_blocks(sum(astype(bytes, DType::int32), {1, 2, 3}, false, DType::int32), filters);
    Tensor zero = w_zero.empty_handle() ? zeros({1}, weight.dtype()) : w_zero;
    zero = astype(as_signed(zero), DType::int32);
    if (any(not_equal(zero, 0)).item<bool>()) {
      made.zero = of_blocks(zero, filters);
      made.ones = block_byte_filters(ones({reads->depthwise ? filters : 1, weight.shape()[1], weight.shape()[2], weight.shape()[3]}, DType::int8), layout);
      eval({made.zero, made.ones});
    }
    eval({made.weight, made.sums});
    const std::lock_guard lock(mutex_);
    return byte_filters_.emplace(std::pair(node.outputs[0], layout), std::move(made)).first->second;
  }();

  const Tensor unsigned_x = as_unsigned(x.tensor);
  const Tensor in = x.in_blocks() ? unsigned_x : reads->planes ? block_few_channels(unsigned_x) : block_channels(unsigned_x);
  const Tensor outside = reshape(as_unsigned(x_zero.empty_handle() ? zeros({}, x.tensor.dtype()) : x_zero), {1});
  const Tensor less = negative(astype(outside, DType::int32));
  const ConvOptions how{.stride = reads->how.stride, .padding = reads->how.padding, .dilation = reads->how.dilation};
  const std::optional<Scaling> scaling = scaling_of(call);
  const auto each = [&](const Tensor& numbers) { return of_blocks(numbers, filters); };
  Tensor start = multiply(laid_out.sums, less);
  if (scaling && !scaling->begin.empty_handle()) start = add(start, each(scaling->begin));
  Tensor y;
  if (scaling && laid_out.zero.empty_handle()) {
    y = conv2d_bytes_scaled(call.at_node(in), laid_out.weight, start, outside, each(scaling->scale),
                            scaling->shift.empty_handle() ? Tensor() : each(scaling->shift), how);
  } else {
    y = conv2d_bytes(call.at_node(in), laid_out.weight, start, outside, how);
    if (!laid_out.zero.empty_handle()) {
      const std::int64_t window = weight.size() / filters, blocks = reads->depthwise ? y.shape()[1] : 1;
      const Tensor read_there =
          conv2d_bytes(call.at_node(in), laid_out.ones, broadcast_to(less * static_cast<std::int32_t>(window), {blocks * kChannelBlock}), outside, how);
      const Tensor of_window = reads->depthwise ? read_there : slice(read_there, {Slice{}, Slice{}, Slice{}, Slice{}, Slice{0, 1}});
      y = subtract(y, multiply(of_window, beside_blocks(laid_out.zero)));
    }
    if (scaling) {
      y = multiply(astype(y, DType::float32), beside_blocks(each(scaling->scale)));
      if (!scaling->shift.empty_handle()) y = add(y, beside_blocks(each(scaling->shift)));
    }
  }
  why = reads->depthwise ? "a convolution of bytes, of each channel by itself"
                         : "a convolution of bytes by constant weights: four products an instruction, exact sums";
  return Laid{of_scaled(call, y), filters};
}

}  // namespace sinter::onnx
