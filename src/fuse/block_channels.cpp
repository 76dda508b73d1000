#include "fuse/block_channels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <vector>

#include "ops/blocked.hpp"
#include "sinter/ops.hpp"

namespace sinter::fuse {
namespace {

using trace::Convolution;

/// For convolutions in tiles: the minimum number of channels and filters, the minimum number of positions of an image, and the minimum number of products per
/// position by the definition.
constexpr std::int64_t kMinChannels = 32, kMinPlaces = 64;
constexpr double kWorthTiles = 0.7;
/// For windows of several elements: the minimum number of products for each element of x and of the result. Converting these into blocks and back takes less
/// time than blocks save (bench/results/blocks-2026-11-28.md).
constexpr std::int64_t kWorthBlocks = 72;
/// The maximum number of groups that share a block: their filters then read zeros for the others' channels.
constexpr std::int64_t kMaxJoined = 4;
/// The minimum number of positions for weights that every call has to pack again.
constexpr std::int64_t kWorthLayingOut = 256;

/// Returns whether minimal filtering (FilterLayout::winograd) is faster: its weights are nearly twice as many, and are read at least once for each image.
bool by_tiles(const Shape& taps, const Convolution& how, const Shape& x) {
  if (taps[2] != 3 || taps[3] != 3 || taps[1] < kMinChannels || taps[0] < kMinChannels) return false;
  std::int64_t places = 1, tiles = 1;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (how.stride[axis] != 1 || how.dilation[axis] != 1) return false;
    const std::int64_t count = how.places(axis, x[axis + 2], 3);
    if (count < 1) return false;
    places *= count;
    tiles *= (count + 1) / 2;
  }
  return places >= kMinPlaces && static_cast<double>(16 * tiles) <= kWorthTiles * static_cast<double>(9 * places);
}

/// Joins the filters of neighbouring groups, so that each reads the channels of all of them, with zeros for the other groups' channels.
Tensor joined_filters(const Tensor& weight, std::int64_t groups, std::int64_t joined) {
  if (joined == 1) return weight;
  const Shape& shape = weight.shape();
  const std::int64_t filters = shape[0] / (groups * joined);
  const Tensor own = reshape(eye(joined, {}, 0, DType::bool_), {1, joined, 1, joined, 1, 1, 1});
  const Tensor apart = where(own, reshape(weight, {groups, joined, filters, 1, shape[1], shape[2], shape[3]}), 0.f);
  return reshape(apart, {shape[0], joined * shape[1], shape[2], shape[3]});
}

/// Returns zeros that no call has to write.
RecordedPtr zeros_in_memory(std::int64_t count) {
  static auto& mutex = *new std::mutex;
  static auto& known = *new std::map<std::int64_t, RecordedPtr>;
  const std::lock_guard lock(mutex);
  RecordedPtr& zeros = known[count];
  if (!zeros) zeros = from_span(std::vector<float>(static_cast<std::size_t>(count))).node();
  return zeros;
}

Tensor in_float64(const Tensor& x) { return astype(x, DType::float64); }

/// A convolution over two axes that suits blocks.
struct Fitting {
  Shape x, taps;
  Convolution how;
  std::int64_t joined = 1;
  bool depthwise = false, planes = false, lasting = false;
};

/// Returns nothing if the convolution does not suit blocks. `in_blocks`: x is in blocks already.
std::optional<Fitting> fitting(const trace::Recorded& node, const Shape& x, const RecordedPtr& weight, bool in_blocks, const RewriteOptions& options) {
  Fitting fit{x, weight->shape, Convolution::of(node.ints)};
  if (node.dtype != DType::float32 || fit.how.axes() > 2) return {};
  if (fit.how.axes() == 1) {
    fit.how = with_rows(fit.how);
    for (Shape* shape : {&fit.x, &fit.taps}) shape->insert(shape->begin() + 2, 1);
  }
  if (!trace::pads_nothing_away(fit.how)) return {};
  const std::int64_t channels = fit.x[1], filters = fit.taps[0], groups = fit.how.groups;
  fit.depthwise = groups > 1 && groups == channels && filters == channels;
  fit.planes = !in_blocks && groups == 1 && channels <= kPlanes;
  if (!fit.depthwise && groups > 1)
    fit.joined = std::lcm(kChannelBlock / std::gcd(kChannelBlock, fit.taps[1]), kChannelBlock / std::gcd(kChannelBlock, filters / groups));
  if (fit.joined > kMaxJoined || groups % fit.joined != 0) return {};
  const bool one_place = fit.x[2] * fit.x[3] == 1;
  if (one_place && !in_blocks) return {};  // a product of a matrix and a vector
  if (!one_place && wastes(filters, fit.planes || groups > 1 ? kChannelBlock : channels, in_blocks && fit.taps[2] * fit.taps[3] > 1)) return {};
  fit.lasting = is_lasting(weight, options);
  const std::int64_t places = node.shape[0] * element_count(Shape(node.shape.begin() + 2, node.shape.end()));
  if (!fit.lasting && places < kWorthLayingOut) return {};
  return fit;
}

bool in_tiles(const Fitting& fit) { return fit.how.groups == 1 && !fit.planes && fit.lasting && by_tiles(fit.taps, fit.how, fit.x); }

/// Returns whether a convolution runs in blocks even if no neighbour does. Positions count by the stride, so that the answer is the same for all sizes.
bool is_worth_blocks(const Fitting& fit) {
  if (in_tiles(fit)) return true;
  const std::int64_t taps = fit.taps[2] * fit.taps[3], elements = fit.taps[1] * fit.how.stride[0] * fit.how.stride[1] + fit.taps[0];
  // Blocks that are not full multiply by zeros, and hold more elements.
  const double filled = filled_up(fit.taps[0]) * filled_up(fit.taps[1]);
  return fit.how.groups == 1 && fit.lasting && taps > 1 &&
         static_cast<double>(fit.taps[0] * fit.taps[1] * taps) >= static_cast<double>(kWorthBlocks * elements) * filled * filled;
}

}  // namespace

bool reads_blocks(const trace::Recorded& node, const RewriteOptions& options) {
  const Operands operands = node.inputs();
  return operands.size() == 2 && fitting(node, operands[0]->shape, operands[1], true, options).has_value();
}

std::optional<BlockedConvolution> convolution_in_blocks(const trace::Recorded& node, const BlockedOperand& x, const RecordedPtr& weight, bool wanted,
                                                        const RewriteOptions& options) {
  const std::size_t axes = weight->shape.size() - 2;
  const InBlocks like{nullptr, x.shape[1], 1, axes + 2, {}};
  const bool in_blocks = x.blocked && x.blocked->lie_like(like);
  const auto fit = fitting(node, x.shape, weight, in_blocks, options);
  if (!fit || !(in_blocks || wanted || is_worth_blocks(*fit))) return {};
  BlockedConvolution conv{{node.called, node.where}, nullptr, weight, nullptr, fit->how, FilterLayout::blocked, fit->joined, axes, fit->lasting};
  if (fit->depthwise) conv.layout = FilterLayout::depthwise;
  else if (fit->planes) conv.layout = FilterLayout::planes;
  else if (in_tiles(*fit)) conv.layout = FilterLayout::winograd;
  conv.how.groups = fit->depthwise ? 1 : fit->how.groups / fit->joined;
  if (in_blocks) conv.x = with_zeros(conv.site, *x.blocked);
  else conv.x = x.plain ? x.plain : unblock(conv.site, *x.blocked);
  if (!in_blocks && !fit->planes) conv.x = block(conv.site, conv.x, like);
  if (axes == 1) {
    conv.x = with_rows(conv.site, conv.x);
    conv.weight = with_rows(conv.site, weight);
  }
  return conv;
}

InBlocks recorded(const BlockedConvolution& conv, const RewriteOptions& options) {
  const std::int64_t filters = conv.weight->shape[0], all = up_to_blocks(filters);
  const auto laid = [&] { return contiguous(block_filters(joined_filters(Tensor(conv.weight), conv.how.groups, conv.joined), conv.layout)).node(); };
  const std::string name = fmt::format("filters {} {} {}", static_cast<int>(conv.layout), conv.how.groups, conv.joined);
  const RecordedPtr weight = conv.lasting ? laid_out(conv.weight, name, laid, options) : laid();
  const auto padded = [&] { return pad(Tensor(conv.bias), {{0, all - filters}}).node(); };
  const RecordedPtr start = !conv.bias ? zeros_in_memory(all) : is_lasting(conv.bias, options) ? padded() : laid_out(conv.bias, "start", padded, options);
  RecordedPtr y = trace::make_library(conv.site, Op::conv_blocked, {conv.x, weight, start}, conv.how.ints());
  if (conv.axes == 1) y = without_rows(conv.site, y);
  return {y, filters, 1, conv.axes + 2, {true, trace::make_scalar_int(DType::float32, 0)}};
}

std::optional<BlockedConvolution> absorbed(const BlockedConvolution& conv, Op op, const RecordedPtr& other, const RewriteOptions& options) {
  const bool scales = op == Op::multiply;
  if (scales && !conv.lasting) return {};  // each call would multiply the weights again
  const Shape filters{conv.weight->shape[0]};
  const RecordedPtr numbers = numbers_of_filters(conv.site, other, filters[0]);
  if (!numbers || (!options.frozen && numbers->op == Op::constant)) return {};  // a literal may differ in each call
  // The formulas of the weights and of the bias share no nodes, because evaluating one would change the other.
  const auto each = [&] { return in_float64(broadcast_to(Tensor(numbers), filters)); };
  const auto as_floats = [](const Tensor& wide) { return astype(wide, DType::float32).node(); };
  BlockedConvolution result = conv;
  if (scales) {
    result.weight = as_floats(in_float64(Tensor(conv.weight)) * reshape(each(), {filters[0], 1, 1, 1}));
    if (conv.bias) result.bias = as_floats(in_float64(Tensor(conv.bias)) * each());
  } else {
    const Tensor summand = op == Op::add ? each() : negative(each());
    result.bias = as_floats(conv.bias ? in_float64(Tensor(conv.bias)) + summand : summand);
  }
  if ((scales && !is_computed_once(result.weight, options)) || (result.bias && !is_computed_once(result.bias, options))) return {};
  return result;
}

}  // namespace sinter::fuse
