// Blocked channels (blocks of 16 side by side), expressed by views and a library call.
#include "ops/blocked.hpp"

#include <fmt/format.h>

#include <array>

#include "ops/per_axis.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"
#include "trace/library.hpp"

namespace sinter {
namespace {

using namespace ops;

constexpr std::array<std::int64_t, 2> kTapsOfWinograd{3, 3};

std::int64_t blocks_of(std::int64_t channels) { return (channels + kChannelBlock - 1) / kChannelBlock; }

/// Splits the axis in two: the blocks, and the elements of a block.
Tensor split_in_blocks(const Tensor& x, std::size_t axis) {
  Shape shape = x.shape();
  const std::int64_t blocks = blocks_of(shape[axis]), more = blocks * kChannelBlock - shape[axis];
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(shape.size(), {0, 0});
  widths[axis].second = more;
  shape[axis] = blocks;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, kChannelBlock);
  return reshape(more > 0 ? pad(x, widths) : x, shape);
}

/// Returns the same tensor for all callers, so that values computed from it are recognised as equal.
const Tensor& tile_transform() {
  static const Tensor& made = *new Tensor([] {
    constexpr double g[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
    std::vector<double> both;  // (taps, positions)
    for (int tap = 0; tap < 9; ++tap)
      for (int position = 0; position < 16; ++position) both.push_back(g[position / 4][tap / 3] * g[position % 4][tap % 3]);
    return from_span(both, {9, 16});
  }());
  return made;
}

/// Computes G w G' over the last two axes of 3x3 taps: (positions, filters, channels). It computes in float64 and rounds once.
Tensor transformed(const Tensor& filters) {
  const Shape& shape = filters.shape();
  const Tensor spread = matmul(reshape(astype(filters, DType::float64), {shape[0] * shape[1], 9}), tile_transform());
  return reshape(permute(astype(spread, filters.dtype()), {1, 0}), {16, shape[0], shape[1]});
}

const Shape& shape_of_rank(const Site& site, const Tensor& x, std::size_t rank, const char* axes) {
  if (x.shape().size() != rank) fail<ShapeError>(site, fmt::format("a tensor of shape {} where it takes {}", to_string(x.shape()), axes));
  return x.shape();
}

}  // namespace

Tensor block_channels(const Arg& given) {
  const Scope scope("block_channels", given.where());
  const Tensor x(as_node(scope.site(), given));
  const Shape& shape = shape_of_rank(scope.site(), x, 4, "(batch, channels, rows, columns)");
  if (shape[1] == 1) return reshape(x, {shape[0], 1, shape[2], shape[3], 1});
  return permute(split_in_blocks(x, 1), {0, 1, 3, 4, 2});
}

Tensor unblock_channels(const Arg& given, std::int64_t channels) {
  const Scope scope("unblock_channels", given.where());
  const Tensor x(as_node(scope.site(), given));
  const Shape& shape = shape_of_rank(scope.site(), x, 5, "(batch, blocks, rows, columns, channels of a block)");
  if (channels < 0 || channels > shape[1] * shape[4])
    fail<ShapeError>(scope.site(), fmt::format("{} of a tensor of shape {}", counted(channels, "channel"), to_string(shape)));
  const Tensor all = reshape(permute(x, {0, 1, 4, 2, 3}), {shape[0], shape[1] * shape[4], shape[2], shape[3]});
  return channels == shape[1] * shape[4] ? all : slice(all, {Slice{}, Slice{0, channels}});
}

Tensor block_filters(const Arg& given, FilterLayout layout) {
  const Scope scope("block_filters", given.where());
  const Tensor filters(as_node(scope.site(), given));
  const Shape& shape = shape_of_rank(scope.site(), filters, 4, "(filters, channels, rows, columns)");
  switch (layout) {
    case FilterLayout::blocked: return permute(split_in_blocks(split_in_blocks(filters, 1), 0), {0, 2, 4, 5, 3, 1});
    case FilterLayout::planes: return permute(split_in_blocks(filters, 0), {0, 2, 3, 4, 1});
    case FilterLayout::depthwise:
      if (shape[1] != 1)
        fail<ShapeError>(scope.site(), fmt::format("depthwise filters of shape {} read {} each", to_string(shape), counted(shape[1], "channel")));
      return permute(split_in_blocks(reshape(filters, {shape[0], shape[2], shape[3]}), 0), {0, 2, 3, 1});
    case FilterLayout::winograd:
      if (shape[2] != 3 || shape[3] != 3)
        fail<ShapeError>(scope.site(), fmt::format("filters of shape {} where minimal filtering takes 3x3 taps", to_string(shape)));
      return permute(split_in_blocks(split_in_blocks(transformed(filters), 2), 1), {0, 1, 3, 4, 2});
  }
  fail<ValueError>(scope.site(), "no such layout");
}

Tensor conv2d_blocked(const Arg& x, const Tensor& filters, const Tensor& bias, const ConvOptions& given) {
  const Scope scope("conv2d_blocked", x.where());
  const Site& site = scope.site();
  const RecordedPtr data = as_node(site, x), weight = node_of(site, filters);
  for (const RecordedPtr& node : {data, weight})
    if (node->dtype != DType::float32) fail<DTypeError>(site, fmt::format("{} where it takes float32", name(node->dtype)));
  const Shape &in = data->shape, &taps = weight->shape;
  const std::size_t rank = taps.size();
  const std::size_t first_tap = rank == 4 ? 1 : 2;  // comes after the blocks of filters and, if filters read several, the channels
  const bool winograd = rank == 5 && in.size() == 5;
  const std::int64_t groups = rank == 6 ? given.groups : 1;
  if (!filters_read(in, taps, groups))
    fail<ShapeError>(site, fmt::format("filters of shape {}{} do not read x of shape {}; block_filters and block_channels lay them out{}", to_string(taps),
                                       groups == 1 ? "" : fmt::format(" in {}", counted(groups, "group")), to_string(in),
                                       in.size() == 5 && in[4] == 1 ? "; a single channel is read as it is, by FilterLayout::planes" : ""));
  Convolution how = convolution_of(site, given, in, winograd ? std::span<const std::int64_t>(kTapsOfWinograd) : std::span(taps).subspan(first_tap, 2));
  how.groups = groups;
  if (winograd && (how.stride != Shape{1, 1} || how.dilation != Shape{1, 1} || how.before[0] < 0 || how.before[1] < 0 || how.after[0] < 0 || how.after[1] < 0))
    fail<ValueError>(
        site,
        fmt::format("stride {}, dilation {} where filters of shape {}, for minimal filtering, are convolved with stride and dilation 1 and no negative padding",
                    to_string(how.stride), to_string(how.dilation), to_string(taps)));
  const std::int64_t blocks = taps[winograd ? 1 : 0], count = blocks * kChannelBlock;
  if (!bias.empty_handle() && (bias.dtype() != DType::float32 || bias.shape() != Shape{count}))
    fail<ShapeError>(
        site, fmt::format("bias of {}{} for {} with those that fill the last block", name(bias.dtype()), to_string(bias.shape()), counted(count, "filter")));
  const RecordedPtr start = bias.empty_handle() ? make_constant(site, make_scalar_int(DType::float32, 0), {count}) : node_of(site, bias);
  if (element_count(in) == 0 || element_count(taps) == 0) {
    const std::array<Shape, 3> shapes{in, taps, start->shape};
    const Shape shape = library_shape(Op::conv_blocked, shapes, how.ints());
    return broadcast_to(reshape(Tensor(start), {1, blocks, 1, 1, kChannelBlock}), shape);
  }
  return Tensor(make_library(site, Op::conv_blocked, {data, weight, start}, how.ints()));
}

}  // namespace sinter
