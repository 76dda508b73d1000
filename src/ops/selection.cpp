#include "ops/selection.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/counted.hpp"

namespace sinter::ops {
namespace {

/// Computes Python's slice.indices(): start, step and count for an axis of `size` elements.
struct Range {
  std::int64_t start, step, count;
};
Range clamped(const Site& site, const Slice& slice, std::int64_t size) {
  const std::int64_t step = slice.step.value_or(1);
  if (step == 0) fail<ValueError>(site, "a slice step cannot be zero");
  const std::int64_t low = step < 0 ? -1 : 0, high = step < 0 ? size - 1 : size;
  const auto clamp = [&](std::int64_t i) { return std::clamp(i < 0 ? i + size : i, low, high); };
  const std::int64_t start = slice.start ? clamp(*slice.start) : (step < 0 ? high : low);
  const std::int64_t stop = slice.stop ? clamp(*slice.stop) : (step < 0 ? low : high);
  const std::int64_t length = step < 0 ? start - stop : stop - start;
  if (length <= 0) return {0, 1, 0};
  // A |step| beyond the length takes one element; this also keeps -step from overflowing.
  if (step >= length || step <= -length) return {start, 1, 1};
  return {start, step, (length - 1) / (step < 0 ? -step : step) + 1};
}

}  // namespace

Selection selected(const Site& site, const Shape& shape, std::span<const Index* const> index) {
  std::size_t used = 0, ellipses = 0;
  for (const Index* i : index) {
    used += i->kind() == Index::Kind::integer || i->kind() == Index::Kind::slice || i->kind() == Index::Kind::places;
    ellipses += i->kind() == Index::Kind::rest;
  }
  if (used > shape.size()) {
    fail<AxisError>(site, fmt::format("{} for shape {} with {}", counted(used, "index", "indices"), to_string(shape), counted(shape.size(), "axis", "axes")));
  }
  if (ellipses > 1) fail<AxisError>(site, "only one ellipsis may be used");

  Selection selection;
  auto& start_step = selection.start_step;
  Shape &sliced = selection.sliced, &result = selection.result;
  start_step.reserve(2 * shape.size());
  sliced.reserve(shape.size());
  result.reserve(shape.size() + index.size());
  const auto keep = [&](Range r) {
    start_step.insert(start_step.end(), {r.start, r.step});
    sliced.push_back(r.count);
  };
  const auto whole = [&](std::size_t count) {
    for (; count > 0; --count) {
      result.push_back(shape[sliced.size()]);
      keep({0, 1, shape[sliced.size()]});
    }
  };
  for (const Index* i : index) {
    switch (i->kind()) {
      case Index::Kind::places:
        node_of(site, i->places());
        selection.places.push_back(i->places());
        selection.places_axes.push_back(static_cast<std::int64_t>(result.size()));
        whole(1);
        break;
      case Index::Kind::inserted: result.push_back(1); break;
      case Index::Kind::rest: whole(shape.size() - used); break;
      case Index::Kind::slice:
        keep(clamped(site, i->slice(), shape[sliced.size()]));
        result.push_back(sliced.back());
        break;
      case Index::Kind::integer: {
        const std::int64_t size = shape[sliced.size()], at = i->integer();
        if (at < -size || at >= size) {
          fail<IndexError>(site, fmt::format("index {} is out of bounds for axis {} with size {}", at, sliced.size(), size));
        }
        keep({at < 0 ? at + size : at, 1, 1});
        break;
      }
    }
  }
  whole(shape.size() - sliced.size());
  // As in NumPy, an integer next to an index tensor is treated as an index tensor, too.
  const auto is_place = [](const Index* i) { return i->kind() == Index::Kind::places || i->kind() == Index::Kind::integer; };
  const auto first = std::find_if(index.begin(), index.end(), is_place), behind = std::find_if_not(first, index.end(), is_place);
  selection.places_in_front = !selection.places.empty() && std::any_of(behind, index.end(), is_place);
  return selection;
}

}  // namespace sinter::ops
