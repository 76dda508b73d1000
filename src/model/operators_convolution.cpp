// Operators over windows of the places: convolutions, pools, and changes of size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/call.hpp"
#include "model/windows.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sinter::model {

using Numbers = std::vector<std::int64_t>;

Windows windows(const Call& c, const Numbers& kernel, const Numbers& places) {
  const std::size_t axes = kernel.size();
  Windows w;
  w.stride = c.integers("strides", Numbers(axes, 1)), w.dilation = c.integers("dilations", Numbers(axes, 1));
  if (w.stride.size() != axes || w.dilation.size() != axes || places.size() != axes)
    c.refuse(fmt::format("strides {} and dilations {} for windows of {}", to_string(w.stride), to_string(w.dilation), to_string(kernel)));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {  // as many results as strides fit
    for (std::size_t i = 0; i < axes; ++i) {
      if (w.stride[i] <= 0) c.refuse(fmt::format("a stride of {}", w.stride[i]));
      const std::int64_t results = (places[i] + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>((results - 1) * w.stride[i] + (kernel[i] - 1) * w.dilation[i] + 1 - places[i], 0);
      const std::int64_t less = total / 2;
      w.padding.push_back(automatic == "SAME_UPPER" ? std::pair(less, total - less) : std::pair(total - less, less));
    }
    return w;
  }
  if (automatic != "NOTSET" && automatic != "VALID") c.refuse(fmt::format("auto_pad '{}'", automatic));
  const Numbers pads = c.integers("pads", Numbers(2 * axes, 0));
  if (pads.size() != 2 * axes) c.refuse(fmt::format("{} pads for {} axes", pads.size(), axes));
  for (std::size_t i = 0; i < axes; ++i) w.padding.emplace_back(pads[i], pads[i + axes]);
  return w;
}

namespace {

Numbers places_of(const Call& c, const Tensor& x) {
  if (x.ndim() < 3) c.refuse(fmt::format("a tensor of shape {}, which has no places", to_string(x.shape())));
  return {x.shape().begin() + 2, x.shape().end()};
}

Results conv_of(const Call& c) {
  const Tensor &x = c.tensor(0), &weight = c.tensor(1);
  const Numbers kernel(weight.shape().begin() + std::min<std::ptrdiff_t>(2, weight.ndim()), weight.shape().end());
  const Windows w = windows(c, kernel, places_of(c, x));
  return {conv(c[0], weight, c.tensor_or_none(2), {.stride = w.stride, .padding = w.padding, .dilation = w.dilation, .groups = c.integer("group", 1)})};
}

Results conv_transpose_of(const Call& c) {
  const Tensor &x = c.tensor(0), &weight = c.tensor(1);
  const Numbers kernel(weight.shape().begin() + std::min<std::ptrdiff_t>(2, weight.ndim()), weight.shape().end()), places = places_of(c, x);
  const std::size_t axes = kernel.size();
  const Numbers stride = c.integers("strides", Numbers(axes, 1)), dilation = c.integers("dilations", Numbers(axes, 1));
  Numbers more = c.integers("output_padding", Numbers(axes, 0)), wanted;
  if (c.given("output_shape")) wanted = c.integers("output_shape");
  if (wanted.size() > axes) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(axes));  // older files give all sizes
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (stride.size() != axes || dilation.size() != axes || more.size() != axes || (!wanted.empty() && wanted.size() != axes)) c.refuse("lists of other lengths than the window's");
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  if (!same && wanted.empty()) {
    const Numbers pads = c.integers("pads", Numbers(2 * axes, 0));
    if (pads.size() != 2 * axes) c.refuse(fmt::format("{} pads for {} axes", pads.size(), axes));
    for (std::size_t i = 0; i < axes; ++i) padding.emplace_back(pads[i], pads[i + axes]);
  } else {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size = wanted.empty() ? places[i] * stride[i] : wanted[i];
      const std::int64_t total = stride[i] * (places[i] - 1) + more[i] + (kernel[i] - 1) * dilation[i] + 1 - size;
      // Too few places are added at the end, which is what a negative width would mean.
      const std::int64_t half = total >= 0 ? total / 2 : 0;
      if (total < 0) more[i] -= total;
      const std::int64_t rest = total >= 0 ? total - half : 0;
      padding.push_back(automatic == "SAME_UPPER" ? std::pair(half, rest) : std::pair(rest, half));
    }
  }
  return {conv_transpose(c[0], weight, c.tensor_or_none(2),
                         {.stride = stride, .padding = padding, .output_padding = more, .groups = c.integer("group", 1), .dilation = dilation})};
}

PoolOptions pool_options(const Call& c, const Numbers& kernel) {
  const Windows w = windows(c, kernel, places_of(c, c.tensor(0)));
  return {.stride = w.stride, .padding = w.padding, .dilation = w.dilation, .ceil_mode = c.integer("ceil_mode", 0) != 0,
          .count_include_pad = c.integer("count_include_pad", 0) != 0};
}

Results max_pool_of(const Call& c) {
  if (c.wants(1)) c.refuse("the places of the maxima (the second output) are not supported");
  const Numbers kernel = c.integers("kernel_shape");
  return {max_pool(c[0], kernel, pool_options(c, kernel))};
}

Results average_pool(const Call& c) {
  const Numbers kernel = c.integers("kernel_shape");
  return {avg_pool(c[0], kernel, pool_options(c, kernel))};
}

Results lp_pool_of(const Call& c) {
  const Numbers kernel = c.integers("kernel_shape");
  return {lp_pool(c[0], static_cast<double>(c.integer("p", 2)), kernel, pool_options(c, kernel))};
}

Axes places_axes(const Call& c) {
  Numbers axes(places_of(c, c.tensor(0)).size());
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Results global_lp_pool(const Call& c) {
  const double p = static_cast<double>(c.integer("p", 2));
  return {power(sum(power(absolute(c[0]), p), places_axes(c), true), 1 / p).astype(c.tensor(0).dtype())};
}

/// A size is changed over the axes from the first one that changes; those before it stay.
Results resize_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int rank = x.ndim();
  const bool upsample = c.node().op == "Upsample";
  Numbers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (c.given("axes")) axes = c.integers("axes");
  for (std::int64_t& axis : axes) axis = c.axis(axis, rank);

  std::vector<double> scales(static_cast<std::size_t>(rank), 1.0);
  Numbers sizes(x.shape().begin(), x.shape().end());
  const std::size_t scales_input = upsample || c.opset() == 10 ? 1 : 2;
  const bool by_sizes = !upsample && c.has(3) && c.tensor(3).size() > 0;
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (by_sizes) {
    const Numbers wanted = c.values(3);
    if (wanted.size() != axes.size()) c.refuse(fmt::format("{} sizes for {} axes", wanted.size(), axes.size()));
    double common = 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto at = static_cast<std::size_t>(axes[k]);
      scales[at] = static_cast<double>(wanted[k]) / static_cast<double>(x.shape()[at]);
      sizes[at] = wanted[k];
      common = k == 0 ? scales[at] : policy == "not_larger" ? std::min(common, scales[at]) : std::max(common, scales[at]);
    }
    if (policy != "stretch")
      for (const std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axis);
        scales[at] = common;
        sizes[at] = static_cast<std::int64_t>(std::floor(common * static_cast<double>(x.shape()[at]) + 0.5));
      }
  } else {
    std::vector<float> given = c.given("scales") ? c.numbers("scales") : c.tensor(scales_input).astype(DType::float32).to_vector<float>(c.where());
    if (given.size() != axes.size()) c.refuse(fmt::format("{} scales for {} axes", given.size(), axes.size()));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto at = static_cast<std::size_t>(axes[k]);
      scales[at] = given[k];
      sizes[at] = static_cast<std::int64_t>(std::floor(static_cast<double>(given[k]) * static_cast<double>(x.shape()[at])));
    }
  }

  ResizeOptions how;
  const std::string mode = c.text("mode", "nearest");
  how.mode = mode == "nearest" ? Interpolation::nearest : mode == "linear" ? Interpolation::linear : Interpolation::cubic;
  if (mode != "nearest" && mode != "linear" && mode != "cubic") c.refuse(fmt::format("mode '{}'", mode));
  const std::string coordinates = c.text("coordinate_transformation_mode", upsample || c.opset() == 10 ? "asymmetric" : "half_pixel");
  if (coordinates == "half_pixel") how.coordinates = Coordinates::half_pixel;
  else if (coordinates == "pytorch_half_pixel") how.coordinates = Coordinates::pytorch_half_pixel;
  else if (coordinates == "align_corners") how.coordinates = Coordinates::align_corners;
  else if (coordinates == "asymmetric") how.coordinates = Coordinates::asymmetric;
  else c.refuse(fmt::format("coordinate_transformation_mode '{}'", coordinates));
  const std::string rounding = c.text("nearest_mode", upsample || c.opset() == 10 ? "floor" : "round_prefer_floor");
  if (rounding == "round_prefer_floor") how.rounding = NearestRounding::round_prefer_floor;
  else if (rounding == "round_prefer_ceil") how.rounding = NearestRounding::round_prefer_ceil;
  else if (rounding == "floor") how.rounding = NearestRounding::floor;
  else if (rounding == "ceil") how.rounding = NearestRounding::ceil;
  else c.refuse(fmt::format("nearest_mode '{}'", rounding));
  how.cubic_a = c.number("cubic_coeff_a", -0.75);
  how.exclude_outside = c.integer("exclude_outside", 0) != 0;
  if (c.integer("antialias", 0) != 0 && std::any_of(scales.begin(), scales.end(), [](double s) { return s < 1; })) c.refuse("antialias is not supported");

  int first = 0;  // axes before it keep their size
  while (first < rank && sizes[static_cast<std::size_t>(first)] == x.shape()[static_cast<std::size_t>(first)] && scales[static_cast<std::size_t>(first)] == 1) ++first;
  if (first == rank) return {x};
  how.scales.assign(scales.begin() + first, scales.end());
  return {resize(c[0], Numbers(sizes.begin() + first, sizes.end()), how)};
}

const Operator kRows[] = {
    {"AveragePool", average_pool},
    {"Conv", conv_of},
    {"ConvTranspose", conv_transpose_of},
    {"GlobalAveragePool", [](const Call& c) -> Results { return {global_avg_pool(c[0])}; }},
    {"GlobalLpPool", global_lp_pool},
    {"GlobalMaxPool", [](const Call& c) -> Results { return {global_max_pool(c[0])}; }},
    {"LpPool", lp_pool_of},
    {"MaxPool", max_pool_of},
    {"Resize", resize_of},
    {"Upsample", resize_of},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kRows; }

}  // namespace sinter::model
