#include "engine/arena.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace sinter::engine {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign; }

bool together(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// Places the values in this order. Writes their offsets, and returns the block's size.
std::size_t place(const std::vector<Lifetime>& values, const std::vector<std::size_t>& order, std::vector<std::size_t>& offsets) {
  offsets.assign(values.size(), 0);
  std::size_t block = 0;
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t value : order) {
    const std::size_t bytes = aligned(values[value].bytes);
    std::size_t at = 0;
    for (const std::size_t other : placed) {
      if (!together(values[value], values[other])) continue;
      if (at + bytes <= offsets[other]) break;
      at = std::max(at, offsets[other] + aligned(values[other].bytes));
    }
    offsets[value] = at;
    block = std::max(block, at + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, [&](std::size_t offset, std::size_t other) { return offset < offsets[other]; }), value);
  }
  return block;
}

}  // namespace

Arena lay_out(const std::vector<Lifetime>& values) {
  Arena arena;
  std::map<int, std::size_t> begins, ends;  // bytes
  for (const Lifetime& value : values) {
    arena.sum += aligned(value.bytes);
    begins[value.first] += aligned(value.bytes);
    ends[value.last + 1] += aligned(value.bytes);
  }
  std::size_t alive = 0;
  auto end = ends.begin();
  for (const auto& [moment, bytes] : begins) {
    for (; end != ends.end() && end->first <= moment; ++end) alive -= end->second;
    arena.lower_bound = std::max(arena.lower_bound, alive += bytes);
  }
  std::vector<std::size_t> order(values.size()), offsets;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a].first < values[b].first; });
  arena.bytes = place(values, order, arena.offsets);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a].bytes > values[b].bytes; });
  if (const std::size_t bytes = place(values, order, offsets); bytes < arena.bytes) {
    arena.bytes = bytes;
    arena.offsets = std::move(offsets);
  }
  return arena;
}

}  // namespace sinter::engine
