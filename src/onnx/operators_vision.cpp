// Operators of detectors and of warping: interpolated reads, selection of boxes, columns to images.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "onnx/call.hpp"
#include "onnx/windows.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

using Numbers = std::vector<std::int64_t>;

// ---- GridSample

enum class Outside : std::uint8_t { zeros, border, reflection };

struct Sampling {
  std::string mode;
  Outside outside;
  bool corners;
};

/// Converts coordinates -1 ... 1 to positions along an axis of this size. -1 and 1 are the centres of the outermost elements or, if `corners` is false, their
/// outer edges.
Tensor to_places(const Call& c, const Tensor& g, std::int64_t size, bool corners) {
  const double whole = static_cast<double>(size);
  return corners ? multiply(c.at_node(add(c.at_node(g), 1)), (whole - 1) / 2) : subtract(c.at_node(multiply(c.at_node(add(c.at_node(g), 1)), whole / 2)), 0.5);
}

/// Reflects x back and forth between low and high.
Tensor reflected(const Call& c, const Tensor& x, double low, double high) {
  const double range = high - low;
  if (range <= 0) return full_like(c.at_node(x), low);
  const Tensor along = remainder(c.at_node(subtract(c.at_node(x), low)), 2 * range);
  return add(c.at_node(minimum(c.at_node(along), subtract(2 * range, along))), low);
}

Tensor brought_inside(const Call& c, const Tensor& x, std::int64_t size, const Sampling& how) {
  const double last = static_cast<double>(size - 1), low = how.corners ? 0 : -0.5, high = how.corners ? last : last + 0.5;
  switch (how.outside) {
    case Outside::zeros: return x;
    case Outside::border: return clip(c.at_node(x), 0, last);
    case Outside::reflection: return where(c.at_node(logical_or(less(c.at_node(x), low), greater(c.at_node(x), high))), reflected(c, x, low, high), x);
  }
  return x;
}

/// The reads along one axis, for each point: an element's number, its weight, and whether it exists.
struct Tap {
  Tensor index, weight, there;
};

std::vector<Tap> taps_along(const Call& c, const Tensor& g, std::int64_t size, const Sampling& how) {
  Tensor x = to_places(c, g, size, how.corners);
  if (how.mode == "nearest") x = rint(c.at_node(x));
  if (how.mode != "cubic") x = brought_inside(c, x, size, how);  // for a cubic, this is done for each neighbour, as in PyTorch
  const Tensor first = floor(c.at_node(x)), t = subtract(c.at_node(x), first);
  std::vector<std::pair<int, Tensor>> weights;
  if (how.mode == "nearest") {
    weights.emplace_back(0, ones_like(c.at_node(t)));
  } else if (how.mode == "cubic") {  // Keys, 1981, with a = -0.75
    constexpr double a = -0.75;
    const auto near = [&](const Tensor& d) { return add(c.at_node(multiply(multiply(subtract(multiply(c.at_node(d), a + 2), a + 3), d), d)), 1); };
    const auto far = [&](const Tensor& d) {
      return subtract(c.at_node(multiply(add(multiply(subtract(multiply(c.at_node(d), a), 5 * a), d), 8 * a), d)), 4 * a);
    };
    const Tensor rest = subtract(1, t);
    weights = {{-1, far(add(c.at_node(t), 1))}, {0, near(t)}, {1, near(rest)}, {2, far(add(c.at_node(rest), 1))}};
  } else {
    weights = {{0, subtract(1, t)}, {1, t}};
  }
  std::vector<Tap> taps;
  const double last = static_cast<double>(size - 1);
  for (auto& [offset, weight] : weights) {
    const Tensor place = brought_inside(c, offset == 0 ? first : add(c.at_node(first), offset), size, how);
    const Tensor there = logical_and(greater_equal(c.at_node(place), 0), less_equal(c.at_node(place), last));
    taps.push_back({astype(c.at_node(clip(c.at_node(rint(c.at_node(place))), 0, last)), DType::int64), weight, there});
  }
  return taps;
}

/// Operands: x (batch, channels, spatial axes..) and grid (batch, results.., axes). The grid's first coordinate is for x's last axis.
Results grid_sample(const Call& c) {
  const Tensor &x = c.tensor(0), &grid = c.tensor(1);
  const int axes = x.ndim() - 2;
  if (axes < 1 || grid.ndim() != x.ndim() || grid.size(-1) != axes || grid.size(0) != x.size(0) || !is_floating(x.dtype()))
    c.refuse(fmt::format("a grid of shape {} does not fit a tensor of {}{}", to_string(grid.shape()), name(x.dtype()), to_string(x.shape())));
  Sampling how{c.text("mode", "linear"), Outside::zeros, c.integer("align_corners", 0) != 0};
  if (how.mode == "bilinear") how.mode = "linear";
  if (how.mode == "bicubic") how.mode = "cubic";
  const std::string padding = c.text("padding_mode", "zeros");
  if (padding == "border") how.outside = Outside::border;
  else if (padding == "reflection") how.outside = Outside::reflection;
  else if (padding != "zeros") c.refuse(fmt::format("padding_mode '{}'", padding));
  if (how.mode != "linear" && how.mode != "nearest" && how.mode != "cubic") c.refuse(fmt::format("mode '{}'", how.mode));

  const std::int64_t batch = x.size(0), channels = x.size(1);
  Shape points(grid.shape().begin() + 1, grid.shape().end() - 1);
  const std::int64_t count = element_count(points);
  std::int64_t all = 1;
  std::vector<Tap> taps{{zeros({batch, 1, count}, DType::int64), ones({batch, 1, count}, x.dtype()), {}}};
  for (int axis = 0; axis < axes; ++axis) {
    const std::int64_t size = x.size(axis + 2);
    all *= size;
    const Tensor g = reshape(astype(grid.at({Index(ellipsis), Index(axes - 1 - axis)}, c.where()), x.dtype()), {batch, 1, count});
    std::vector<Tap> longer;
    for (const Tap& before : taps)
      for (const Tap& tap : taps_along(c, g, size, how))
        longer.push_back({add(c.at_node(multiply(c.at_node(before.index), size)), tap.index), multiply(c.at_node(before.weight), tap.weight),
                          before.there.empty_handle() ? tap.there : logical_and(c.at_node(before.there), tap.there)});
    taps = std::move(longer);
  }
  const Tensor flat = reshape(c[0], {batch, channels, all});
  Tensor sum;
  for (const Tap& tap : taps) {
    Tensor read = take_along_axis(c.at_node(flat), broadcast_to(tap.index, {batch, channels, count}), 2);
    if (how.outside == Outside::zeros) read = where(c.at_node(tap.there), read, zeros_like(read));
    const Tensor part = multiply(c.at_node(read), tap.weight);
    sum = sum.empty_handle() ? part : add(c.at_node(sum), part);
  }
  Shape shape{batch, channels};
  shape.insert(shape.end(), points.begin(), points.end());
  return {reshape(c.at_node(sum), shape)};
}

/// theta (batch, axes, axes + 1) -> (batch, sizes.., axes): the position from which each result is read.
Results affine_grid(const Call& c) {
  const Tensor& theta = c.tensor(0);
  const Shape sizes = c.shape(c.values(1), "the sizes");
  const std::int64_t axes = static_cast<std::int64_t>(sizes.size()) - 2;
  if (theta.ndim() != 3 || axes < 1 || theta.shape() != Shape{sizes[0], axes, axes + 1})
    c.refuse(fmt::format("theta of shape {} does not fit sizes {}", to_string(theta.shape()), to_string(sizes)));
  const bool corners = c.integer("align_corners", 0) != 0;
  Shape places(sizes.begin() + 2, sizes.end());
  std::vector<Tensor> base;
  for (std::int64_t axis = axes - 1; axis >= 0; --axis) {  // last axis first
    const std::int64_t size = places[static_cast<std::size_t>(axis)];
    const double step = corners ? 2.0 / static_cast<double>(std::max<std::int64_t>(size - 1, 1)) : 2.0 / static_cast<double>(size),
                 start = corners ? -1 : -1 + step / 2;
    Shape along(places.size(), 1);
    along[static_cast<std::size_t>(axis)] = size;
    base.push_back(broadcast_to(reshape(astype(add(multiply(arange(size), step), start), theta.dtype()), along), places));
  }
  base.push_back(ones(places, theta.dtype()));
  const std::int64_t count = element_count(places);
  const Tensor points = reshape(stack(base, -1), {1, count, axes + 1});
  Shape shape{sizes[0]};
  shape.insert(shape.end(), places.begin(), places.end());
  shape.push_back(axes);
  return {reshape(matmul(c.at_node(points), matrix_transpose(theta)), shape)};
}

// ---- boxes

struct Box {
  double top, left, bottom, right;
  double area() const { return std::max(bottom - top, 0.0) * std::max(right - left, 0.0); }
};

double overlap(const Box& a, const Box& b) {
  const double both =
      std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.0) * std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.0);
  const double either = a.area() + b.area() - both;
  return either > 0 ? both / either : 0;
}

/// The number of selected boxes depends on the boxes' values, so they are computed when the call reaches the node.
Results non_max_suppression(const Call& c) {
  const Tensor &boxes = c.tensor(0), &scores = c.tensor(1);
  if (boxes.ndim() != 3 || scores.ndim() != 3 || boxes.size(2) != 4 || boxes.size(0) != scores.size(0) || boxes.size(1) != scores.size(2))
    c.refuse(fmt::format("boxes of shape {}, scores of {}", to_string(boxes.shape()), to_string(scores.shape())));
  const std::int64_t max_boxes = c.has(2) ? c.value(2) : 0;
  const double max_overlap = c.has(3) ? c.real(3) : 0;
  const bool by_score = c.has(4);
  const double min_score = by_score ? c.real(4) : 0;
  const bool centred = c.integer("center_point_box", 0) != 0;
  const auto [b, s] = c.by_elements("the number of selected boxes depends", [&] {
    eval({boxes, scores}, c.where());
    return std::pair(boxes.to_vector<float>(c.where()), scores.to_vector<float>(c.where()));
  });
  const std::int64_t batches = scores.size(0), classes = scores.size(1), count = scores.size(2);
  const auto box = [&](std::int64_t batch, std::int64_t k) {
    const float* const at = b.data() + (batch * count + k) * 4;
    if (centred) return Box{at[1] - at[3] / 2.0, at[0] - at[2] / 2.0, at[1] + at[3] / 2.0, at[0] + at[2] / 2.0};
    return Box{std::min(at[0], at[2]), std::min(at[1], at[3]), std::max(at[0], at[2]), std::max(at[1], at[3])};
  };
  Numbers chosen;
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t of = 0; of < classes; ++of) {
      const float* const score = s.data() + (batch * classes + of) * count;
      Numbers order;
      for (std::int64_t k = 0; k < count; ++k)
        if (!by_score || static_cast<double>(score[k]) > min_score) order.push_back(k);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int64_t x, std::int64_t y) { return score[x] > score[y] || (std::isnan(score[y]) && !std::isnan(score[x])); });
      std::vector<Box> left;
      for (const std::int64_t k : order) {
        if (static_cast<std::int64_t>(left.size()) >= max_boxes) break;
        const Box candidate = box(batch, k);
        if (std::any_of(left.begin(), left.end(), [&](const Box& other) { return overlap(candidate, other) > max_overlap; })) continue;
        left.push_back(candidate);
        chosen.insert(chosen.end(), {batch, of, k});
      }
    }
  return {from_span(std::span<const std::int64_t>(chosen), {static_cast<std::int64_t>(chosen.size()) / 3, 3})};
}

// ---- columns

/// Adds windows, given as columns, at their positions: (batch, channels * window, windows) -> (batch, channels, sizes..).
Results col2im(const Call& c) {
  const Tensor& x = c.tensor(0);
  const Numbers sizes = c.within(c.values(1), "the sizes", 1), window = c.within(c.values(2), "the windows", 1);
  const std::size_t axes = sizes.size();
  if (x.ndim() != 3 || axes == 0 || window.size() != axes)
    c.refuse(fmt::format("columns of shape {} do not fit sizes {} and windows {}", to_string(x.shape()), to_string(sizes), to_string(window)));
  const Windows how = windows(c, window, sizes);
  const std::int64_t taps = element_count(window);
  if (x.size(1) % taps != 0) c.refuse(fmt::format("columns of {} elements do not fit windows {}", x.size(1), to_string(window)));
  const std::int64_t channels = x.size(1) / taps;
  // The position of each tap of each window in the padded result, with all axes merged to one.
  Shape padded;
  std::vector<Index> middle{Slice{}, Slice{}};
  Tensor place = zeros({1, 1}, DType::int64);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto [before, after] = how.padding[axis];
    const std::int64_t size = sizes[axis] + before + after, reach = (window[axis] - 1) * how.dilation[axis] + 1;
    if (size < reach) c.refuse(fmt::format("a window of {} covers {} points, but there are {}", window[axis], reach, size));
    const std::int64_t count = (size - reach) / how.stride[axis] + 1;
    padded.push_back(size);
    middle.push_back(Slice{before, before + sizes[axis]});
    const Tensor along = add(multiply(reshape(arange(window[axis]), {1, window[axis], 1, 1}), how.dilation[axis]),
                             multiply(reshape(arange(count), {1, 1, 1, count}), how.stride[axis]));
    const std::int64_t t = place.size(0), w = place.size(1);
    place = reshape(add(multiply(reshape(place, {t, 1, w, 1}), size), along), {t * window[axis], w * count});
  }
  if (place.size(1) != x.size(2)) c.refuse(fmt::format("{} windows where {} fit", x.size(2), place.size(1)));
  const std::int64_t all = element_count(padded), rows = x.size(0) * channels;
  const Tensor values = reshape(c[0], {rows, taps * place.size(1)});
  const Tensor summed = add_at(zeros({rows, all}, x.dtype()), {Index(Slice{}), Index(reshape(place, {-1}))}, c.at_node(values));
  Shape whole{x.size(0), channels};
  whole.insert(whole.end(), padded.begin(), padded.end());
  return {slice(reshape(c.at_node(summed), whole), middle)};
}

// ---- RoiAlign

/// Sample positions along one axis of the regions, [regions, results, samples]: the two neighbouring elements, their weights, and whether the sample counts.
struct Between {
  Tensor low, high, of_low, of_high, counts;
};

Between between(const Call& c, const Tensor& first, const Tensor& last, std::int64_t results, std::int64_t samples_of_part, std::int64_t ratio,
                std::int64_t size, bool at_least_one) {
  const Tensor extent = at_least_one ? maximum(c.at_node(last - first), 1.f) : last - first;  // [regions, 1, 1]
  const Tensor bin = extent / static_cast<float>(results);
  const Tensor samples = ratio > 0 ? full_like(c.at_node(bin), static_cast<double>(ratio)) : maximum(c.at_node(ceil(c.at_node(bin))), 1.f);
  const Tensor result = reshape(astype(arange(results), DType::float32), {1, results, 1}),
               sample = reshape(astype(arange(samples_of_part), DType::float32), {1, 1, samples_of_part});
  const Tensor at = first + result * bin + (sample + 0.5f) * bin / samples;
  const Tensor inside = logical_and(logical_and(greater_equal(at, -1.f), less_equal(at, static_cast<float>(size))), less(sample, samples));
  const Tensor place = clip(c.at_node(at), 0, static_cast<double>(size - 1)), low = floor(c.at_node(place)), weight = place - low;
  const Tensor there = astype(inside, DType::float32);
  return {astype(low, DType::int64), astype(minimum(c.at_node(low + 1.f), static_cast<float>(size - 1)), DType::int64), (1.f - weight) * there, weight * there,
          samples};
}

Results roi_align(const Call& c) {
  const Tensor &x = c.tensor(0), &boxes = c.tensor(1);
  if (x.ndim() != 4 || boxes.ndim() != 2 || boxes.size(1) != 4) c.refuse(fmt::format("regions {} of {}", to_string(boxes.shape()), to_string(x.shape())));
  const std::int64_t channels = x.size(1), rows = x.size(2), columns = x.size(3), regions = boxes.size(0);
  const std::int64_t high = c.size("output_height", 1), wide = c.size("output_width", 1),
                     ratio = c.within({c.integer("sampling_ratio", 0)}, "sampling_ratio", 0)[0];
  const bool half = c.text("coordinate_transformation_mode", c.opset() < 16 ? "output_half_pixel" : "half_pixel") == "half_pixel",
             largest = c.text("mode", "avg") == "max";
  const Tensor corner = astype(boxes, DType::float32) * static_cast<float>(c.number("spatial_scale", 1)) - (half ? 0.5f : 0.f);
  const auto side = [&](std::int64_t k) { return reshape(corner.at({Slice{}, k}, c.where()), {regions, 1, 1}); };
  // If the model does not give the number of samples of a result, the bins of the largest region decide it.
  const auto max_samples = [&](std::int64_t first, std::int64_t last, std::int64_t results) {
    if (ratio > 0 || regions == 0) return std::max<std::int64_t>(ratio, 1);
    const double samples_of_part = max(c.at_node(maximum(side(last) - side(first), half ? 0.f : 1.f))).item<float>() / static_cast<float>(results);
    return std::max<std::int64_t>(c.whole(std::ceil(samples_of_part), "the samples of a region's part"), 1);
  };
  const std::int64_t max_y = max_samples(1, 3, high), max_x = max_samples(0, 2, wide);
  c.shape({regions, high, max_y, wide, max_x, channels}, "the samples");
  const Between y = between(c, side(1), side(3), high, max_y, ratio, rows, !half), at_x = between(c, side(0), side(2), wide, max_x, ratio, columns, !half);
  // [regions, high, samples, wide, samples]
  const auto down = [&](const Tensor& t) { return reshape(t, {regions, high, max_y, 1, 1}); };
  const auto along = [&](const Tensor& t) { return reshape(t, {regions, 1, 1, wide, max_x}); };
  const Tensor elements = reshape(transpose(astype(x, DType::float32), {0, 2, 3, 1}), {x.size(0) * rows * columns, channels});
  const Tensor batch = reshape(astype(c[2], DType::int64), {regions, 1, 1, 1, 1});
  Tensor found;
  for (const bool lower : {true, false})
    for (const bool left : {true, false}) {
      const Tensor index = (batch * rows + down(lower ? y.low : y.high)) * columns + along(left ? at_x.low : at_x.high);
      const Tensor weighed =
          take(c.at_node(elements), index, 0) * expand_dims(c.at_node(down(lower ? y.of_low : y.of_high) * along(left ? at_x.of_low : at_x.of_high)), -1);
      found = found.empty_handle() ? weighed : largest ? maximum(c.at_node(found), weighed) : found + weighed;
    }
  Tensor result;
  if (largest) {
    const auto counted = [&](const Tensor& samples, std::int64_t samples_of_part) {
      return less(reshape(astype(arange(samples_of_part), DType::float32), {1, 1, samples_of_part}), samples);
    };
    const Tensor counts = logical_and(down(broadcast_to(counted(y.counts, max_y), {regions, high, max_y})),
                                      along(broadcast_to(counted(at_x.counts, max_x), {regions, wide, max_x})));
    result = max(where(expand_dims(counts, -1), found, -std::numeric_limits<float>::infinity()), {2, 4});
  } else {
    result = sum(found, {2, 4}) / reshape(y.counts * at_x.counts, {regions, 1, 1, 1});
  }
  return {astype(transpose(c.at_node(result), {0, 3, 1, 2}), x.dtype())};
}

const Operator kVisionRows[] = {
    {"AffineGrid", {2, 2}, affine_grid}, {"Col2Im", {3, 3}, col2im}, {"GridSample", {2, 2}, grid_sample}, {"NonMaxSuppression", {2, 5}, non_max_suppression},
    {"RoiAlign", {3, 3}, roi_align},
};

}  // namespace

std::span<const Operator> vision_operators() { return kVisionRows; }

}  // namespace sinter::onnx
