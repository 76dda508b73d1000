// Checks the options of functions over spatial axes (sinter/nn.hpp): one number for each axis.
#pragma once
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/recording.hpp"
#include "sinter/nn.hpp"
#include "trace/library.hpp"

namespace sinter::ops {

/// The maximum width of padding beyond what windows need, because padding is stored before a convolution or a pool.
inline constexpr std::int64_t kMaxPadding = std::int64_t{1} << 16;

/// Returns one number for each of the axes, none below `min_value`.
std::vector<std::int64_t> per_axis(const Site& site, std::string_view what, const PerAxis& given, std::size_t axes, std::int64_t min_value);
/// Returns the widths before and after each of the axes.
std::vector<std::pair<std::int64_t, std::int64_t>> per_axis(const Site& site, const Padding& given, std::size_t axes);
/// Checks the options for x (batch, channels, places.., inner axes) and the taps along each axis: at least one window fits. Does not check groups.
Convolution convolution_of(const Site& site, const ConvOptions& given, const Shape& x, std::span<const std::int64_t> taps);

}  // namespace sinter::ops
