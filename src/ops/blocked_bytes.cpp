// Convolutions of bytes with blocked channels, expressed by views and a library call.
#include <fmt/format.h>

#include <array>
#include <vector>

#include "ops/blocked.hpp"
#include "ops/per_axis.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "trace/library.hpp"

namespace sinter {
namespace {

using namespace ops;

/// Number of channels that one instruction multiplies and adds.
constexpr std::int64_t kFour = 4;

Tensor filled_up(const Tensor& x, std::size_t axis, std::int64_t block) {
  const std::int64_t more = (block - x.shape()[axis] % block) % block;
  if (more == 0) return x;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(x.shape().size(), {0, 0});
  widths[axis].second = more;
  return pad(x, widths);
}

/// Returns `size` numbers as a row; zeros by default.
Tensor numbers_of(const Site& site, const Tensor& tensor, DType dtype, std::int64_t size, const char* what) {
  if (tensor.empty_handle()) return Tensor(make_constant(site, make_scalar_int(dtype, 0), {size}));
  const RecordedPtr node = node_of(site, tensor);
  if (node->dtype != dtype) fail<DTypeError>(site, fmt::format("{} of {} where it takes {}", what, name(node->dtype), name(dtype)));
  if (element_count(node->shape) != size)
    fail<ShapeError>(site, fmt::format("{} of shape {} where it takes {}", what, to_string(node->shape), counted(size, "number")));
  return reshape(tensor, {size});
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

Tensor byte_panels(const Arg& given) {
  const Scope scope("byte_panels", given.where());
  const Tensor matrix(as_node(scope.site(), given));
  if (matrix.dtype() != DType::int8) fail<DTypeError>(scope.site(), fmt::format("a matrix of {} where it takes int8", name(matrix.dtype())));
  if (matrix.ndim() != 2) fail<ShapeError>(scope.site(), fmt::format("a tensor of shape {} where it takes a matrix", to_string(matrix.shape())));
  const Tensor full = filled_up(filled_up(matrix, 0, kFour), 1, kChannelBlock);
  return permute(reshape(full, {full.shape()[0] / kFour, kFour, full.shape()[1] / kChannelBlock, kChannelBlock}), {2, 0, 3, 1});
}

Tensor matmul_panels(const Arg& x, const Tensor& panels, std::int64_t columns) {
  const Scope scope("matmul_panels", x.where());
  const Site& site = scope.site();
  const RecordedPtr left = as_node(site, x), right = node_of(site, panels);
  if (left->dtype != DType::uint8 || right->dtype != DType::int8)
    fail<DTypeError>(site, fmt::format("{} by {} where it takes uint8 by int8", name(left->dtype), name(right->dtype)));
  if (left->shape.size() < 2 || columns < 0 || !panels_hold(right->shape, left->shape.back(), columns))
    fail<ShapeError>(site, fmt::format("x of shape {} by {} in panels of shape {}; byte_panels lays a matrix out", to_string(left->shape),
                                       counted(columns, "column"), to_string(right->shape)));
  Shape shape = left->shape;
  shape.back() = columns;
  if (element_count(shape) == 0 || left->shape.back() == 0) return zeros(shape, DType::int32);
  return Tensor(make_library(site, Op::matmul_panels, {left, right}, {columns}));
}

namespace {

struct Given {
  RecordedPtr x, weight, start;  // start is joined with the value of x outside
  Convolution how;
  Tensor begin;  // for all filters, padded to whole blocks
};

/// Checks the operands and fills in the defaults.
Given checked(const Site& site, const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const ConvOptions& given) {
  const RecordedPtr data = as_node(site, x), weight = node_of(site, filters);
  const auto is = [&](const RecordedPtr& node, DType dtype) {
    if (node->dtype != dtype) fail<DTypeError>(site, fmt::format("{} where it takes {}", name(node->dtype), name(dtype)));
  };
  is(data, DType::uint8);
  is(weight, DType::int8);
  const Shape &in = data->shape, &taps = weight->shape;
  const bool depthwise = taps.size() == 4;
  const bool fits = in.size() == 5 && (depthwise ? taps[0] == in[1] && taps[3] == kChannelBlock && in[4] == kChannelBlock
                                                 : taps.size() == 7 && taps[1] == in[1] && taps[4] * kFour == in[4] && taps[5] == kChannelBlock &&
                                                       taps[6] == kFour && (in[4] == kFour || in[4] == kChannelBlock));
  if (!fits)
    fail<ShapeError>(site, fmt::format("filters of shape {} do not read x of shape {}; block_byte_filters, block_channels and block_few_channels lay them out",
                                       to_string(taps), to_string(in)));
  const std::int64_t count = taps[0] * kChannelBlock;
  const Tensor begin = numbers_of(site, start, DType::int32, count, "start"), beside = numbers_of(site, outside, DType::uint8, 1, "outside");
  return {data, weight, as_node(site, concatenate({begin, astype(beside, DType::int32)})),
          convolution_of(site, given, in, std::span(taps).subspan(depthwise ? 1 : 2, 2)), begin};
}

bool is_empty(const Given& given) { return element_count(given.x->shape) == 0 || element_count(given.weight->shape) == 0; }
/// Returns the result without products: the initial values of the sums.
Tensor everywhere(const Given& given, const Tensor& each) {
  const std::array<Shape, 2> shapes{given.x->shape, given.weight->shape};
  return broadcast_to(reshape(each, {1, given.weight->shape[0], 1, 1, kChannelBlock}), library_shape(Op::conv_bytes, shapes, given.how.ints()));
}

}  // namespace

Tensor conv2d_bytes(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const ConvOptions& how) {
  const Scope scope("conv2d_bytes", x.where());
  const Given given = checked(scope.site(), x, filters, start, outside, how);
  if (is_empty(given)) return everywhere(given, given.begin);
  return Tensor(make_library(scope.site(), Op::conv_bytes, {given.x, given.weight, given.start}, given.how.ints()));
}

Tensor conv2d_bytes_scaled(const Arg& x, const Tensor& filters, const Tensor& start, const Tensor& outside, const Tensor& scale, const Tensor& shift,
                           const ConvOptions& how) {
  const Scope scope("conv2d_bytes_scaled", x.where());
  const Site& site = scope.site();
  const Given given = checked(site, x, filters, start, outside, how);
  if (scale.empty_handle()) fail<ShapeError>(site, "no scale");
  const Tensor factors = numbers_of(site, scale, DType::float32, given.begin.size(), "scale"),
               shifts = numbers_of(site, shift, DType::float32, given.begin.size(), "shift");
  if (is_empty(given)) return everywhere(given, astype(given.begin, DType::float32) * factors + shifts);
  return Tensor(make_library(site, Op::conv_bytes_scaled, {given.x, given.weight, given.start, as_node(site, stack({factors, shifts}))}, given.how.ints()));
}

}  // namespace sinter
