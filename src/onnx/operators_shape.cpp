// Operators that rearrange elements: views, concatenations, and tensors that are made from shapes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "onnx/call.hpp"
#include "onnx/types.hpp"
#include "sinter/counted.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

Results reshape_to(const Call& c) {
  const Tensor& x = c.tensor(0);
  std::vector<std::int64_t> sizes = c.given("shape") ? c.integers("shape") : c.values(1);
  const bool zeros_stay = c.integer("allowzero", 0) != 0;
  for (std::size_t i = 0; i < sizes.size() && !zeros_stay; ++i) {
    if (sizes[i] != 0) continue;
    if (static_cast<int>(i) >= x.ndim()) c.refuse(fmt::format("size {} cannot be copied from a tensor of {}", i, sinter::counted(x.ndim(), "dimension")));
    sizes[i] = x.size(static_cast<int>(i));
  }
  // NumPy infers no size if another size is 0; ONNX may.
  const auto inferred = std::find(sizes.begin(), sizes.end(), -1);
  if (inferred != sizes.end() && x.size() == 0) *inferred = 0;
  return {reshape(c[0], Shape(sizes.begin(), sizes.end()))};
}

Results transpose_of(const Call& c) {
  const int rank = c.tensor(0).ndim();
  std::vector<std::int64_t> reversed(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) reversed[static_cast<std::size_t>(i)] = rank - 1 - i;
  return {transpose(c[0], c.integers("perm", reversed))};
}

Results flatten(const Call& c) {
  const Tensor& x = c.tensor(0);
  const int rank = x.ndim();
  std::int64_t axis = c.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) c.refuse(fmt::format("axis {} is out of bounds for a tensor of {}", axis, sinter::counted(rank, "dimension")));
  std::int64_t rows = 1, columns = 1;
  for (int i = 0; i < rank; ++i) (i < axis ? rows : columns) *= x.size(i);
  return {reshape(c[0], {rows, columns})};
}

Results squeeze_of(const Call& c) {
  const auto axes = c.axes("axes", 1);
  return {axes ? squeeze(c[0], *axes) : squeeze(c[0])};
}

Results unsqueeze(const Call& c) {
  const auto axes = c.axes("axes", 1);
  if (!axes) c.refuse("the axes are missing");
  return {expand_dims(c[0], *axes)};
}

Results concat(const Call& c) { return {concatenate(c.tensors(), c.integer("axis"), c.where())}; }

Tensor part(const Call& c, const Tensor& x, std::int64_t axis, std::int64_t from, std::int64_t to) {
  std::vector<Index> index(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
  index[static_cast<std::size_t>(axis)] = Slice{from, to};
  return x.at(index, c.where());
}

Results split_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::int64_t axis = c.axis(c.integer("axis", 0), x.ndim()), size = x.size(static_cast<int>(axis));
  std::vector<std::int64_t> sizes;
  if (c.given("split")) sizes = c.integers("split");
  else if (c.has(1)) sizes = c.values(1);
  else {
    const std::int64_t parts = c.integer("num_outputs", static_cast<std::int64_t>(c.outputs()));
    if (parts <= 0 || parts > static_cast<std::int64_t>(c.outputs()))
      c.refuse(fmt::format("{} for {}", sinter::counted(parts, "part"), sinter::counted(c.outputs(), "result")));
    const std::int64_t each = (size + parts - 1) / parts;
    for (std::int64_t k = 0, left = size; k < parts; ++k, left -= sizes.back()) sizes.push_back(std::min(each, std::max<std::int64_t>(left, 0)));
  }
  Results parts;
  std::int64_t at = 0;
  for (const std::int64_t length : sizes) {
    if (length < 0 || length > size - at) c.refuse(fmt::format("parts of {} elements do not add up to an axis of {}", fmt::join(sizes, ", "), size));
    parts.push_back(part(c, x, axis, at, at + length));
    at += length;
  }
  if (at != size) c.refuse(fmt::format("parts of {} elements do not add up to an axis of {}", fmt::join(sizes, ", "), size));
  return parts;
}

Results slice_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  const bool inputs = !c.given("starts");
  const auto starts = inputs ? c.values(1) : c.integers("starts"), ends = inputs ? c.values(2) : c.integers("ends");
  std::vector<std::int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = c.axes("axes", 3)) axes = *given;
  if (inputs && c.has(4)) steps = c.values(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    c.refuse(fmt::format("{} starts, {} ends, {} and {} steps", starts.size(), ends.size(), sinter::counted(axes.size(), "axis", "axes"), steps.size()));
  std::vector<Index> index(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
  for (std::size_t k = 0; k < starts.size(); ++k) {
    const auto axis = static_cast<std::size_t>(c.axis(axes[k], x.ndim()));
    // A backward slice that starts before the first element begins at the first in ONNX, and is empty in NumPy.
    const bool before = steps[k] < 0 && starts[k] < -x.shape()[axis];
    index[axis] = Slice{before ? 0 : starts[k], ends[k], steps[k]};
  }
  return {x.at(index, c.where())};
}

Results expand(const Call& c) {
  const Tensor& x = c.tensor(0);
  Shape shape = c.shape(c.values(1), "the sizes");
  while (static_cast<int>(shape.size()) < x.ndim()) shape.insert(shape.begin(), 1);
  const std::size_t extra = shape.size() - static_cast<std::size_t>(x.ndim());
  for (int i = 0; i < x.ndim(); ++i) {  // Both sides broadcast: if the shape has a size of 1, the tensor keeps its size
    std::int64_t& size = shape[extra + static_cast<std::size_t>(i)];
    if (size == 1) size = x.size(i);
  }
  return {broadcast_to(c[0], shape)};
}

Results pad_of(const Call& c) {
  const Tensor& x = c.tensor(0);
  const std::size_t rank = static_cast<std::size_t>(x.ndim());
  const auto pads = c.within(c.given("pads") ? c.integers("pads") : c.given("paddings") ? c.integers("paddings") : c.values(1), "the widths", -Call::kFar);
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (c.has(3)) axes = c.values(3);
  if (pads.size() != 2 * axes.size()) c.refuse(fmt::format("{} for {}", sinter::counted(pads.size(), "width"), sinter::counted(axes.size(), "axis", "axes")));
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(rank);
  std::vector<Index> kept(rank, Index(Slice{}));
  bool is_cropped = false;
  for (std::size_t k = 0; k < axes.size(); ++k) {  // a negative width removes elements
    const std::size_t axis = static_cast<std::size_t>(c.axis(axes[k], x.ndim()));
    const std::int64_t size = x.size(static_cast<int>(axis));
    std::int64_t before = pads[k], after = pads[k + axes.size()];
    if (size + after < 0)
      before += size + after, after = -size;  // if more elements are removed than exist, the rest is removed from those that the other end adds
    if (size + before < 0) after += size + before, before = -size;
    widths[axis] = {std::max<std::int64_t>(before, 0), std::max<std::int64_t>(after, 0)};
    if (before >= 0 && after >= 0) continue;
    is_cropped = true;
    kept[axis] = Slice{std::max<std::int64_t>(-before, 0), std::max<std::int64_t>(size + std::min<std::int64_t>(after, 0), 0)};
  }
  const Tensor inner = is_cropped ? x.at(kept, c.where()) : x;
  const std::string mode = c.text("mode", "constant");
  if (mode == "constant") {
    if (c.has(2)) return {pad(c.at_node(inner), widths, PadMode::constant, c.at_node(reshape(c[2], {})))};
    return {pad(c.at_node(inner), widths, PadMode::constant, c.number("value", 0))};
  }
  if (mode == "edge") return {pad(c.at_node(inner), widths, PadMode::edge)};
  if (mode == "reflect") return {pad(c.at_node(inner), widths, PadMode::reflect)};
  if (mode == "wrap") return {pad(c.at_node(inner), widths, PadMode::wrap)};
  c.refuse(fmt::format("mode '{}'", mode));
}

Tensor integers(const Call& c, const std::vector<std::int64_t>& numbers) {
  return from_pointer(numbers.data(), DType::int64, {static_cast<std::int64_t>(numbers.size())}, {}, c.where());
}

Results shape_of(const Call& c) {
  const Shape& shape = c.tensor(0).shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t start = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  return {integers(c, std::vector<std::int64_t>(shape.begin() + start, shape.begin() + std::max(start, end)))};
}

Results constant_of_shape(const Call& c) {
  const Shape shape = c.shape(c.values(0), "the sizes");
  const Tensor* value = c.constant("value");
  if (!value) return {zeros(shape, DType::float32, c.where())};
  return {full(shape, c.at_node(reshape(c.at_node(*value), {})), value->dtype())};
}

Results constant(const Call& c) {
  if (const Tensor* value = c.constant("value")) return {*value};
  if (c.given("value_float")) return {full({}, Arg(static_cast<float>(c.number("value_float")), c.where()))};
  if (c.given("value_int")) return {full({}, Arg(c.integer("value_int"), c.where()))};
  if (c.given("value_ints")) return {integers(c, c.integers("value_ints"))};
  if (c.given("value_floats")) {
    const std::vector<float> numbers = c.numbers("value_floats");
    return {from_pointer(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, {}, c.where())};
  }
  c.refuse("its value is text or sparse, which sinter lacks");
}

Results range(const Call& c) {
  const DType dtype = c.tensor(0).dtype();
  if (is_integer(dtype)) {
    const std::int64_t start = c.value(0), limit = c.value(1), delta = c.value(2);
    if (delta == 0) c.refuse("a step of 0");
    return {arange(Arg(start, c.where()), limit, delta, dtype)};
  }
  const double start = c.real(0), delta = c.real(2);
  const double steps_there = std::ceil((c.real(1) - start) / delta);
  const std::int64_t count = steps_there < 0 ? 0 : c.whole(steps_there, "its elements");
  const Tensor steps = arange(Arg(count, c.where()), DType::float64);
  return {astype(c.at_node(add(multiply(c.at_node(steps), delta), start)), dtype)};
}

Results eye_like(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() != 2) c.refuse(fmt::format("a tensor of {} instead of 2", sinter::counted(x.ndim(), "dimension")));
  return {eye(x.size(0), x.size(1), c.within({c.integer("k", 0)}, "the attribute 'k'", -Call::kFar)[0],
              c.given("dtype") ? element_type(c, c.integer("dtype")) : x.dtype(), c.where())};
}

Results trilu(const Call& c) {
  const std::int64_t k = c.has(1) ? std::clamp(c.value(1), -Call::kFar, Call::kFar) : 0;
  return {c.integer("upper", 1) != 0 ? triu(c[0], k) : tril(c[0], k)};
}

Results depth_to_space(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() != 4) c.refuse(fmt::format("a tensor of {} instead of 4", sinter::counted(x.ndim(), "dimension")));
  const std::int64_t b = c.size("blocksize"), n = x.size(0), channels = x.size(1), h = x.size(2), w = x.size(3);
  if (channels % (b * b) != 0) c.refuse(fmt::format("{} channels cannot be divided into blocks of {}", channels, b));
  const std::int64_t rest = channels / (b * b);
  const bool crd = c.text("mode", "DCR") == "CRD";
  const Tensor blocks = crd ? reshape(c[0], {n, rest, b, b, h, w}) : reshape(c[0], {n, b, b, rest, h, w});
  const Tensor moved = transpose(c.at_node(blocks), crd ? std::vector<std::int64_t>{0, 1, 4, 2, 5, 3} : std::vector<std::int64_t>{0, 3, 4, 1, 5, 2});
  return {reshape(c.at_node(moved), {n, rest, h * b, w * b})};
}

Results space_to_depth(const Call& c) {
  const Tensor& x = c.tensor(0);
  if (x.ndim() != 4) c.refuse(fmt::format("a tensor of {} instead of 4", sinter::counted(x.ndim(), "dimension")));
  const std::int64_t b = c.size("blocksize"), n = x.size(0), channels = x.size(1), h = x.size(2), w = x.size(3);
  if (h % b != 0 || w % b != 0) c.refuse(fmt::format("an image of {} x {} cannot be divided into blocks of {}", h, w, b));
  const Tensor blocks = reshape(c[0], {n, channels, h / b, b, w / b, b});
  return {reshape(c.at_node(transpose(c.at_node(blocks), {0, 3, 5, 1, 2, 4})), {n, channels * b * b, h / b, w / b})};
}

Results center_crop_pad(const Call& c) {
  const Tensor& x = c.tensor(0);
  const auto wanted = c.within(c.values(1), "the sizes", 0);
  std::vector<std::int64_t> axes(static_cast<std::size_t>(x.ndim()));
  std::iota(axes.begin(), axes.end(), 0);
  axes = c.integers("axes", axes);
  if (axes.size() != wanted.size()) c.refuse(fmt::format("{} for {}", sinter::counted(wanted.size(), "size"), sinter::counted(axes.size(), "axis", "axes")));
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.ndim()));
  std::vector<Index> kept(static_cast<std::size_t>(x.ndim()), Index(Slice{}));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(c.axis(axes[k], x.ndim()));
    const std::int64_t size = x.size(static_cast<int>(axis)), more = wanted[k] - size;
    if (more >= 0) widths[axis] = {more / 2, more - more / 2};
    else kept[axis] = Slice{-more / 2, -more / 2 + wanted[k]};
  }
  return {pad(c.at_node(x.at(kept, c.where())), widths)};
}

Results tile_of(const Call& c) { return {tile(c[0], c.within(c.values(1), "the repetitions", 0))}; }

const Operator kShapeRows[] = {
    {"CenterCropPad", {2, 2}, center_crop_pad},
    {"Concat", {1, kAny}, concat},
    {"Constant", {0, 0}, constant},
    {"ConstantOfShape", {1, 1}, constant_of_shape},
    {"DepthToSpace", {1, 1}, depth_to_space},
    {"Expand", {2, 2}, expand},
    {"EyeLike", {1, 1}, eye_like},
    {"Flatten", {1, 1}, flatten},
    {"Pad", {1, 4}, pad_of},
    {"Range", {3, 3}, range},
    {"Reshape", {1, 2}, reshape_to},
    {"Shape", {1, 1}, shape_of},
    {"Size", {1, 1}, [](const Call& c) -> Results { return {full({}, Arg(c.tensor(0).size(), c.where()))}; }},
    {"Slice", {1, 5}, slice_of},
    {"SpaceToDepth", {1, 1}, space_to_depth},
    {"Split", {1, 2}, split_of},
    {"Squeeze", {1, 2}, squeeze_of},
    {"Tile", {2, 3}, tile_of},
    {"Transpose", {1, 1}, transpose_of},
    {"Trilu", {1, 2}, trilu},
    {"Unsqueeze", {1, 2}, unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeRows; }

}  // namespace sinter::onnx
