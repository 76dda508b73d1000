#include "fuse/merge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/hash.hpp"
#include "fuse/align.hpp"
#include "fuse/arrange.hpp"
#include "fuse/costs.hpp"
#include "fuse/siblings.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

// Split reasons which mean that one kernel would exceed a limit; a merge would undo these splits.
bool stays_split(SplitReason reason) {
  switch (reason) {
    case SplitReason::registers:
    case SplitReason::shared_memory:
    case SplitReason::row_too_long:
    case SplitReason::parameters:
    case SplitReason::measured_spill:
    case SplitReason::fuse_off: return true;
    default: return false;
  }
}

struct PairHash {
  std::size_t operator()(std::uint64_t pair) const { return mix(0, pair); }
};

// The last groups that read a node, the latest first, among those that were examined; -1: none.
struct Latest : std::array<int, kMaxReaders> {
  Latest() { fill(-1); }
};

class Merger {
 public:
  Merger(const MergeContext& context, std::vector<Group>& groups)
      : context_(context),
        graph_(*context.builder->context().graph),
        limits_(*context.builder->context().limits),
        groups_(groups),
        writer_(graph_.nodes.size(), -1),
        first_reader_(graph_.nodes.size(), -1),
        latest_(graph_.nodes.size()) {
    const int count = static_cast<int>(groups.size() + context.calls->size());
    units_.resize(count);
    for (int u = 0; u < count; ++u) {
      Unit& unit = units_[u];
      if (is_group(u)) {
        describe(u);
      } else {
        const FixedStep& call = (*context.calls)[u - groups.size()];
        unit.reads = sorted(call.reads);
        unit.writes = {call.writes};
      }
      for (int node : unit.writes) writer_[node] = u;
    }
    for (int u = 0; u < count; ++u)
      for (int node : units_[u].reads) add_reader(node, u);
    number();
  }

  void run() {
    std::vector<int> order;
    for (const auto& [label, unit] : order_) order.push_back(unit);
    merge_all(order);
    within_ = true;  // comes later, because a kernel over equal points needs no guards
    tried_.clear();
    merge_all(order);
    within_ = false;
    if (limits_.joins_short_kernels) join_beside(order);
    std::vector<Group> left;
    for (int u = 0; u < static_cast<int>(groups_.size()); ++u)
      if (units_[u].into < 0) left.push_back(std::move(groups_[u]));
    groups_ = std::move(left);
  }

 private:
  struct Unit {
    std::vector<int> reads, writes;  // nodes, sorted
    std::vector<int> ops;            // nodes computed, sorted
    bool reads_node(int node) const { return std::binary_search(reads.begin(), reads.end(), node); }
    std::int64_t label = 0;       // its position in a valid order
    mutable int into = -1;        // a unit towards the one into which this unit was merged (union-find)
    mutable double seconds = -1;  // time of its kernel; -1: not known yet
  };

  static std::vector<int> sorted(std::vector<int> nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    return nodes;
  }

  bool is_group(int u) const { return u < static_cast<int>(groups_.size()); }

  int find(int u) const {
    while (units_[u].into >= 0) {
      if (const int next = units_[units_[u].into].into; next >= 0) units_[u].into = next;  // shortens the path for the next search
      u = units_[u].into;
    }
    return u;
  }

  void describe(int u) {
    std::vector<int> reads, writes, ops;
    for (const auto& value : groups_[u].kernel.values) {
      if (value.kind == Value::Kind::load) reads.push_back(value.node);
      if (computes_node(value)) ops.push_back(value.node);
    }
    for (const auto& root : groups_[u].kernel.roots) writes.push_back(root.node);
    Unit& unit = units_[u];
    unit.reads = sorted(std::move(reads));
    unit.writes = sorted(std::move(writes));
    std::sort(ops.begin(), ops.end());
    unit.ops = std::move(ops);
    unit.seconds = -1;
  }

  void add_reader(int node, int unit) {
    readers_.push_back({unit, first_reader_[node]});
    first_reader_[node] = static_cast<int>(readers_.size()) - 1;
  }

  // Visits successors until the visitor returns false. A unit that reads several of this unit's nodes is visited several times.
  template <class Visit> void each_successor(int u, Visit visit) const {
    for (int node : units_[u].writes)
      for (int at = first_reader_[node]; at >= 0; at = readers_[at].next)
        if (const int r = find(readers_[at].unit); r != u && !visit(r)) return;
  }

  // ---- a valid order of the units, maintained while they merge ----------------------------------------------------------------

  static constexpr std::int64_t kGap = std::int64_t{1} << 20;

  void number() {
    const int count = static_cast<int>(units_.size());
    std::vector<int> waits(count);
    std::set<std::pair<int, int>> ready;  // ordered by the first node that they write, so that the order is the same every time
    const auto rank = [&](int u) { return std::pair(units_[u].writes.front(), u); };
    for (int u = 0; u < count; ++u) {
      for (int node : units_[u].reads) waits[u] += writer_[node] >= 0;
      if (waits[u] == 0) ready.insert(rank(u));
    }
    std::int64_t label = 0;
    while (!ready.empty()) {
      const int u = ready.begin()->second;
      ready.erase(ready.begin());
      put(u, label += kGap);
      each_successor(u, [&](int reader) {
        if (--waits[reader] == 0) ready.insert(rank(reader));
        return true;
      });
    }
    if (static_cast<int>(order_.size()) != count) throw InternalError("scheduler: the steps depend on each other in a circle");
  }

  void put(int u, std::int64_t label) {
    units_[u].label = label;
    order_[label] = u;
  }

  // Returns the units between a and b in the order that depend on a, by increasing labels. Returns nothing if b depends on one of them, or if finding out takes
  // too long.
  std::optional<std::vector<int>> between(int a, int b) const {
    std::vector<int> found, stack{a};
    std::set<int> seen{a};
    bool circle = false;
    int reads = 0;
    while (!stack.empty() && !circle) {
      const int at = stack.back();
      stack.pop_back();
      each_successor(at, [&](int next) {
        if (++reads > kMaxReads) return false;
        if (next == b) circle |= at != a;
        else if (units_[next].label < units_[b].label && seen.insert(next).second) {
          found.push_back(next);
          stack.push_back(next);
        }
        return true;
      });
      if (reads > kMaxReads || static_cast<int>(found.size()) > kMaxBetween) return std::nullopt;
    }
    if (circle) return std::nullopt;
    std::sort(found.begin(), found.end(), [&](int x, int y) { return units_[x].label < units_[y].label; });
    return found;
  }

  // Moves the units to the positions directly after b.
  void move_behind(int b, const std::vector<int>& units) {
    if (units.empty()) return;
    for (int u : units) order_.erase(units_[u].label);
    const auto next = order_.upper_bound(units_[b].label);
    const auto count = static_cast<std::int64_t>(units.size());
    const std::int64_t end = next == order_.end() ? units_[b].label + (count + 1) * kGap : next->first;
    std::int64_t step = (end - units_[b].label) / (count + 1);
    if (step == 0) {  // if there is no room, all units get new labels
      std::vector<int> all;
      for (const auto& [label, u] : order_) {
        all.push_back(u);
        if (u == b) all.insert(all.end(), units.begin(), units.end());
      }
      order_.clear();
      std::int64_t label = 0;
      for (int u : all) put(u, label += kGap);
      return;
    }
    std::int64_t label = units_[b].label;
    for (int u : units) put(u, label += step);
  }

  // ---- merging --------------------------------------------------------------------------------------------------------------

  void merge_all(const std::vector<int>& order) {
    for (int u : order) {
      if (!is_group(u) || units_[u].into >= 0) continue;
      merge_into_earlier(u);
      const int now = find(u);
      for (int node : units_[now].reads) {
        Latest seen;
        std::size_t count = 0;
        seen[count++] = now;
        for (int s : latest_[node])
          if (s >= 0 && count < seen.size() && find(s) != now) seen[count++] = s;
        latest_[node] = seen;
      }
    }
  }

  void merge_into_earlier(int u) {
    int failures = 0;
    for (bool merged = true; merged && failures < kMaxFailures;) {
      merged = false;
      std::vector<int> others;
      const auto consider = [&](int other) {
        other = find(other);
        if (other != u && is_group(other) && std::find(others.begin(), others.end(), other) == others.end()) others.push_back(other);
      };
      for (int node : units_[u].reads)
        if (writer_[node] >= 0) consider(writer_[node]);
      for (int node : units_[u].reads)
        for (int seen : latest_[node])
          if (seen >= 0) consider(seen);
      // Units that depend on the same kernel may be merged even if they read nothing in common, which saves a launch (is_short).
      if (limits_.joins_short_kernels)
        for (int node : units_[u].reads)
          if (writer_[node] >= 0)
            for (int beside : units_[find(writer_[node])].writes)
              for (int seen : latest_[beside])
                if (seen >= 0) consider(seen);
      std::erase_if(others, [&](int other) { return tried_.contains(pair_of(u, other)); });
      for (int other : others) {
        const bool earlier = units_[other].label < units_[u].label;
        if (try_merge(earlier ? other : u, earlier ? u : other)) {
          u = find(u);
          merged = true;
          break;
        }
        tried_.insert(pair_of(u, other));
        if (++failures >= kMaxFailures) break;
      }
    }
  }

  // Merges kernels over equal axes even if they have nothing in common, which saves launches (goes_beside). This is done last, because such a kernel depends on
  // everything on which either of its parts depends.
  void join_beside(const std::vector<int>& order) {
    std::map<std::vector<std::int64_t>, Latest> latest;  // groups by their axes
    for (const int first : order) {
      if (!is_group(first) || units_[first].into >= 0) continue;
      const Kernel& kernel = groups_[first].kernel;
      std::vector<std::int64_t> axes{kernel.parallel, kernel.chunks.length.hint(), kernel.chunks.total.hint()};
      for (const Size& size : kernel.sizes) axes.push_back(size.hint());
      Latest& seen = latest[axes];
      int u = first;
      for (const int other : seen) {
        const int now = other < 0 ? u : find(other);
        if (now == u || !goes_beside(u, now)) continue;
        const bool earlier = units_[now].label < units_[u].label;
        if (try_merge(earlier ? now : u, earlier ? u : now, true)) u = find(u);
      }
      std::rotate(seen.begin(), seen.end() - 1, seen.end());
      seen.front() = u;
    }
  }

  static std::uint64_t pair_of(int u, int v) { return static_cast<std::uint64_t>(std::min(u, v)) << 32 | static_cast<std::uint32_t>(std::max(u, v)); }

  // `beside`: they may have nothing in common.
  bool try_merge(int a, int b, bool beside = false) {
    const Group &x = groups_[a], &y = groups_[b];
    if (x.settled && y.settled) return false;
    const auto stored = [&](int node) { return (*context_.wanted)[node] || read_by_others(node, a, b); };
    if (within_ && !may_lie_within(x.kernel, y.kernel)) return false;
    // Such a value would only be computed by its reader, which is too large with it.
    if (within_ && x.kernel.boundary.reason == SplitReason::kernel_size && std::none_of(units_[a].writes.begin(), units_[a].writes.end(), stored)) return false;
    std::vector<int> ops;
    std::set_union(units_[a].ops.begin(), units_[a].ops.end(), units_[b].ops.begin(), units_[b].ops.end(), std::back_inserter(ops));
    const int max_ops = context_.builder->context().max_ops;
    if (static_cast<int>(ops.size()) > max_ops)
      return refuse(x, y, {SplitReason::kernel_size, fmt::format("one kernel would have {} operations; the limit is {}", ops.size(), max_ops)});
    if (stays_split(x.kernel.boundary.reason))
      for (const auto& root : x.kernel.roots)
        if (units_[b].reads_node(root.node)) return refuse(x, y, x.kernel.boundary);
    const bool rows_in_x = x.kernel.row_axes() > 0, rows_in_y = y.kernel.row_axes() > 0;
    const Group* host = nullptr;
    std::optional<Aligned> aligned;
    const auto attempt = [&](auto by) {
      host = rows_in_x || !rows_in_y ? &x : &y;
      aligned = by(graph_, *host, host == &x ? y : x);
      if (!aligned && rows_in_x == rows_in_y) aligned = by(graph_, *(host = &y), x);
    };
    if (within_) attempt(align_within);
    else attempt(align);
    if (!aligned && !within_ && (beside || (limits_.joins_short_kernels && is_short(a) && is_short(b)))) aligned = align_beside(graph_, x, y), host = &x;
    if (!aligned && within_) return false;  // the refusal of the same points is known
    if (!aligned) return refuse(x, y, {SplitReason::other_points, fmt::format("{} against {}", points_of(x), points_of(y))});
    const auto moved = between(a, b);
    if (!moved)
      return refuse(x, y, {SplitReason::order, "another step lies between them: it reads a result of the first step, and the second step reads its result"});

    // A value that only these two units used does not have to be stored any more.
    std::vector<Request> requests;
    std::vector<int> hidden;
    std::vector<Request> all = aligned->host ? std::move(*aligned->host) : host->requests;
    std::move(aligned->guest.begin(), aligned->guest.end(), std::back_inserter(all));
    for (auto& request : all) {
      if (std::any_of(requests.begin(), requests.end(), [&](const Request& r) { return r.node == request.node; })) continue;
      if (stored(request.node)) requests.push_back(std::move(request));
      else hidden.push_back(request.node);
    }
    for (int node : hidden) (*context_.in_memory)[node] = 0;
    if (std::none_of(requests.begin(), requests.end(), [](const Request& request) { return request.part == 0; })) requests.clear();
    Built built = requests.empty() ? Built{} : context_.builder->build(std::move(requests), aligned->sizes, aligned->parallel, aligned->chunks);
    std::optional<double> seconds;
    Boundary why{SplitReason::other_points, "one kernel would store no value at all of its points"};
    if (!built.needed.empty()) why = built.needed.front().boundary;
    else if (!built.group.requests.empty()) seconds = seconds_if_better(built.group, a, b, *moved, why);
    if (!seconds) {
      for (int node : hidden) (*context_.in_memory)[node] = 1;
      return refuse(x, y, std::move(why));
    }
    for (int node : hidden) writer_[node] = -1;
    built.group.kernel.boundary = y.kernel.boundary;
    groups_[b] = std::move(built.group);
    groups_[a] = {};
    units_[a].into = b;
    order_.erase(units_[a].label);
    describe(b);
    units_[b].seconds = *seconds;
    for (int node : units_[b].writes) writer_[node] = b;
    for (int node : units_[b].reads) add_reader(node, b);
    move_behind(b, *moved);
    return true;
  }

  /// Records a merge that is not made, and returns false.
  bool refuse(const Group& x, const Group& y, Boundary why) const {
    context_.refused->push_back({x.kernel.roots.front().node, y.kernel.roots.front().node, std::move(why)});
    return false;
  }
  /// Returns a text such as "(64,) rows of (1024,) along axis 1 of (64, 1024)".
  std::string points_of(const Group& group) const {
    const auto begin = group.kernel.sizes.begin(), rows = begin + group.kernel.parallel;
    const std::string points = to_string(Sizes(begin, rows));
    if (group.kernel.row_axes() == 0) return points + " points";
    std::string text = fmt::format("{} rows of {}", points, to_string(Sizes(rows, group.kernel.sizes.end())));
    for (const Value& value : group.kernel.values) {
      if (value.kind == Value::Kind::load || value.node < 0) continue;
      const Node& node = graph_.nodes[value.node];
      if (!trace::is_reduction(node.op) && node.op != trace::Op::scan) continue;
      const std::vector<int> axes = trace::is_reduction(node.op) ? node.axes() : std::vector<int>{node.axis(0)};
      return fmt::format("{} along {} {} of {}", text, axes.size() == 1 ? "axis" : "axes", fmt::join(axes, ", "),
                         to_string(graph_.nodes[node.inputs[0]].shape));
    }
    return text;
  }

  bool read_by_others(int node, int a, int b) const {
    int looked_at = 0;
    for (int at = first_reader_[node]; at >= 0; at = readers_[at].next) {
      if (++looked_at > kMaxReads) return true;  // another unit probably reads it, and storing it is never wrong
      if (const int r = find(readers_[at].unit); r != a && r != b && units_[r].reads_node(node)) return true;
    }
    return false;
  }

  // Returns the merged kernel's time if the merge is valid and faster. A merge is valid if each value that the merged kernel reads is written by an earlier
  // step that does not depend on the merged kernel and does not move behind it.
  std::optional<double> seconds_if_better(const Group& merged, int a, int b, const std::vector<int>& moved, Boundary& why) const {
    why = {SplitReason::order, "one kernel would need a value that it computes itself, or that a later step writes"};
    for (const auto& value : merged.kernel.values) {
      if (value.kind != Value::Kind::load) continue;
      if (std::any_of(merged.kernel.roots.begin(), merged.kernel.roots.end(), [&](const Root& r) { return r.node == value.node; })) return std::nullopt;
      if (graph_.nodes[value.node].op == trace::Op::data || units_[a].reads_node(value.node) || units_[b].reads_node(value.node)) continue;
      if (writer_[value.node] < 0) return std::nullopt;
      const int w = find(writer_[value.node]);
      if (w == a || w == b || units_[w].label > units_[b].label || std::find(moved.begin(), moved.end(), w) != moved.end()) return std::nullopt;
    }
    const double seconds = launched_seconds(graph_, merged.kernel, limits_);
    if (seconds <= seconds_of(a) + seconds_of(b)) return seconds;
    why = {SplitReason::slower,
           fmt::format("one kernel would take {:.1f} us; the two take {:.1f} us and {:.1f} us", seconds * 1e6, seconds_of(a) * 1e6, seconds_of(b) * 1e6)};
    return std::nullopt;
  }

  // Returns whether two kernels over equal axes should be one launch, whatever they read: short kernels, and reductions over the same axes that stage nothing.
  bool goes_beside(int a, int b) const {
    if (is_short(a) && is_short(b)) return true;
    const Kernel &x = groups_[a].kernel, &y = groups_[b].kernel;
    if (x.row_axes() == 0 || y.row_axes() == 0 || !x.staged.empty() || !y.staged.empty()) return false;
    Kernel as_x = x, as_y = y;
    return arrange(graph_, as_x, limits_) == arrange(graph_, as_y, limits_) && as_x.sizes.size() == as_y.sizes.size() &&
           lanes_along_rows(graph_, as_x, limits_) == lanes_along_rows(graph_, as_y, limits_);
  }

  // Returns whether a kernel ends about when the next one could be launched.
  bool is_short(int u) const { return seconds_of(u) <= 2 * limits_.launch_seconds; }
  double seconds_of(int u) const {
    double& seconds = units_[u].seconds;
    if (seconds < 0) seconds = launched_seconds(graph_, groups_[u].kernel, limits_);
    return seconds;
  }

  const MergeContext& context_;
  const Graph& graph_;
  const Limits& limits_;
  std::vector<Group>& groups_;
  std::vector<Unit> units_;  // groups, then library calls
  std::vector<int> writer_;  // node -> unit
  struct Reader {
    int unit, next;
  };  // some of these may have been merged; -1: no further one
  std::vector<int> first_reader_;  // for each node
  std::vector<Reader> readers_;
  std::vector<Latest> latest_;                     // for each node
  std::map<std::int64_t, int> order_;              // label -> unit
  tsl::robin_set<std::uint64_t, PairHash> tried_;  // pairs of units
  bool within_ = false;                            // groups are merged whose points lie within those of others
};

}  // namespace

void merge_groups(const MergeContext& context, std::vector<Group>& groups) {
  join_siblings(*context.builder, *context.calls, groups);
  Merger(context, groups).run();
}

}  // namespace sinter::fuse
