#include "ops/transposed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "ops/per_axis.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"

namespace sinter::ops {
namespace {

/// Inserts zeros between the elements of an axis, which are then `step` apart.
Tensor spread_out(const Tensor& x, std::size_t axis, std::int64_t step) {
  const std::int64_t size = x.shape()[axis];
  if (step == 1 || size <= 1) return x;
  Shape longer = x.shape();
  longer[axis] = size * step;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(x.shape().size() + 1, {0, 0});
  widths[axis + 1] = {0, step - 1};
  const Tensor apart = reshape(pad(expand_dims(x, static_cast<std::int64_t>(axis) + 1), widths), longer);
  std::vector<Index> index(axis, Slice{});
  index.push_back(Slice{0, size * step - (step - 1)});
  return slice(apart, index);
}

}  // namespace

Tensor filters_of_phases(const Tensor& weight, std::int64_t groups, const std::vector<std::int64_t>& stride, const std::vector<std::int64_t>& dilation) {
  const std::size_t axes = stride.size();
  const std::int64_t channels = weight.shape()[0] / groups, filters = weight.shape()[1];
  Tensor w = weight;
  std::vector<std::pair<std::int64_t, std::int64_t>> to_multiple(axes + 2, {0, 0});
  Shape apart{groups, channels, filters}, shape{groups * filters, channels};
  std::vector<std::int64_t> order{0}, taps_order;  // (groups, channels, filters, taps of a phase, phase, ..) -> (groups, phases.., filters, channels, taps..)
  for (std::size_t k = 0; k < axes; ++k) {
    if (stride[k] > 1) w = spread_out(w, k + 2, dilation[k]);
    const std::int64_t s = stride[k], reach = w.shape()[k + 2], taps = (reach + s - 1) / s;
    to_multiple[k + 2] = {0, taps * s - reach};
    apart.insert(apart.end(), {taps, s});
    order.push_back(static_cast<std::int64_t>(2 * k) + 4);
    taps_order.push_back(static_cast<std::int64_t>(2 * k) + 3);
    shape[0] *= s;
    shape.push_back(taps);
  }
  order.insert(order.end(), {2, 1});
  order.insert(order.end(), taps_order.begin(), taps_order.end());
  return reshape(permute(flip(reshape(pad(w, to_multiple), apart), Axes(taps_order)), order), shape);
}

void check_phases(const Site& site, std::int64_t filters, const std::vector<std::int64_t>& stride) {
  constexpr double kMaxFilters = 0x1p40;  // maximum number of filters of a convolution, each of at least a byte
  double all = static_cast<double>(filters);
  for (const std::int64_t s : stride) all *= static_cast<double>(s);
  if (all > kMaxFilters)
    fail<ShapeError>(site, fmt::format("{} with strides of {} are too many filters, one for each phase", counted(filters, "filter"), fmt::join(stride, ", ")));
}

TransposedConvolution::TransposedConvolution(const Site& site, const ConvTransposeOptions& given, const Shape& x, const Shape& weight)
    : groups_(given.groups), filters_(weight[1]) {
  const std::size_t axes = weight.size() - 2;
  stride = per_axis(site, "stride", given.stride, axes, 1), dilation = per_axis(site, "dilation", given.dilation, axes, 1);
  const auto more = per_axis(site, "output_padding", given.output_padding, axes, 0);
  const auto widths = per_axis(site, given.padding, axes);
  check_phases(site, filters_, stride);
  how.groups = groups_;
  for (std::size_t k = 0; k < axes; ++k) {
    const std::int64_t s = stride[k], reach = (weight[k + 2] - 1) * dilation[k] + 1, size = x[k + 2];
    const auto [before, after] = widths[k];
    const std::int64_t result = (size - 1) * s - before - after + reach + more[k];
    if (weight[k + 2] < 1 || size < 1 || result < 1) fail<ShapeError>(site, fmt::format("axis {} of shape {} would become {}", k + 2, to_string(x), result));
    if (more[k] >= std::max(s, dilation[k]))
      fail<ValueError>(site, fmt::format("output_padding {} must be smaller than the larger of stride {} and dilation {}", more[k], s, dilation[k]));
    const std::int64_t taps = (reach + s - 1) / s, first = before / s, last = (before + result + s - 1) / s;  // windows that contain a position of the result
    const std::int64_t pad_before = taps - 1 - first, pad_after = last - first - size - pad_before + taps - 1;
    how.stride.push_back(1);
    how.dilation.push_back(s == 1 ? dilation[k] : 1);
    how.before.push_back(std::max<std::int64_t>(pad_before, 0));
    how.after.push_back(std::max<std::int64_t>(pad_after, 0));
    axes_.push_back({std::max<std::int64_t>(-pad_before, 0), size - std::max<std::int64_t>(-pad_after, 0), before - first * s, result});
  }
}

Tensor TransposedConvolution::read(const Tensor& x) const {
  std::vector<Index> index{Slice{}, Slice{}};
  for (const Axis& axis : axes_) index.push_back(Slice{axis.read_begin, axis.read_end});
  return slice(x, index);
}

Tensor TransposedConvolution::together(const Tensor& windows) const {
  const Shape& shape = windows.shape();
  const auto axes = static_cast<std::int64_t>(axes_.size());
  Shape apart{shape[0], groups_},
      whole{shape[0], groups_ * filters_};  // (batch, groups, phases.., filters, places..) -> (batch, groups, filters, places, phases, ..)
  std::vector<std::int64_t> order{0, 1, axes + 2};
  std::vector<Index> cropped{Slice{}, Slice{}};
  for (std::int64_t k = 0; k < axes; ++k) {
    const Axis& axis = axes_[static_cast<std::size_t>(k)];
    apart.push_back(stride[static_cast<std::size_t>(k)]);
    order.insert(order.end(), {axes + 3 + k, 2 + k});
    whole.push_back(shape[static_cast<std::size_t>(k) + 2] * stride[static_cast<std::size_t>(k)]);
    cropped.push_back(Slice{axis.crop, axis.crop + axis.places});
  }
  apart.push_back(filters_);
  for (std::size_t k = 2; k < shape.size(); ++k) apart.push_back(shape[k]);
  return slice(reshape(permute(reshape(windows, apart), order), whole), cropped);
}

}  // namespace sinter::ops
