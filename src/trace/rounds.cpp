#include "trace/rounds.hpp"

#include <algorithm>
#include <unordered_map>

#include "trace/hash.hpp"

namespace sinter::trace {
namespace {

constexpr int kFewest = 3;             // times that a place comes round, to be one
constexpr std::size_t kSpan = 8;       // of all that was recorded its first and last time are at least this part apart
constexpr double kSmall = 8 << 10;     // bytes that are sooner copied than several assignments to parts of them are planned together

double bytes_of(const Recorded& node) { return static_cast<double>(element_count(node.shape)) * static_cast<double>(itemsize(node.dtype)); }

class Timeline {
 public:
  explicit Timeline(std::span<const Pending> operations) : steps_(operations.begin(), operations.end()) {
    std::stable_sort(steps_.begin(), steps_.end(), [](const Pending& x, const Pending& y) { return (*x.handle)->order < (*y.handle)->order; });
    base_.resize(steps_.size());
    used_.assign(steps_.size(), -1);
    for (int at = 0; at < count(); ++at) {
      const Recorded& step = node(at);
      base_[at] = is_view(step.op) ? base_of(step.pending[0]) : step.op == Op::iota ? kFree : at;
      if (steps_[at].asked) used_[at] = count();
      for (const RecordedPtr& input : step.pending)
        if (const int below = find(*input); below >= 0) used_[below] = std::max(used_[below], at);
    }
    needed_ = used_;
    for (int at = count(); at-- > 0;)
      if (is_view(node(at).op))
        if (const int below = find(*node(at).pending[0]); below >= 0) needed_[below] = std::max(needed_[below], needed_[at]);
  }

  Rounds rounds() const {
    Rounds found;
    const std::vector<int> ends = find_place(found);
    if (ends.empty()) return found;
    const int first = ends.front(), last = ends.back();
    const auto times = static_cast<std::int64_t>(ends.size()) - 1;
    found.times = times + 1;
    std::int64_t ops = 0;
    for (int at = first + 1; at <= last; ++at) ops += node(at).op == Op::pad && bytes(at) <= kSmall ? kLoopOps : weight(node(at));
    const bool grows = 2 * (steps_[last].level - steps_[first].level) >= times;
    found.each = grows ? 1 : std::max<std::int64_t>(1, kLoopOps * times / std::max<std::int64_t>(1, ops));
    int begin = 0;
    for (auto k = static_cast<std::size_t>(found.each) - 1; k < ends.size(); k += static_cast<std::size_t>(found.each)) {
      if (ends[k] + 1 == count()) break;
      if (auto piece = needed_later(begin, ends[k] + 1); !piece.empty()) found.pieces.push_back(std::move(piece));
      begin = ends[k] + 1;
    }
    return found;
  }

 private:
  static constexpr int kFree = -1;  // contents that are known, or nearly so

  int count() const { return static_cast<int>(steps_.size()); }
  const Recorded& node(int at) const { return **steps_[at].handle; }
  bool computes(int at) const { return base_[at] == at; }
  double bytes(int at) const { return bytes_of(node(at)); }

  // Numbers of one thread differ; those of several may be equal.
  int find(const Recorded& wanted) const {
    auto at = std::lower_bound(steps_.begin(), steps_.end(), wanted.order, [](const Pending& step, std::uint64_t order) { return (*step.handle)->order < order; });
    for (; at != steps_.end() && (*at->handle)->order == wanted.order; ++at)
      if (at->handle->get() == &wanted) return static_cast<int>(at - steps_.begin());
    return -1;
  }
  int base_of(const RecordedPtr& operand) const {
    const int at = find(*operand);
    return at < 0 ? kFree : base_[at];
  }

  // Where the place comes round at which the fewest bytes are needed later, on average; the last one of equal ones.
  std::vector<int> find_place(Rounds& found) const {
    std::vector<double> alive(steps_.size() + 1);
    for (int at = 0; at < count(); ++at) {
      if (!computes(at)) continue;
      alive[at] += bytes(at);
      alive[needed_[at]] -= bytes(at);
    }
    std::vector<std::pair<std::uint64_t, int>> by_place;
    double now = 0;
    for (int at = 0; at < count(); ++at) {
      alive[at] = now += alive[at];
      if (computes(at)) by_place.emplace_back(place_of(node(at)), at);
    }
    std::sort(by_place.begin(), by_place.end());
    std::span<const std::pair<std::uint64_t, int>> best;
    double least = 0;
    for (auto begin = by_place.begin(); begin != by_place.end();) {
      const auto end = std::find_if(begin, by_place.end(), [&](const auto& other) { return other.first != begin->first; });
      const std::span place(begin, end);
      double sum = 0;
      for (const auto& [id, at] : place) sum += alive[at];
      const double mean = sum / static_cast<double>(place.size());
      const bool spans = static_cast<std::size_t>(place.back().second - place.front().second) >= steps_.size() / kSpan;
      if (place.size() >= kFewest && spans && (best.empty() || mean < least || (mean == least && place.back().second > best.back().second))) {
        best = place;
        least = mean;
      }
      begin = end;
    }
    std::vector<int> ends;
    for (const auto& [id, at] : best) ends.push_back(at);
    if (!best.empty()) found.place = best.front().first;
    return ends;
  }

  // Of the operations [begin, end) what is needed by those after them: memory behind a view, or the one view that is all that is needed.
  std::vector<RecordedPtr> needed_later(int begin, int end) const {
    std::unordered_map<int, std::vector<int>> views;  // of a base
    for (int at = begin; at < end; ++at)
      if (!computes(at) && base_[at] >= begin && used_[at] >= end) views[base_[at]].push_back(at);
    std::vector<RecordedPtr> needed;
    for (int at = begin; at < end; ++at) {
      if (!computes(at) || needed_[at] < end) continue;
      const auto found = views.find(at);
      const bool part = used_[at] < end && found != views.end() && found->second.size() == 1 && bytes(found->second[0]) < bytes(at);
      needed.push_back(*steps_[part ? found->second[0] : at].handle);
    }
    return needed;
  }

  std::vector<Pending> steps_;  // in the order of recording
  std::vector<int> base_;       // the memory behind a view
  std::vector<int> used_;       // by which operation last: count() by who asked
  std::vector<int> needed_;     // the same, views of it included
};

}  // namespace

int weight(const Recorded& node) {
  if (is_view(node.op) || node.op == Op::iota) return 0;
  return node.op != Op::pad ? 1 : bytes_of(node) <= kSmall ? 8 : 2;
}

std::uint64_t place_of(const Recorded& node) {
  std::uint64_t hash = mix(reinterpret_cast<std::uintptr_t>(node.where.file), node.where.line);
  hash = mix(hash, static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype));
  // Not the sizes: a stencil uses up its margin. But a part at the edge is another place than one in the midst.
  std::uint64_t zeros = node.shape.size();
  for (const std::int64_t number : node.ints) zeros = zeros << 1 | (number == 0);
  return mix(hash, zeros);
}

Rounds find_rounds(std::span<const Pending> operations) { return Timeline(operations).rounds(); }

}  // namespace sinter::trace
