#include "trace/loop_detection.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"

namespace sinter::trace {
namespace {

constexpr std::size_t kMinOccurrences = 3;  // minimum number of occurrences of a place that ends iterations
constexpr std::size_t kSpan = 8;            // the first and the last occurrence are at least 1/kSpan of the recording apart
constexpr double kSmall = 8 << 10;          // bytes: up to this size, copying is cheaper than planning several assignments to parts together
constexpr double kAlike = 1.01;             // byte counts whose ratio is smaller count as equal

bool computes(Op op) { return !is_view(op) && op != Op::iota; }

// Returns the share of `kLoopOps` that an operation takes. Expensive operations fill a kernel sooner, because fusing more of them gains less and takes longer
// to compile. An assignment to a part of a small tensor takes longer to plan than to compute.
int weight(const Recorded& node) {
  if (!computes(node.op)) return 0;
  if (node.op == Op::pad) return static_cast<double>(bytes_of(node)) <= kSmall ? 8 : 2;
  return is_elementwise(node.op) ? 1 + primitive(node.op).cost / 4 : 1;
}

// Returns whether the node reads an operand's elements at other positions than its own.
bool reads_elsewhere(const Recorded& node, std::size_t input) {
  if (node.op == Op::pad) return input == 0;
  if (node.op == Op::slice) return node.shape != node.pending[input]->shape;
  return !is_view(node.op) && !is_elementwise(node.op);
}

// Returns whether the node is a view of all elements in another order.
bool reorders(const Recorded& node) { return node.op == Op::permute || (node.op == Op::slice && node.shape == node.pending[0]->shape); }

class Timeline {
 public:
  Timeline(std::span<const Pending> operations, const Reach& reach) : steps_(operations.size()), used_(operations.size(), -1) {
    std::vector<std::pair<std::uint64_t, std::int32_t>> order;
    order.reserve(operations.size());
    for (const Pending& operation : operations) order.push_back({(*operation.handle)->order, static_cast<std::int32_t>(order.size())});
    std::sort(order.begin(), order.end());  // with several threads some orders may be equal: then neither node needs the other
    std::vector<std::int32_t> at_of(operations.size());
    for (int at = 0; at < count(); ++at) at_of[static_cast<std::size_t>(order[at].second)] = at;
    for (int at = 0; at < count(); ++at) {
      const auto from = static_cast<std::size_t>(order[at].second);
      Step& step = steps_[at] = {operations[from], at, reach.level[from]};
      for (std::uint32_t k = 0; k < step.arity; ++k)
        if (step.inputs[k] != Pending::kLeaf) step.inputs[k] = at_of[static_cast<std::size_t>(step.inputs[k])];
      if (is_view(node(at).op)) step.base = step.inputs[0] == Pending::kLeaf ? Pending::kLeaf : steps_[step.inputs[0]].base;
      else if (node(at).op == Op::iota) step.base = Pending::kLeaf;
      if (step.asked) used_[at] = count();
      for (std::uint32_t k = 0; k < step.arity; ++k)
        if (const int below = step.inputs[k]; below >= 0) used_[below] = std::max(used_[below], at);
    }
    needed_ = used_;
    for (int at = count(); at-- > 0;)
      if (is_view(node(at).op))
        if (const int below = steps_[at].inputs[0]; below >= 0) needed_[below] = std::max(needed_[below], needed_[at]);
  }

  DetectedLoop find_loop() const {
    DetectedLoop found;
    const Candidate place = find_place();
    const std::vector<int>& ends = place.ends;
    if (ends.empty()) return found;
    const int first = ends.front(), last = ends.back();
    const auto times = static_cast<std::int64_t>(ends.size()) - 1;
    std::int64_t ops = 0;
    for (int at = first + 1; at <= last; ++at) ops += node(at).op == Op::pad && static_cast<double>(bytes_of(node(at))) <= kSmall ? kLoopOps : weight(node(at));
    const bool grows = 2 * (steps_[last].level - steps_[first].level) >= times;
    const std::int64_t each = grows ? 1 : std::max<std::int64_t>(1, kLoopOps * times / std::max<std::int64_t>(1, ops));
    int begin = 0;
    for (auto k = each - 1; k <= times && ends[k] + 1 < count(); k += each) {
      if (auto piece = needed_later(begin, ends[k] + 1); !piece.empty()) found.pieces.push_back(std::move(piece));
      begin = ends[k] + 1;
    }
    found.place = place.place;
    found.like = {node(last).where.line, node(last).op};
    found.each = each * place.step;
    for (int at = begin; at < count(); ++at) found.since += computes(at) && place_of(node(at)) == place.place;
    return found;
  }

 private:
  struct Step : Pending {
    int base;  // the node of which a node is a view
    int level;
  };

  int count() const { return static_cast<int>(steps_.size()); }
  const Recorded& node(int at) const { return **steps_[at].handle; }
  bool computes(int at) const { return steps_[at].base == at; }

  // A place, and its occurrences that end iterations: every `step`-th one.
  struct Candidate {
    std::uint64_t place;
    std::vector<int> ends;
    std::int64_t step;
    double bytes;  // bytes that are needed later, averaged over the occurrences
  };

  // Finds the repeating place at which the fewest bytes are needed later. Among equal places it chooses the one with the fewest dependent steps per iteration,
  // and among these the last one.
  Candidate find_place() const {
    std::vector<Candidate> candidates = candidates_for_a_place();
    double smallest = candidates.empty() ? 0 : candidates.front().bytes;
    for (const Candidate& candidate : candidates) smallest = std::min(smallest, candidate.bytes);
    Candidate* best = nullptr;
    int best_levels = 0;
    for (Candidate& candidate : candidates) {
      if (candidate.bytes > smallest * kAlike) continue;
      const auto& ends = candidate.ends;
      const int levels = levels_between(ends[ends.size() - 2], ends.back());
      if (best && (levels > best_levels || (levels == best_levels && ends.back() < best->ends.back()))) continue;
      best = &candidate;
      best_levels = levels;
    }
    return best ? std::move(*best) : Candidate{};
  }

  std::vector<Candidate> candidates_for_a_place() const {
    std::vector<double> alive(steps_.size() + 1);
    std::vector<std::uint64_t> places(steps_.size() + 1);  // running sums of the places before
    std::vector<std::pair<std::uint64_t, int>> by_place;
    by_place.reserve(steps_.size());
    for (int at = 0; at < count(); ++at) {
      places[at + 1] = places[at];
      if (!computes(at)) continue;
      const double bytes = static_cast<double>(bytes_of(node(at)));
      alive[at] += bytes;
      alive[needed_[at]] -= bytes;
      by_place.emplace_back(place_of(node(at)), at);
      places[at + 1] += mix(0, by_place.back().first);
    }
    double now = 0;
    for (double& bytes : alive) bytes = now += bytes;
    std::sort(by_place.begin(), by_place.end());
    std::vector<Candidate> found;
    for (auto begin = by_place.begin(); begin != by_place.end();) {
      const auto end = std::find_if(begin, by_place.end(), [&](const auto& other) { return other.first != begin->first; });
      const std::span times(begin, end);
      begin = end;
      if (times.size() < kMinOccurrences || static_cast<std::size_t>(times.back().second - times.front().second) < steps_.size() / kSpan) continue;
      // A line that occurs several times per iteration counts as several places.
      const auto since_last = [&](std::size_t k) { return places[times[k].second + 1] - places[times[k - 1].second + 1]; };
      const auto repeats_after = [&](std::size_t step) {
        for (std::size_t k = 1; k + step < times.size(); ++k)
          if (since_last(k) != since_last(k + step)) return false;
        return true;
      };
      std::size_t step = 1;
      while (step * kMinOccurrences <= times.size() && !repeats_after(step)) ++step;
      if (step * kMinOccurrences > times.size()) step = 1;
      for (std::size_t first = 0; first < step; ++first) {
        Candidate& candidate = found.emplace_back(Candidate{times.front().first, {}, static_cast<std::int64_t>(step), 0});
        for (std::size_t k = first; k < times.size(); k += step) candidate.ends.push_back(times[k].second);
        // The first and the last occurrence are skipped: at the first, part of the state may still be leaves; at the last, the user holds values of an
        // unfinished iteration.
        for (std::size_t k = 1; k + 1 < candidate.ends.size(); ++k) candidate.bytes += alive[candidate.ends[k]];
        candidate.bytes /= static_cast<double>(candidate.ends.size() - 2);
      }
    }
    return found;
  }

  // Returns the longest chain of dependent steps among the operations after `before`, up to `last`.
  int levels_between(int before, int last) const {
    int largest = 0;
    std::vector<int> levels(static_cast<std::size_t>(last - before));
    for (int at = before + 1; at <= last; ++at) {
      int level = computes(at);
      for (std::uint32_t k = 0; k < steps_[at].arity; ++k) {
        const int below = steps_[at].inputs[k];
        if (below <= before) continue;
        const int there = levels[static_cast<std::size_t>(below - before - 1)];
        level = std::max(level, there + (there > 0 && reads_elsewhere(node(at), k)));
      }
      largest = std::max(largest, levels[static_cast<std::size_t>(at - before - 1)] = level);
    }
    return largest;
  }

  // Returns the results of the operations [begin, end) that later operations need. For views it returns the node of which they are views, or the view if only
  // one view is needed.
  std::vector<RecordedPtr> needed_later(int begin, int end) const {
    std::unordered_map<int, std::vector<int>> views;  // the views of each base that are needed
    for (int at = begin; at < end; ++at)
      if (!computes(at) && steps_[at].base >= begin && used_[at] >= end) views[steps_[at].base].push_back(at);
    std::vector<RecordedPtr> needed;
    for (int at = begin; at < end; ++at) {
      if (!computes(at) || needed_[at] < end) continue;
      const auto found = views.find(at);
      const bool part = used_[at] < end && found != views.end() && found->second.size() == 1 && bytes_of(node(found->second[0])) < bytes_of(node(at));
      needed.push_back(*steps_[part ? found->second[0] : at].handle);
    }
    return needed;
  }

  std::vector<Step> steps_;  // operations in the order of recording
  std::vector<int> used_;    // the last operation that uses it; count() for a root
  std::vector<int> needed_;  // the same, including uses of its views
};

}  // namespace

bool Reach::is_long() const {
  constexpr int kMaxLevels = 32, kMaxShiftedLevels = 8, kMaxShifts = 4, kMaxChain = 2 * kLoopOps;
  constexpr std::size_t kMany = 96;  // maximum number of operations, because planning shifted reads of shifted reads takes longest
  return levels > (shifts > 0 ? kMaxShiftedLevels : kMaxLevels) || chain > kMaxChain || (shifts > kMaxShifts && level.size() > kMany);
}

Reach reach_of(std::span<const Pending> operations) {
  struct Extent {
    int shifts = 0, chain = 0;
    std::int32_t base = Pending::kLeaf;  // the node of which a node is a view
    std::uint64_t order = 0;             // order of the base's elements; 0: the stored order
    std::uint64_t read = 0;              // for a base: the order in which it is first read
    bool in_two_orders = false;          // whether the base is read in two orders
  };
  constexpr std::uint64_t kUnread = ~std::uint64_t{0};
  std::vector<Extent> extents(operations.size());
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Pending& operation = operations[at];
    const Recorded& node = **operation.handle;
    Extent& extent = extents[at];
    if (is_view(node.op)) {
      if (operation.inputs[0] == Pending::kLeaf) continue;
      const Extent& below = extents[static_cast<std::size_t>(operation.inputs[0])];
      extent.base = below.base;
      extent.order = below.order;
      if (!reorders(node)) continue;
      extent.order = mix(extent.order, static_cast<std::uint64_t>(node.op));
      for (const std::int64_t number : node.ints) extent.order = mix(extent.order, static_cast<std::uint64_t>(number));
      continue;
    }
    extent.base = static_cast<std::int32_t>(at);
    extent.read = kUnread;
    for (std::uint32_t k = 0; k < operation.arity; ++k) {
      if (operation.inputs[k] == Pending::kLeaf) continue;
      const Extent& below = extents[static_cast<std::size_t>(operation.inputs[k])];
      if (below.base == Pending::kLeaf) continue;
      Extent& base = extents[static_cast<std::size_t>(below.base)];
      if (base.read == kUnread) base.read = below.order;
      else base.in_two_orders |= base.read != below.order;
    }
  }
  Reach reach;
  reach.level.resize(operations.size());
  for (std::size_t at = 0; at < operations.size(); ++at) {
    const Pending& operation = operations[at];
    const Recorded& node = **operation.handle;
    Extent& extent = extents[at];
    int& level = reach.level[at] = computes(node.op);
    for (std::uint32_t k = 0; k < operation.arity; ++k) {
      if (operation.inputs[k] == Pending::kLeaf) continue;
      const auto below = static_cast<std::size_t>(operation.inputs[k]);
      const Extent& input = extents[below];
      const bool elsewhere = reach.level[below] > 0 && reads_elsewhere(node, k);
      const bool reordered =
          computes(node.op) && input.order != 0 && input.base != Pending::kLeaf && extents[static_cast<std::size_t>(input.base)].in_two_orders;
      level = std::max(level, reach.level[below] + (elsewhere || reordered));
      extent.shifts = std::max(extent.shifts, input.shifts + (elsewhere && (node.op == Op::pad || node.op == Op::slice)));
      extent.chain = std::max(extent.chain, input.chain);
    }
    extent.chain += weight(node);
    reach.levels = std::max(reach.levels, level);
    reach.shifts = std::max(reach.shifts, extent.shifts);
    reach.chain = std::max(reach.chain, extent.chain);
  }
  return reach;
}

std::uint64_t place_of(const Recorded& node) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(node.where.file), node.where.line);
  hash = mix(hash, static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype));
  // Sizes are excluded, because the parts of a stencil shrink. Zeros are included, because a part at the edge is another place than a part in the middle.
  std::uint64_t zeros = node.shape.size();
  for (const std::int64_t number : node.ints) zeros = zeros << 1 | (number == 0);
  return mix(hash, zeros);
}

DetectedLoop find_loop(std::span<const Pending> operations, const Reach& reach) { return Timeline(operations, reach).find_loop(); }

}  // namespace sinter::trace
