#include "ranks/sharding.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sinter::ranks {

namespace {

/// Returns every combination of one number from each axis's range; the last axis varies fastest.
std::vector<Place> choices(const std::vector<Range>& ranges) {
  std::vector<Place> all{{}};
  for (const Range& range : ranges) {
    std::vector<Place> more;
    for (const Place& place : all)
      for (std::int64_t piece = range.begin; piece < range.end; ++piece) {
        more.push_back(place);
        more.back().push_back(static_cast<int>(piece));
      }
    all = std::move(more);
  }
  return all;
}

}  // namespace

std::vector<Place> MeshState::places_of(int rank) const {
  std::vector<Range> ranges(count());
  for (std::size_t axis = count(); axis-- > 0; rank /= axes[axis].size) {
    const int each = axes[axis].pieces / axes[axis].size, first = rank % axes[axis].size * each;
    ranges[axis] = {first, first + each};
  }
  return choices(ranges);
}

std::vector<Place> MeshState::all_places() const {
  std::vector<Range> ranges;
  for (const MeshAxis& axis : axes) ranges.push_back({0, axis.pieces});
  return choices(ranges);
}

int MeshState::rank_of(const Place& place) const {
  int rank = 0;
  for (std::size_t axis = 0; axis < count(); ++axis) rank = rank * axes[axis].size + place[axis] / (axes[axis].pieces / axes[axis].size);
  return rank;
}

int MeshState::number_of(const Place& place) const {
  int number = 0;
  for (std::size_t axis = 0; axis < count(); ++axis) {
    const int each = axes[axis].pieces / axes[axis].size;
    number = number * each + place[axis] % each;
  }
  return number;
}

bool Sharding::is_whole() const {
  return std::all_of(axes.begin(), axes.end(), [](int axis) { return axis == kWhole; });
}

int Sharding::along(std::size_t mesh_axis) const {
  const auto found = std::find(axes.begin(), axes.end(), static_cast<int>(mesh_axis));
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

std::string to_string(DType dtype, const Shape& shape, const Sharding& sharding) {
  std::string text;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    text += fmt::format("{}{}", k == 0 ? "" : ", ", shape[k]);
    if (const int axis = sharding.axes[k]; axis != kWhole) text += "@" + sharding.mesh->axes[static_cast<std::size_t>(axis)].name;
  }
  return fmt::format("{} ({}{})", name(dtype), text, shape.size() == 1 ? "," : "");
}

std::string as_written(const Sharding& sharding) {
  std::string text;
  for (const int axis : sharding.axes)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", axis == kWhole ? "" : sharding.mesh->axes[static_cast<std::size_t>(axis)].name);
  return "{" + text + "}";
}

Range intersection(Range a, Range b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

Block intersection(const Block& a, const Block& b) {
  Block both(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) both[k] = intersection(a[k], b[k]);
  return both;
}

bool is_empty(const Block& block) {
  return std::any_of(block.begin(), block.end(), [](const Range& range) { return range.size() == 0; });
}

Shape shape_of(const Block& block) {
  Shape shape;
  for (const Range& range : block) shape.push_back(range.size());
  return shape;
}

Part part_of(const Sharding& sharding, const Place& place) {
  Part part = place;
  for (std::size_t axis = 0; axis < part.size(); ++axis)
    if (sharding.along(axis) < 0) part[axis] = kWhole;
  return part;
}

std::vector<Part> all_parts(const Sharding& sharding) {
  std::vector<Range> ranges;
  for (std::size_t axis = 0; axis < sharding.mesh->count(); ++axis)
    ranges.push_back(sharding.along(axis) < 0 ? Range{kWhole, kWhole + 1} : Range{0, sharding.mesh->axes[axis].pieces});
  return choices(ranges);
}

std::int64_t piece_length(const MeshState& mesh, int mesh_axis, std::int64_t size) {
  const std::int64_t pieces = mesh.axes[static_cast<std::size_t>(mesh_axis)].pieces;
  return (size + pieces - 1) / pieces;
}

std::int64_t pieces_with_elements(const MeshState& mesh, int mesh_axis, std::int64_t size) {
  const std::int64_t length = piece_length(mesh, mesh_axis, size);
  return length == 0 ? 0 : (size + length - 1) / length;
}

Block block_of(const Shape& shape, const Sharding& sharding, const Part& part) {
  Block block;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const int axis = sharding.axes[k];
    if (axis == kWhole) {
      block.push_back({0, shape[k]});
      continue;
    }
    const std::int64_t length = piece_length(*sharding.mesh, axis, shape[k]), piece = part[static_cast<std::size_t>(axis)];
    block.push_back({std::min(shape[k], piece * length), std::min(shape[k], (piece + 1) * length)});
  }
  return block;
}

}  // namespace sinter::ranks
