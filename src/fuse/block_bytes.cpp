#include "fuse/block_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/bytes.hpp"
#include "sinter/ops.hpp"
#include "trace/library.hpp"

namespace sinter::fuse {
namespace {

/// An operand of the form: bytes minus their zero point, in int32.
struct Centred {
  RecordedPtr bytes;
  RecordedPtr zero;  // in the bytes' type; null: 0
};

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

/// Returns the zero point that `value` repeats, one number or one for each index of the first axis of `like`. Returns null for another value.
RecordedPtr zero_point(RecordedPtr value, const Recorded& bytes) {
  for (;;) {
    if (value->op == Op::constant) {
      const std::int64_t number = value->scalar.i, smallest = bytes.dtype == DType::int8 ? -128 : 0;
      if (number < smallest || number > smallest + 255) return nullptr;
      return trace::make_constant({value->called, value->where}, trace::make_scalar_int(bytes.dtype, number), Shape{1});
    }
    const Operands operands = value->inputs();
    if (operands.size() != 1) return nullptr;
    if (value->op == Op::cast) return operands[0]->dtype == bytes.dtype ? operands[0] : nullptr;
    if (value->op == Op::broadcast) {
      const Shape& shape = operands[0]->shape;
      const bool each = shape.size() == bytes.shape.size() && shape[0] == bytes.shape[0] && element_count(shape) == shape[0];
      if (element_count(shape) != 1 && !each) return nullptr;
    } else if (value->op != Op::reshape) {
      return nullptr;
    }
    value = operands[0];
  }
}

std::optional<Centred> centred(const RecordedPtr& value) {
  const Operands operands = value->inputs();
  if (value->op == Op::cast && !operands.empty() && is_byte(operands[0]->dtype)) return Centred{operands[0], nullptr};
  if (value->op != Op::subtract || operands.empty()) return {};
  const Operands wide = operands[0]->inputs();
  if (operands[0]->op != Op::cast || wide.empty() || !is_byte(wide[0]->dtype)) return {};
  RecordedPtr zero = zero_point(operands[1], *wide[0]);
  if (!zero) return {};
  return Centred{wide[0], std::move(zero)};
}

/// Returns one number for each filter, including those that fill the last block.
Tensor of_blocks(const Tensor& each, std::int64_t filters) {
  return pad(each.size() == filters ? reshape(each, {filters}) : broadcast_to(reshape(each, {1}), {filters}), {{0, up_to_blocks(filters) - filters}});
}

Tensor beside_blocks(const Tensor& each) { return reshape(each, {1, each.size() / kChannelBlock, 1, 1, kChannelBlock}); }

}  // namespace

std::optional<ByteConvolution> convolution_of_bytes(const Recorded& node, const Known& known, const RewriteOptions& options) {
  trace::Convolution given = trace::Convolution::of(node.ints);
  const std::size_t axes = given.axes();
  if (node.dtype != DType::int32 || axes > 2) return {};
  const Operands operands = node.inputs();
  if (operands.empty()) return {};
  const auto x = centred(operands[0]), w = centred(operands[1]);
  if (!x || !w || (x->zero && element_count(x->zero->shape) != 1)) return {};
  if (!trace::pads_nothing_away(given)) return {};
  const RecordedPtr weight = known.plain(w->bytes), weight_zero = w->zero ? known.plain(w->zero) : nullptr;
  if (!is_lasting(weight, options) || (weight_zero && weight_zero->op != Op::constant && !weight_zero->evaluated())) return {};

  const Site site{node.called, node.where};
  const auto two_axes = [&](const RecordedPtr& value) { return axes == 1 ? with_rows(site, value) : value; };
  if (axes == 1) given = with_rows(given);
  const RecordedPtr whole = two_axes(weight);
  const Shape shape = two_axes(operands[0])->shape, &taps = whole->shape;
  const std::int64_t channels = shape[1], filters = taps[0];
  const bool depthwise = given.groups > 1 && given.groups == channels && filters == channels;
  if (given.groups > 1 && !depthwise) return {};
  const InBlocks like{nullptr, channels, 1, axes + 2, {}};
  const BlockedOperand bytes = known.operand(x->bytes);
  const bool in_blocks = bytes.blocked && bytes.blocked->lie_like(like);
  const bool few = !in_blocks && given.groups == 1 && channels <= kPlanes, one_place = shape[2] * shape[3] == 1;
  if (wastes(filters, few || depthwise ? kChannelBlock : channels, in_blocks && taps[2] * taps[3] > 1) && !(in_blocks && one_place)) return {};
  if (one_place && !in_blocks) return {};  // a product of a matrix and a vector

  ByteConvolution conv{site, {}, {}, Tensor(whole), {}, {}, {}, axes, false, nullptr, nullptr, nullptr};
  const RecordedPtr plain = as_unsigned(in_blocks ? Tensor(bytes.blocked->node) : Tensor(known.plain(x->bytes))).node();
  conv.x = few ? block_few_channels(Tensor(two_axes(plain))) : Tensor(two_axes(in_blocks ? plain : block(site, plain, like)));
  conv.outside = reshape(as_unsigned(x->zero ? Tensor(known.plain(x->zero)) : zeros({}, x->bytes->dtype)), {1});
  // Bytes of the other signedness, with a zero point that differs by 128, represent the same numbers.
  const Tensor zero = weight_zero ? Tensor(weight_zero) : zeros({1}, weight->dtype);
  if (weight->dtype == DType::uint8 || weight_zero) {
    const Tensor wide = astype(as_signed(zero), DType::int32);
    if (any(not_equal(wide, 0)).item<bool>()) conv.weight_zero = wide;
  }
  conv.how = {.stride = given.stride,
              .padding = std::vector<std::pair<std::int64_t, std::int64_t>>{{given.before[0], given.after[0]}, {given.before[1], given.after[1]}},
              .dilation = given.dilation};
  conv.layout = depthwise ? ByteFilterLayout::depthwise : few ? ByteFilterLayout::few : ByteFilterLayout::blocked;
  return conv;
}

/// The sum of (x - x_zero) * (w - w_zero) is the sum of x * w minus the contributions of the zero points: x_zero times the filter's sum, known beforehand, and,
/// if weights have a zero point other than 0, this zero point times the sum of the window's elements, which one more filter of ones computes. Outside its
/// bounds, x equals its zero point.
InBlocks recorded(const ByteConvolution& conv, const RewriteOptions& options) {
  const Shape& taps = conv.weight.shape();
  const std::int64_t filters = taps[0];
  const auto once = [&](std::string_view name, auto make) {
    return Tensor(laid_out(conv.weight.node(), fmt::format("{} {}", name, static_cast<int>(conv.layout)), [&] { return make().node(); }, options));
  };
  const auto each = [&](const RecordedPtr& numbers) { return of_blocks(Tensor(numbers), filters); };
  const Tensor weight = once("filters of bytes", [&] { return contiguous(block_byte_filters(as_signed(conv.weight), conv.layout)); });
  const Tensor sums =
      once("sums of filters", [&] { return of_blocks(sum(astype(as_signed(conv.weight), DType::int32), {1, 2, 3}, false, DType::int32), filters); });
  const Tensor less = negative(astype(conv.outside, DType::int32));
  Tensor start = sums * less;
  if (conv.begin) start = start + each(conv.begin);
  Tensor y;
  if (conv.scale && conv.weight_zero.empty_handle()) {
    y = conv2d_bytes_scaled(conv.x, weight, start, conv.outside, each(conv.scale), conv.shift ? each(conv.shift) : Tensor(), conv.how);
  } else {
    y = conv2d_bytes(conv.x, weight, start, conv.outside, conv.how);
    if (!conv.weight_zero.empty_handle()) {
      const bool depthwise = conv.layout == ByteFilterLayout::depthwise;
      const std::int64_t window = conv.weight.size() / filters, blocks = depthwise ? y.shape()[1] : 1;
      const Tensor ones_read = once("filters of ones", [&] {
        return contiguous(block_byte_filters(ones({depthwise ? filters : 1, taps[1], taps[2], taps[3]}, DType::int8), conv.layout));
      });
      const Tensor begin = broadcast_to(less * static_cast<std::int32_t>(window), {blocks * kChannelBlock});
      const Tensor there = conv2d_bytes(conv.x, ones_read, begin, conv.outside, conv.how);
      const Tensor of_window = depthwise ? there : slice(there, {Slice{}, Slice{}, Slice{}, Slice{}, Slice{0, 1}});
      y = y - of_window * beside_blocks(of_blocks(conv.weight_zero, filters));
    }
    if (conv.as_floats) y = astype(y, DType::float32);
    if (conv.scale) y = y * beside_blocks(each(conv.scale));
    if (conv.shift) y = y + beside_blocks(each(conv.shift));
  }
  return {conv.axes == 1 ? without_rows(conv.site, y.node()) : y.node(), filters, 1, conv.axes + 2, {!conv.scale, {}}};
}

std::optional<ByteConvolution> followed(const ByteConvolution& conv, const Recorded& node, const RecordedPtr& other) {
  ByteConvolution result = conv;
  if (node.op == Op::cast) {
    if (conv.as_floats || node.dtype != DType::float32) return {};
    result.as_floats = true;
    return result;
  }
  RecordedPtr numbers = numbers_of_filters(conv.site, other, conv.weight.shape()[0]);
  if (!numbers) return {};
  if (node.op == Op::add && !conv.as_floats && !conv.begin) result.begin = std::move(numbers);
  else if (node.op == Op::add && conv.scale && !conv.shift) result.shift = std::move(numbers);
  else if (node.op == Op::multiply && conv.as_floats && !conv.scale) result.scale = std::move(numbers);
  else return {};
  return result;
}

}  // namespace sinter::fuse
