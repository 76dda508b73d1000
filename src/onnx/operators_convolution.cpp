// Operators over windows: convolutions, pools, and changes of size.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "onnx/call.hpp"
#include "onnx/windows.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {

using Numbers = std::vector<std::int64_t>;

namespace {

/// Returns strides or dilations.
Numbers steps(const Call& c, const char* name, std::size_t axes) { return c.within(c.integers(name, Numbers(axes, 1)), name, 1); }

Numbers widths(const Call& c, std::size_t axes) {
  const Numbers pads = c.within(c.integers("pads", Numbers(2 * axes, 0)), "pads", -Call::kFar);
  if (pads.size() != 2 * axes) c.refuse(fmt::format("{} for {}", sinter::counted(pads.size(), "pad"), sinter::counted(axes, "axis", "axes")));
  return pads;
}

/// Bounds the padded sizes and the number of products, before anything is computed.
void check_size(const Call& c, const Windows& w, const Numbers& kernel, const Numbers& places) {
  Numbers padded;
  double products = 1;
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    padded.push_back(std::max<std::int64_t>(places[i] + w.padding[i].first + w.padding[i].second, 0));
    const std::int64_t reach = (kernel[i] - 1) * w.dilation[i] + 1, count = padded[i] < reach ? 1 : (padded[i] - reach) / w.stride[i] + 1;
    products *= static_cast<double>(kernel[i]) * static_cast<double>(count);
  }
  c.shape(padded, "the places and their padding");
  c.check_work(products);
}

}  // namespace

Windows windows(const Call& c, const Numbers& kernel, const Numbers& places) {
  const std::size_t axes = kernel.size();
  Windows w;
  w.stride = steps(c, "strides", axes), w.dilation = steps(c, "dilations", axes);
  c.within(kernel, "the sizes of the windows", 1), c.within(places, "the places", 0);
  if (c.given("kernel_shape") && c.integers("kernel_shape") != kernel)
    c.refuse(fmt::format("kernel_shape {} differs from the weights' windows {}", to_string(c.integers("kernel_shape")), to_string(kernel)));
  if (w.stride.size() != axes || w.dilation.size() != axes || places.size() != axes)
    c.refuse(fmt::format("strides {} and dilations {} do not fit windows of {}", to_string(w.stride), to_string(w.dilation), to_string(kernel)));
  const std::string automatic = c.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {  // the number of results is the number of strides that fit
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t results = (places[i] + w.stride[i] - 1) / w.stride[i];
      const std::int64_t total = std::max<std::int64_t>((results - 1) * w.stride[i] + (kernel[i] - 1) * w.dilation[i] + 1 - places[i], 0);
      const std::int64_t less = total / 2;
      w.padding.push_back(automatic == "SAME_UPPER" ? std::pair(less, total - less) : std::pair(total - less, less));
    }
  } else {
    if (automatic != "NOTSET" && automatic != "VALID") c.refuse(fmt::format("auto_pad '{}'", automatic));
    const Numbers pads = widths(c, axes);
    for (std::size_t i = 0; i < axes; ++i) w.padding.emplace_back(pads[i], pads[i + axes]);
  }
  check_size(c, w, kernel, places);
  return w;
}

ConvTransposeOptions transposed_windows(const Call& c, const Numbers& kernel, const Numbers& places) {
  const std::size_t axes = kernel.size();
  const Numbers stride = steps(c, "strides", axes), dilation = steps(c, "dilations", axes);
  Numbers more = c.within(c.integers("output_padding", Numbers(axes, 0)), "output_padding", 0), wanted;
  if (c.given("output_shape")) wanted = c.within(c.integers("output_shape"), "output_shape", 0);
  c.within(kernel, "the sizes of the windows", 1), c.within(places, "the places", 0);
  if (wanted.size() > axes) wanted.erase(wanted.begin(), wanted.end() - static_cast<std::ptrdiff_t>(axes));  // older files give the sizes of all axes
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (stride.size() != axes || dilation.size() != axes || more.size() != axes || places.size() != axes || (!wanted.empty() && wanted.size() != axes))
    c.refuse("the lists of numbers and the window differ in length");
  std::vector<std::pair<std::int64_t, std::int64_t>> padding;
  if (!same && wanted.empty()) {
    const Numbers pads = widths(c, axes);
    for (std::size_t i = 0; i < axes; ++i) padding.emplace_back(pads[i], pads[i + axes]);
  } else {
    for (std::size_t i = 0; i < axes; ++i) {
      const std::int64_t size = wanted.empty() ? places[i] * stride[i] : wanted[i];
      const std::int64_t total = stride[i] * (places[i] - 1) + more[i] + (kernel[i] - 1) * dilation[i] + 1 - size;
      // A negative total adds positions at the end: that is the meaning of a negative width.
      const std::int64_t half = total >= 0 ? total / 2 : 0;
      if (total < 0) more[i] -= total;
      const std::int64_t rest = total >= 0 ? total - half : 0;
      padding.push_back(automatic == "SAME_UPPER" ? std::pair(half, rest) : std::pair(rest, half));
    }
  }
  Numbers sizes;
  for (std::size_t i = 0; i < axes; ++i) sizes.push_back(std::max<std::int64_t>(stride[i] * (places[i] - 1) + more[i] + (kernel[i] - 1) * dilation[i] + 1, 0));
  c.shape(sizes, "the places and their padding");
  return {.stride = stride, .padding = padding, .output_padding = more, .groups = c.size("group", 1), .dilation = dilation};
}

namespace {

Numbers places_of(const Call& c, const Tensor& x) {
  if (x.ndim() < 3) c.refuse(fmt::format("a tensor of shape {}, which has no spatial axes", to_string(x.shape())));
  return {x.shape().begin() + 2, x.shape().end()};
}

Results conv_of(const Call& c) {
  const Tensor &x = c.tensor(0), &weight = c.tensor(1);
  const Numbers kernel(weight.shape().begin() + std::min<std::ptrdiff_t>(2, weight.ndim()), weight.shape().end());
  const Windows w = windows(c, kernel, places_of(c, x));
  return {conv(c[0], weight, c.tensor_or_none(2), {.stride = w.stride, .padding = w.padding, .dilation = w.dilation, .groups = c.size("group", 1)})};
}

Results conv_transpose_of(const Call& c) {
  const Tensor &x = c.tensor(0), &weight = c.tensor(1);
  const Numbers kernel(weight.shape().begin() + std::min<std::ptrdiff_t>(2, weight.ndim()), weight.shape().end());
  return {conv_transpose(c[0], weight, c.tensor_or_none(2), transposed_windows(c, kernel, places_of(c, x)))};
}

PoolOptions pool_options(const Call& c, const Numbers& kernel) {
  const Windows w = windows(c, kernel, places_of(c, c.tensor(0)));
  return {.stride = w.stride,
          .padding = w.padding,
          .dilation = w.dilation,
          .ceil_mode = c.integer("ceil_mode", 0) != 0,
          .count_include_pad = c.integer("count_include_pad", 0) != 0};
}

/// Returns the position in x of each window's maximum, counted through all of x. `maxima`: the pool's result.
Tensor places_of_maxima(const Call& c, const Tensor& maxima, const Numbers& kernel) {
  const Tensor& x = c.tensor(0);
  const bool by_columns = c.integer("storage_order", 0) != 0;
  const std::size_t rank = x.shape().size(), axes = kernel.size();
  const Windows w = windows(c, kernel, places_of(c, x));
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(2, {0, 0});
  std::vector<Index> kept(2, Index(Slice{}));
  std::vector<Index> taps(rank, Index(Slice{}));
  Numbers reach, window_axes;
  for (std::size_t k = 0; k < axes; ++k) {
    reach.push_back((kernel[k] - 1) * w.dilation[k] + 1);
    window_axes.push_back(static_cast<std::int64_t>(k) + 2);
    const std::int64_t needed = (maxima.shape()[k + 2] - 1) * w.stride[k] + reach[k];
    widths.emplace_back(w.padding[k].first, std::max<std::int64_t>(needed - w.padding[k].first - x.shape()[k + 2], 0));
    kept.push_back(Slice{0, (maxima.shape()[k + 2] - 1) * w.stride[k] + 1, w.stride[k]});
    taps.push_back(Slice{{}, {}, w.dilation[k]});
  }
  const Tensor lowest = is_floating(x.dtype()) ? full({}, -std::numeric_limits<double>::infinity(), x.dtype()) : astype(c.at_node(min(c[0])), x.dtype());
  const Tensor padded = pad(c[0], widths, PadMode::constant, c.at_node(lowest));
  const Tensor all = sliding_window_view(c.at_node(padded), reach, Axes(window_axes));
  for (std::size_t k = 0; k < axes; ++k) taps[k + 2] = kept[k + 2];
  Shape flat = maxima.shape();
  flat.push_back(-1);
  const Tensor tap = argmax(c.at_node(reshape(c.at_node(all.at(taps, c.where())), flat)), -1);
  const auto along = [&](std::size_t axis) {
    Shape shape(rank, 1);
    shape[axis] = maxima.shape()[axis];
    return reshape(arange(Arg(maxima.shape()[axis], c.where())), shape);
  };
  Tensor place = add(multiply(c.at_node(along(0)), x.shape()[1]), along(1));
  std::int64_t before = 1, behind = 1;  // number of taps of the later axes; of elements of the later (or, by columns, the earlier) axes
  Numbers steps(axes);
  for (std::size_t k = 0; k < axes; ++k) {
    const std::size_t axis = by_columns ? k : axes - 1 - k;
    steps[axis] = behind;
    behind *= x.shape()[axis + 2];
  }
  place = multiply(c.at_node(place), behind);
  for (std::size_t k = axes; k-- > 0; before *= kernel[k]) {
    const Tensor own = remainder(c.at_node(floor_divide(c.at_node(tap), before)), kernel[k]);
    const Tensor at =
        add(c.at_node(multiply(c.at_node(own), w.dilation[k])), subtract(c.at_node(multiply(c.at_node(along(k + 2)), w.stride[k])), w.padding[k].first));
    place = add(c.at_node(place), multiply(c.at_node(at), steps[k]));
  }
  return astype(c.at_node(place), DType::int64);
}

Results max_pool_of(const Call& c) {
  const Numbers kernel = c.integers("kernel_shape");
  const PoolOptions how = pool_options(c, kernel);
  const Tensor maxima = max_pool(c[0], kernel, how);
  if (!c.wants(1)) return {maxima};
  return {maxima, places_of_maxima(c, maxima, kernel)};
}

/// Writes the values at their indices into zeros.
Results max_unpool(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Numbers kernel = c.within(c.integers("kernel_shape"), "kernel_shape", 1), places = c.within(places_of(c, x), "the places", 0);
  const std::size_t axes = kernel.size();
  const Numbers stride = steps(c, "strides", axes), pads = widths(c, axes);
  if (places.size() != axes || stride.size() != axes || c.tensor(1).shape() != x.shape()) c.refuse("the lists of numbers and the window differ in length");
  Numbers inferred{x.shape()[0], x.shape()[1]};
  for (std::size_t k = 0; k < axes; ++k) inferred.push_back((places[k] - 1) * stride[k] + kernel[k] - pads[k] - pads[k + axes]);
  Tensor flat = zeros({element_count(c.shape(inferred, "the result"))}, x.dtype());
  flat.at({Index(reshape(c[1], {-1}), c.where())}, c.where()) = c.at_node(reshape(c[0], {-1}));
  Tensor result = reshape(c.at_node(flat), Shape(inferred.begin(), inferred.end()));
  if (!c.has(2)) return {result};
  const Numbers wanted = c.within(c.values(2), "output_shape", 0);  // additional padding is added at the ends
  if (wanted.size() != inferred.size()) c.refuse(fmt::format("output_shape of {}", sinter::counted(wanted.size(), "size")));
  std::vector<std::pair<std::int64_t, std::int64_t>> more;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (wanted[k] < inferred[k]) c.refuse(fmt::format("output_shape {} for values of {}", to_string(wanted), to_string(inferred)));
    more.emplace_back(0, wanted[k] - inferred[k]);
  }
  return {pad(c.at_node(result), more)};
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

/// Changes sizes from the first axis that changes; earlier axes stay.
Results resize_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int rank = x.ndim();
  const bool upsample = c.node().op == "Upsample";
  Numbers axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (c.given("axes")) axes = c.integers("axes");
  for (std::int64_t& axis : axes) axis = c.axis(axis, rank);
  const auto length = [&](std::size_t axis) { return static_cast<double>(x.shape()[axis]); };

  std::vector<double> scales(static_cast<std::size_t>(rank), 1.0);
  Numbers sizes(x.shape().begin(), x.shape().end());
  const std::size_t scales_input = upsample || c.opset() == 10 ? 1 : 2;
  const bool by_sizes = !upsample && c.has(3) && c.tensor(3).size() > 0;
  const std::string policy = c.text("keep_aspect_ratio_policy", "stretch");
  if (by_sizes) {
    const Numbers wanted = c.within(c.values(3), "the sizes", 0);
    if (wanted.size() != axes.size()) c.refuse(fmt::format("{} for {}", sinter::counted(wanted.size(), "size"), sinter::counted(axes.size(), "axis", "axes")));
    double common = 0;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto at = static_cast<std::size_t>(axes[k]);
      scales[at] = static_cast<double>(wanted[k]) / length(at);
      sizes[at] = wanted[k];
      common = k == 0 ? scales[at] : policy == "not_larger" ? std::min(common, scales[at]) : std::max(common, scales[at]);
    }
    if (policy != "stretch")
      for (const std::int64_t axis : axes) {
        const auto at = static_cast<std::size_t>(axis);
        scales[at] = common;
        sizes[at] = c.whole(common * length(at) + 0.5, "the sizes");
      }
  } else {
    std::vector<float> given = c.given("scales") ? c.numbers("scales") : c.tensor(scales_input).astype(DType::float32).to_vector<float>(c.where());
    if (given.size() != axes.size()) c.refuse(fmt::format("{} for {}", sinter::counted(given.size(), "scale"), sinter::counted(axes.size(), "axis", "axes")));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto at = static_cast<std::size_t>(axes[k]);
      scales[at] = given[k];
      sizes[at] = c.whole(scales[at] * length(at), "the sizes");
    }
  }
  c.shape(sizes, "the sizes");

  ResizeOptions how;
  const std::string mode = c.text("mode", "nearest");
  how.mode = mode == "nearest" ? Interpolation::nearest : mode == "linear" ? Interpolation::linear : Interpolation::cubic;
  if (mode != "nearest" && mode != "linear" && mode != "cubic") c.refuse(fmt::format("mode '{}'", mode));
  const std::string coordinates = c.text("coordinate_transformation_mode", upsample || c.opset() == 10 ? "asymmetric" : "half_pixel");
  if (coordinates == "half_pixel") how.coordinates = Coordinates::half_pixel;
  else if (coordinates == "half_pixel_symmetric") how.coordinates = Coordinates::half_pixel_symmetric;
  else if (coordinates == "tf_crop_and_resize") how.coordinates = Coordinates::tf_crop_and_resize;
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
  how.antialias = c.integer("antialias", 0) != 0;
  how.extrapolation_value = c.number("extrapolation_value", 0);
  std::vector<std::pair<double, double>> region(static_cast<std::size_t>(rank), {0.0, 1.0});
  if (how.coordinates == Coordinates::tf_crop_and_resize) {
    const std::vector<double> roi = c[1].tensor().astype(DType::float64).to_vector<double>(c.where());  // all starts, followed by all ends
    if (roi.size() != 2 * axes.size())
      c.refuse(fmt::format("a roi of {} for {}", sinter::counted(roi.size(), "number"), sinter::counted(axes.size(), "axis", "axes")));
    for (std::size_t k = 0; k < axes.size(); ++k) region[static_cast<std::size_t>(axes[k])] = {roi[k], roi[k + axes.size()]};
  }

  int first = 0;  // axes before this one keep their size
  const auto stays = [&](std::size_t axis) { return sizes[axis] == x.shape()[axis] && scales[axis] == 1 && region[axis] == std::pair(0.0, 1.0); };
  while (first < rank && stays(static_cast<std::size_t>(first))) ++first;
  if (first == rank) return {x};
  how.scales.assign(scales.begin() + first, scales.end());
  how.region.assign(region.begin() + first, region.end());
  return {resize(c[0], Numbers(sizes.begin() + first, sizes.end()), how)};
}

const Operator kConvolutionRows[] = {
    {"AveragePool", {1, 1}, average_pool},
    {"Conv", {2, 3}, conv_of},
    {"ConvTranspose", {2, 3}, conv_transpose_of},
    {"GlobalAveragePool", {1, 1}, [](const Call& c) -> Results { return {global_avg_pool(c[0])}; }},
    {"GlobalLpPool", {1, 1}, global_lp_pool},
    {"GlobalMaxPool", {1, 1}, [](const Call& c) -> Results { return {global_max_pool(c[0])}; }},
    {"LpPool", {1, 1}, lp_pool_of},
    {"MaxPool", {1, 1}, max_pool_of},
    {"MaxUnpool", {2, 3}, max_unpool},
    {"Resize", {1, 4}, resize_of},
    {"Upsample", {1, 2}, resize_of},
};

}  // namespace

std::span<const Operator> convolution_operators() { return kConvolutionRows; }

}  // namespace sinter::onnx
