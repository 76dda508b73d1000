// Convolutions of bytes, channels in blocks, down to views and a library call.
#include <fmt/format.h>

#include <array>

#include "sinter/blocked.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/library.hpp"
#include "trace/per_axis.hpp"

namespace sinter {
namespace {

using namespace trace;

/// Channels that one instruction multiplies and adds up.
constexpr std::int64_t kFour = 4;

Tensor filled_up(const Tensor& x, std::size_t axis, std::int64_t block) {
  const std::int64_t more = (block - x.shape()[axis] % block) % block;
  if (more == 0) return x;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(x.shape().size(), {0, 0});
  widths[axis].second = more;
  return pad(x, widths);
}

}  // namespace

Tensor block_few_channels(const Arg& given) {
  const Scope scope("block_few_channels", given.where());
  const Tensor x(as_node(scope.site(), given));
  const Shape& shape = x.shape();
  if (shape.size() != 4 || shape[1] < 1 || shape[1] > kFour)
    fail<ShapeError>(scope.site(), fmt::format("a tensor of shape {} where it takes (batch, up to {} channels, rows, columns)", to_string(shape), kFour));
  return reshape(permute(filled_up(x, 1, kFour), {0, 2, 3, 1}), {shape[0], 1, shape[2], shape[3], kFour});
}

Tensor block_byte_filters(const Arg& given, ByteFilterLayout layout) {
  const Scope scope("block_byte_filters", given.where());
  const Tensor filters(as_node(scope.site(), given));
  const Shape shape = filters.shape();
  const auto refuse = [&](const char* what) { fail<ShapeError>(scope.site(), fmt::format("filters of shape {}, {}", to_string(shape), what)); };
  if (filters.dtype() != DType::int8) fail<DTypeError>(scope.site(), fmt::format("filters of {} where it takes int8", name(filters.dtype())));
  if (shape.size() != 4) refuse("where it takes (filters, channels, rows, columns)");
  const Tensor full = filled_up(filters, 0, kChannelBlock);
  const std::int64_t blocks = full.shape()[0] / kChannelBlock, rows = shape[2], columns = shape[3];
  if (layout == ByteFilterLayout::depthwise) {
    if (shape[1] != 1) refuse("which read several channels each");
    return permute(reshape(full, {blocks, kChannelBlock, rows, columns}), {0, 2, 3, 1});
  }
  const bool few = layout == ByteFilterLayout::few;
  if (few && shape[1] > kFour) refuse("of more than four channels");
  const std::int64_t inner = few ? kFour : kChannelBlock;
  const Tensor all = filled_up(full, 1, inner);
  return permute(reshape(all, {blocks, kChannelBlock, all.shape()[1] / inner, inner / kFour, kFour, rows, columns}), {0, 2, 5, 6, 3, 1, 4});
}

Tensor conv2d_bytes(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const ConvOptions& given) {
  const Scope scope("conv2d_bytes", x.where());
  const Site& site = scope.site();
  const RecordedPtr data = as_node(site, x), weight = node_of(site, filters);
  const auto is = [&](const RecordedPtr& node, DType dtype) {
    if (node->dtype != dtype) fail<DTypeError>(site, fmt::format("{} where it takes {}", name(node->dtype), name(dtype)));
  };
  is(data, DType::uint8);
  is(weight, DType::int8);
  const Shape &in = data->shape, &taps = weight->shape;
  const bool depthwise = taps.size() == 4;
  const bool fits = in.size() == 5 && (depthwise ? taps[0] == in[1] && taps[3] == kChannelBlock && in[4] == kChannelBlock
                                                 : taps.size() == 7 && taps[1] == in[1] && taps[4] * kFour == in[4] && taps[5] == kChannelBlock && taps[6] == kFour &&
                                                       (in[4] == kFour || in[4] == kChannelBlock));
  if (!fits)
    fail<ShapeError>(site, fmt::format("filters of shape {} do not read x of shape {}; block_byte_filters, block_channels and block_few_channels lay them out", to_string(taps), to_string(in)));
  const Convolution how = convolution_of(site, given, in, std::span(taps).subspan(depthwise ? 1 : 2, 2));
  const std::int64_t count = taps[0] * kChannelBlock;
  const auto operand = [&](const Tensor& tensor, DType dtype, std::int64_t size, const char* what) {
    if (tensor.empty_handle()) return make_constant(site, make_scalar_int(dtype, 0), {size});
    const RecordedPtr node = node_of(site, tensor);
    is(node, dtype);
    if (element_count(node->shape) != size) fail<ShapeError>(site, fmt::format("{} of shape {} where it takes {} numbers", what, to_string(node->shape), size));
    return make_reshape(site, node, {size});
  };
  const RecordedPtr begin = operand(start, DType::int32, count, "start"), beside = operand(outside, DType::uint8, 1, "outside");
  if (element_count(in) == 0 || element_count(taps) == 0) {
    const std::array<Shape, 4> shapes{in, taps, begin->shape, beside->shape};
    return broadcast_to(reshape(Tensor(begin), {1, taps[0], 1, 1, kChannelBlock}), library_shape(Op::conv_bytes, shapes, how.ints()));
  }
  return Tensor(make_library(site, Op::conv_bytes, {data, weight, begin, beside}, how.ints()));
}

}  // namespace sinter
