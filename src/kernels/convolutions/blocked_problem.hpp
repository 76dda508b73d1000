// The sizes of a convolution of channels in blocks, read from its call.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "fuse/library_call.hpp"
#include "trace/library.hpp"

namespace sinter::kernels {

/// Filters in a block.
inline constexpr std::int64_t kWide = 16;

/// Groups are treated as separate images in sequence, because the channels and filters of a group are whole blocks.
struct BlockedProblem {
  std::int64_t batch, channels, inner;  // images; blocks of channels; channels in a block
  std::int64_t size[2], taps[2], stride[2], dilation[2], before[2], places[2];
  std::int64_t blocks;  // blocks of filters
  std::int64_t groups;  // consecutive images belong to consecutive groups, each with separate weights
  bool depthwise, winograd;

  explicit BlockedProblem(const fuse::LibraryCall& call) {
    const auto how = trace::Convolution::of(call.ints);
    const Shape &x = call.operands[0].shape, &filters = call.operands[1].shape;
    groups = how.groups;
    batch = x[0] * groups, channels = x[1] / groups, inner = x.size() == 5 ? x[4] : 1;
    depthwise = filters.size() == 4;
    winograd = x.size() == 5 && filters.size() == 5;
    blocks = filters[winograd ? 1 : 0] / groups;
    // The positions of a tile lie along the second axis. If that axis has only one element, the axes change places.
    const bool column = !winograd && x[3] == 1 && filters[depthwise ? 2 : 3] == 1 && call.shape[3] == 1 && how.before[1] == 0;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t axis = column ? 1 - k : k;
      size[k] = x[axis + 2], taps[k] = winograd ? 3 : filters[axis + (depthwise ? 1 : 2)];
      stride[k] = how.stride[axis], dilation[k] = how.dilation[axis], before[k] = how.before[axis];
      places[k] = call.shape[axis + 2];
    }
  }
  /// Returns the number of elements of padded x that the positions [0, count) of the axis cover.
  std::int64_t reach(std::size_t axis, std::int64_t count) const { return (count - 1) * stride[axis] + (taps[axis] - 1) * dilation[axis] + 1; }
  bool reads_outside() const {
    return before[0] > 0 || before[1] > 0 || reach(0, places[0]) > size[0] + before[0] || reach(1, places[1]) > size[1] + before[1];
  }
};

/// Copies rows [first, first + rows) of one plane of padded x (a block of channels, or one channel), with `outside` for elements beyond x.
template <class Element> void lay_out_padded(const BlockedProblem& p, const Element* plane, std::int64_t first, std::int64_t rows, std::int64_t columns,
                                             Element* to, Element outside = 0) {
  const std::int64_t left = std::min(p.before[1], columns), there = std::clamp<std::int64_t>(columns - left, 0, p.size[1]);
  for (std::int64_t row = 0; row < rows; ++row, to += columns * p.inner) {
    const std::int64_t from = first + row - p.before[0];
    if (from < 0 || from >= p.size[0]) {
      std::fill_n(to, columns * p.inner, outside);
      continue;
    }
    std::fill_n(to, left * p.inner, outside);
    std::memcpy(to + left * p.inner, plane + from * p.size[1] * p.inner, static_cast<std::size_t>(there * p.inner) * sizeof(Element));
    std::fill_n(to + (left + there) * p.inner, (columns - left - there) * p.inner, outside);
  }
}

}  // namespace sinter::kernels
