// Resizing: nearest, linear and cubic interpolation along one axis at a time. Positions and weights are constants of the axis, computed when recording.
// ONNX's Resize is the reference: https://onnx.ai/onnx/operators/onnx__Resize.html
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/per_axis.hpp"
#include "sinter/counted.hpp"
#include "sinter/nn.hpp"
#include "sinter/ops.hpp"
#include "sinter/whole.hpp"

namespace sinter {
namespace {

using namespace ops;

constexpr std::int64_t kMaxEnlargement = std::int64_t{1} << 20;  // the maximum enlargement; pixel_shuffle needs its square as channels
constexpr std::int64_t kMaxWeights = std::int64_t{1} << 26;      // the limit per axis; weights are computed one by one

/// Returns the position in x, along an axis, of element i of the result.
double coordinate(double i, double scale, std::int64_t size, std::int64_t result, Coordinates how, const std::pair<double, double>& region) {
  double length = scale * static_cast<double>(size);  // a scale need not give a whole number of elements
  if (std::fabs(length - static_cast<double>(result)) < 1e-6) length = static_cast<double>(result);
  switch (how) {
    case Coordinates::half_pixel: return (i + 0.5) / scale - 0.5;
    case Coordinates::half_pixel_symmetric: return static_cast<double>(size) / 2 * (1 - static_cast<double>(result) / length) + (i + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel: return result > 1 ? (i + 0.5) / scale - 0.5 : 0;
    case Coordinates::align_corners: return length > 1 ? i * static_cast<double>(size - 1) / (length - 1) : 0;
    case Coordinates::asymmetric: return i / scale;
    case Coordinates::tf_crop_and_resize: {  // computed in float32, the type of regions, so that a half is exact
      const auto first = static_cast<float>(region.first), whole = static_cast<float>(region.second) - first, last = static_cast<float>(size - 1);
      return result > 1 ? first * last + static_cast<float>(i) * whole * last / static_cast<float>(result - 1) : (first + whole / 2) * last;
    }
  }
  return 0;
}

std::int64_t nearest(double at, NearestRounding how) {
  switch (how) {
    case NearestRounding::round_prefer_floor: return detail::saturated(std::ceil(at - 0.5));
    case NearestRounding::round_prefer_ceil: return detail::saturated(std::floor(at + 0.5));
    case NearestRounding::floor: return detail::saturated(std::floor(at));
    case NearestRounding::ceil: return detail::saturated(std::ceil(at));
  }
  return 0;
}

/// Selects elements at these positions of an axis. The result is a view if each position is repeated equally often, or if the positions are evenly spaced.
Tensor picked(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& places) {
  const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)], count = static_cast<std::int64_t>(places.size());
  const auto all = [&](auto&& place) {
    for (std::int64_t i = 0; i < count; ++i)
      if (places[static_cast<std::size_t>(i)] != place(i)) return false;
    return true;
  };
  if (count % size == 0 && all([&](std::int64_t i) { return i / (count / size); })) return count == size ? x : repeat(x, count / size, axis);
  const std::int64_t step = count > 1 ? places[1] - places[0] : 1;
  if (step > 0 && all([&](std::int64_t i) { return places[0] + i * step; })) {
    std::vector<Index> index(static_cast<std::size_t>(axis), Slice{});
    index.push_back(Slice{places[0], places[0] + (count - 1) * step + 1, step});
    return slice(x, index);
  }
  return take(x, from_span(places), axis);
}

/// Returns the four weights of cubic convolution for a fractional position: R. Keys, Cubic convolution interpolation for digital image processing, 1981.
std::array<double, 4> cubic_weights(double t, double a) {
  const auto near = [&](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [&](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

/// Returns the weight of an element at this distance from the position of a result.
double weight_at(double distance, const ResizeOptions& how) {
  const double d = std::fabs(distance);
  if (how.mode == Interpolation::linear) return std::max(0.0, 1 - d);
  if (d >= 2) return 0;
  const std::array<double, 4> weights = cubic_weights(d - std::floor(d), how.cubic_a);
  return d < 1 ? weights[1] : weights[0];
}

/// Reduces to fewer elements, each the weighted mean of the elements that it covers, by a product with a matrix of weights. Beyond the ends the outermost
/// element is repeated; with exclude_outside nothing is added there, as in Pillow and PyTorch.
Tensor smoothed(const Site& site, const Tensor& x, std::int64_t axis, std::int64_t result, double scale, const ResizeOptions& how,
                const std::pair<double, double>& region) {
  const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
  const double reach = (how.mode == Interpolation::linear ? 1 : 2) / scale;
  check_parts(site, size_product(site, result, size), "weights of an axis", kMaxWeights);
  check_parts(site, whole(site, static_cast<double>(result) * (2 * reach + 1), "the number of weights"), "weights of an axis", kMaxWeights);
  std::vector<double> matrix(static_cast<std::size_t>(result * size));
  for (std::int64_t i = 0; i < result; ++i) {
    const double at = coordinate(static_cast<double>(i), scale, size, result, how.coordinates, region);
    double sum = 0;
    for (std::int64_t k = whole(site, std::floor(at - reach), "a place between elements"); static_cast<double>(k) <= at + reach; ++k) {
      const std::int64_t place = std::clamp<std::int64_t>(k, 0, size - 1);
      if (how.exclude_outside && place != k) continue;
      const double weight = weight_at((static_cast<double>(k) - at) * scale, how);
      matrix[static_cast<std::size_t>(place * result + i)] += weight;
      sum += weight;
    }
    for (std::int64_t k = 0; k < size; ++k) matrix[static_cast<std::size_t>(k * result + i)] /= sum;
  }
  const Tensor weights = astype(reshape(from_span(matrix), {size, result}), x.dtype());
  return swapaxes(matmul(swapaxes(x, axis, -1), weights), axis, -1);
}

Tensor resized(const Site& site, const Tensor& x, std::int64_t axis, std::int64_t result, double scale, const ResizeOptions& how,
               const std::pair<double, double>& region) {
  if (how.antialias && scale < 1 && how.mode != Interpolation::nearest) return smoothed(site, x, axis, result, scale, how, region);
  const std::int64_t size = x.shape()[static_cast<std::size_t>(axis)];
  const auto inside = [&](std::int64_t place) { return std::clamp<std::int64_t>(place, 0, size - 1); };
  const int taps = how.mode == Interpolation::nearest ? 1 : how.mode == Interpolation::linear ? 2 : 4;
  check_parts(site, size_product(site, result, taps), "places and weights of an axis", kMaxWeights);
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(taps));
  std::vector<std::vector<double>> weights(static_cast<std::size_t>(taps));
  for (std::int64_t i = 0; i < result; ++i) {
    double at = coordinate(static_cast<double>(i), scale, size, result, how.coordinates, region);
    if (taps == 1) {
      places[0].push_back(inside(nearest(at, how.rounding)));
      continue;
    }
    at = taps == 2 ? std::clamp(at, 0.0, static_cast<double>(size - 1)) : std::clamp(at, -4.0, static_cast<double>(size) + 4);  // beyond these no tap is inside
    const double below = std::floor(at), fraction = at - below;
    const std::int64_t first = whole(site, below, "a place between elements") - (taps == 2 ? 0 : 1);
    std::array<double, 4> each = taps == 2 ? std::array<double, 4>{1 - fraction, fraction} : cubic_weights(fraction, how.cubic_a);
    if (taps == 4 && how.exclude_outside) {
      double kept = 0;
      for (int k = 0; k < 4; ++k) {
        if (first + k < 0 || first + k >= size) each[static_cast<std::size_t>(k)] = 0;
        kept += each[static_cast<std::size_t>(k)];
      }
      for (double& weight : each) weight /= kept;
    }
    for (int k = 0; k < taps; ++k) {
      places[static_cast<std::size_t>(k)].push_back(inside(first + k));
      weights[static_cast<std::size_t>(k)].push_back(each[static_cast<std::size_t>(k)]);
    }
  }
  if (taps == 1) return picked(x, axis, places[0]);
  Shape along(x.shape().size(), 1);
  along[static_cast<std::size_t>(axis)] = result;
  Tensor sum;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Tensor term = picked(x, axis, places[k]) * astype(reshape(from_span(weights[k]), along), x.dtype());
    sum = k == 0 ? term : sum + term;
  }
  return sum;
}

/// Returns which results along an axis are outside of x.
std::vector<bool> outside(std::int64_t size, std::int64_t result, const std::pair<double, double>& region) {
  std::vector<bool> list;
  for (std::int64_t i = 0; i < result; ++i) {
    const double at = coordinate(static_cast<double>(i), 1, size, result, Coordinates::tf_crop_and_resize, region);
    list.push_back(at < 0 || at > static_cast<double>(size - 1));
  }
  return list;
}

Tensor all_resized(const Site& site, const Arg& x, const std::vector<std::int64_t>& sizes, const ResizeOptions& how) {
  RecordedPtr node = as_node(site, x);
  const DType type = node->dtype;
  if (how.mode != Interpolation::nearest && !is_floating(type))
    fail<DTypeError>(site, fmt::format("{} can only be resized by mode nearest; cast it first", name(type)));
  if (sizes.size() > node->shape.size()) fail<ShapeError>(site, fmt::format("{} for x of shape {}", counted(sizes.size(), "size"), to_string(node->shape)));
  if (!how.scales.empty() && how.scales.size() != sizes.size())
    fail<ValueError>(site, fmt::format("{} for {}", counted(how.scales.size(), "scale"), counted(sizes.size(), "size")));
  const bool crops = how.coordinates == Coordinates::tf_crop_and_resize;
  if (crops && how.region.size() != sizes.size())
    fail<ValueError>(site, fmt::format("a region of {} for {}", counted(how.region.size(), "axis", "axes"), counted(sizes.size(), "size")));
  Tensor y(how.mode == Interpolation::nearest ? node : make_cast(site, node, traits(type).compute));
  const std::size_t first = node->shape.size() - sizes.size();
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    const std::int64_t size = node->shape[first + k];
    const double scale = how.scales.empty() ? static_cast<double>(sizes[k]) / static_cast<double>(size) : how.scales[k];
    if (sizes[k] < 1 || size < 1) fail<ShapeError>(site, fmt::format("axis {} of shape {} cannot get size {}", first + k, to_string(node->shape), sizes[k]));
    if (!(scale > 0 && std::isfinite(scale))) fail<ValueError>(site, fmt::format("scale of {}; it must be positive and finite", scale));
    const std::pair<double, double> region = crops ? how.region[k] : std::pair(0.0, 1.0);
    if (sizes[k] != size || scale != 1 || crops) y = resized(site, y, static_cast<std::int64_t>(first + k), sizes[k], scale, how, region);
  }
  for (std::size_t k = 0; crops && k < sizes.size(); ++k) {
    const std::vector<bool> beyond = outside(node->shape[first + k], sizes[k], how.region[k]);
    if (std::find(beyond.begin(), beyond.end(), true) == beyond.end()) continue;
    Shape along(node->shape.size(), 1);
    along[first + k] = sizes[k];
    const std::vector<std::int64_t> flags(beyond.begin(), beyond.end());
    y = where(not_equal(reshape(from_span(flags), along), 0), full({}, how.extrapolation_value, y.dtype()), y);
  }
  return astype(y, type);
}

}  // namespace

Tensor resize(const Arg& x, const std::vector<std::int64_t>& sizes, const ResizeOptions& how) {
  const Scope scope("resize", x.where());
  return all_resized(scope.site(), x, sizes, how);
}

Tensor interpolate(const Arg& x, const InterpolateOptions& how) {
  const Scope scope("interpolate", x.where());
  const Site& site = scope.site();
  const Tensor held(as_node(site, x));
  if (held.ndim() < 3 || held.ndim() > 5)
    fail<ShapeError>(site, fmt::format("x of shape {} is not (batch, channels, spatial axes..)", to_string(held.shape())));
  const std::size_t axes = held.shape().size() - 2;
  if (how.size.empty() == how.scale_factor.empty()) fail<ValueError>(site, "give either size or scale_factor");
  std::vector<std::int64_t> sizes = how.size;
  std::vector<double> scales = how.scale_factor;
  if (sizes.size() == 1) sizes.resize(axes, sizes.front());
  if (scales.size() == 1) scales.resize(axes, scales.front());
  if (sizes.empty())
    for (std::size_t k = 0; k < scales.size() && k < axes; ++k)
      sizes.push_back(whole(site, static_cast<double>(held.shape()[k + 2]) * scales[k], "a size times scale_factor"));
  if (sizes.size() != axes || (!scales.empty() && scales.size() != axes))
    fail<ValueError>(site, fmt::format("{} for {}", counted(std::max(sizes.size(), scales.size()), "number"), counted(axes, "spatial axis", "spatial axes")));
  ResizeOptions options;
  options.scales = scales;
  const std::string_view mode = how.mode;
  if (how.antialias && mode != "bilinear" && mode != "bicubic") fail<ValueError>(site, fmt::format("antialias is for bilinear and bicubic, not '{}'", mode));
  if (mode == "area") return adaptive_avg_pool(held, PerAxis(sizes));
  if (mode == "nearest") {
    options.coordinates = Coordinates::asymmetric;
    options.rounding = NearestRounding::floor;
  } else if (mode == "nearest-exact") {
    options.rounding = NearestRounding::round_prefer_ceil;
  } else if ((mode == "linear" && axes == 1) || (mode == "bilinear" && axes == 2) || (mode == "trilinear" && axes == 3) || (mode == "bicubic" && axes == 2)) {
    options.mode = mode == "bicubic" ? Interpolation::cubic : Interpolation::linear;
    if (how.align_corners) options.coordinates = Coordinates::align_corners;
    options.antialias = options.exclude_outside = how.antialias;
    if (how.antialias) options.cubic_a = -0.5;  // as in Pillow
  } else {
    fail<ValueError>(
        site, fmt::format(
                  "mode '{}' for {}; the modes are nearest, nearest-exact and area, linear (for 1 axis), bilinear and bicubic (2 axes), and trilinear (3 axes)",
                  mode, counted(axes, "spatial axis", "spatial axes")));
  }
  return all_resized(site, held, sizes, options);
}

Tensor pixel_shuffle(const Arg& x, std::int64_t upscale_factor) {
  const Scope scope("pixel_shuffle", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = as_node(site, x);
  const std::size_t rank = node->shape.size();
  const std::int64_t r = upscale_factor;
  if (r < 1 || r > kMaxEnlargement) fail<ValueError>(site, fmt::format("upscale_factor of {}; it must be from 1 to {}", r, kMaxEnlargement));
  if (rank < 3 || node->shape[rank - 3] % (r * r) != 0)
    fail<ShapeError>(site, fmt::format("the channels of shape {} are not a multiple of {}", to_string(node->shape), r * r));
  const std::int64_t channels = node->shape[rank - 3] / (r * r), rows = node->shape[rank - 2], columns = node->shape[rank - 1];
  Shape lead(node->shape.begin(), node->shape.end() - 3);
  const std::int64_t batch = element_count(lead);
  lead.insert(lead.end(), {channels, rows * r, columns * r});
  return reshape(permute(reshape(Tensor(node), {batch, channels, r, r, rows, columns}), {0, 1, 4, 2, 5, 3}), lead);
}

Tensor pixel_unshuffle(const Arg& x, std::int64_t downscale_factor) {
  const Scope scope("pixel_unshuffle", x.where());
  const Site& site = scope.site();
  const RecordedPtr node = as_node(site, x);
  const std::size_t rank = node->shape.size();
  const std::int64_t r = downscale_factor;
  if (r < 1 || r > kMaxEnlargement) fail<ValueError>(site, fmt::format("downscale_factor of {}; it must be from 1 to {}", r, kMaxEnlargement));
  if (rank < 3 || node->shape[rank - 2] % r != 0 || node->shape[rank - 1] % r != 0)
    fail<ShapeError>(site, fmt::format("the rows and columns of shape {} are not multiples of {}", to_string(node->shape), r));
  const std::int64_t channels = node->shape[rank - 3], rows = node->shape[rank - 2] / r, columns = node->shape[rank - 1] / r;
  Shape lead(node->shape.begin(), node->shape.end() - 3);
  const std::int64_t batch = element_count(lead);
  lead.insert(lead.end(), {channels * r * r, rows, columns});
  return reshape(permute(reshape(Tensor(node), {batch, channels, rows, r, columns, r}), {0, 1, 3, 5, 2, 4}), lead);
}

}  // namespace sinter
