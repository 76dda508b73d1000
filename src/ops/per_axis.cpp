#include "ops/per_axis.hpp"
#include "sinter/counted.hpp"

#include <fmt/format.h>

namespace sinter::ops {
namespace {
/// The limit of such a number. A larger one fits no axis, and products of two such numbers fit in int64.
constexpr std::int64_t kMaxPerAxis = std::int64_t{1} << 31;
}  // namespace

std::vector<std::int64_t> per_axis(const Site& site, std::string_view what, const PerAxis& given, std::size_t axes, std::int64_t min_value) {
  std::vector<std::int64_t> list = given.list();
  if (list.size() == 1) list.resize(axes, list.front());
  if (list.size() != axes)
    fail<ValueError>(
        site, fmt::format("{} for {}, but there are {}; give one, or one for each", counted(list.size(), "number"), what, counted(axes, "axis", "axes")));
  for (const std::int64_t number : list)
    if (number < min_value || number > kMaxPerAxis) fail<ValueError>(site, fmt::format("{} of {}; it must be from {} to 2^31", what, number, min_value));
  return list;
}

std::vector<std::pair<std::int64_t, std::int64_t>> per_axis(const Site& site, const Padding& given, std::size_t axes) {
  auto widths = given.widths();
  if (widths.size() == 1) widths.resize(axes, widths.front());
  if (widths.size() != axes)
    fail<ValueError>(site,
                     fmt::format("{} of padding, but there are {}; give one, or one for each", counted(widths.size(), "width"), counted(axes, "axis", "axes")));
  for (const auto& [before, after] : widths)
    if (before < 0 || after < 0 || before > kMaxPerAxis || after > kMaxPerAxis)
      fail<ValueError>(site, fmt::format("padding of {} and {}; it must be from 0 to 2^31", before, after));
  return widths;
}

Convolution convolution_of(const Site& site, const ConvOptions& given, const Shape& x, std::span<const std::int64_t> taps) {
  const std::size_t axes = taps.size();
  Convolution how;
  how.stride = per_axis(site, "stride", given.stride, axes, 1);
  how.dilation = per_axis(site, "dilation", given.dilation, axes, 1);
  const auto widths = per_axis(site, given.padding, axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    auto [before, after] = widths[axis];
    const std::int64_t reach = (taps[axis] - 1) * how.dilation[axis];
    if (given.padding.is_same()) {
      if (how.stride[axis] != 1) fail<ValueError>(site, "padding 'same' needs a stride of 1");
      before = reach / 2;
      after = reach - before;
    }
    const std::int64_t max_padding = x[axis + 2] + taps[axis] + kMaxPadding;
    if (before > max_padding || after > max_padding)
      fail<ShapeError>(
          site, fmt::format("padding of {} and {} around axis {} of shape {}; it must be at most {}", before, after, axis + 2, to_string(x), max_padding));
    how.before.push_back(before);
    how.after.push_back(after);
    if (taps[axis] < 1 || how.places(axis, x[axis + 2], taps[axis]) < 1)
      fail<ShapeError>(site, fmt::format("{} taps, {} apart, do not fit into axis {} of shape {} with padding of {} and {}", taps[axis], how.dilation[axis],
                                         axis + 2, to_string(x), before, after));
  }
  return how;
}

}  // namespace sinter::ops
