#include "fuse/siblings.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

#include "fuse/align.hpp"

namespace sinter::fuse {
namespace {

// Smaller families are merged two by two, where each step is weighed on its own.
constexpr std::size_t kMany = 8;
// A sibling that finds nothing in common with those before it is tried again with the next ones, so often.
constexpr int kMaxTries = 3;

class Siblings {
 public:
  Siblings(GroupBuilder& builder, std::vector<Group>& groups)
      : builder_(builder), context_(builder.context()), graph_(*context_.graph), groups_(groups), tries_(groups.size()), level_(graph_.nodes.size()), joined_(graph_.nodes.size(), -1) {}

  void run(const std::vector<FixedStep>& calls) {
    if (groups_.size() < kMany) return;
    for (auto& family : families(calls))
      if (family.size() >= kMany && !std::all_of(family.begin(), family.end(), [&](std::size_t g) { return groups_[g].settled; })) join(std::move(family));
    std::erase_if(groups_, [](const Group& group) { return group.requests.empty(); });
  }

 private:
  int writes(std::size_t g) const { return groups_[g].requests[0].node; }

  template <class Visit> static void each_read(const Group& group, Visit visit) {
    for (const auto& value : group.kernel.values)
      if (value.kind == Value::Kind::load) visit(value.node);
  }

  // The first node that each step writes, and its group; of calls -1 less their number. Groups that were merged before write several nodes, so that the nodes'
  // numbers are no order of the steps.
  std::vector<std::pair<int, int>> in_order(const std::vector<FixedStep>& calls) const {
    std::vector<std::pair<int, int>> steps;
    for (std::size_t g = 0; g < groups_.size(); ++g) steps.push_back({writes(g), static_cast<int>(g)});
    for (std::size_t c = 0; c < calls.size(); ++c) steps.push_back({calls[c].writes, -1 - static_cast<int>(c)});
    std::sort(steps.begin(), steps.end());
    std::vector<int> writer(graph_.nodes.size(), -1), waits(steps.size());
    const auto number = [](std::size_t s) { return static_cast<int>(s); };
    for (std::size_t s = 0; s < steps.size(); ++s) {
      writer[steps[s].first] = number(s);
      if (steps[s].second >= 0)
        for (const Request& request : groups_[static_cast<std::size_t>(steps[s].second)].requests) writer[request.node] = number(s);
    }
    std::vector<std::vector<int>> readers(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const auto reads = [&](int node) {
        if (writer[node] < 0 || writer[node] == number(s)) return;
        readers[static_cast<std::size_t>(writer[node])].push_back(number(s));
        ++waits[s];
      };
      if (const int step = steps[s].second; step >= 0) each_read(groups_[static_cast<std::size_t>(step)], reads);
      else std::for_each(calls[static_cast<std::size_t>(-1 - step)].reads.begin(), calls[static_cast<std::size_t>(-1 - step)].reads.end(), reads);
    }
    std::vector<std::pair<int, int>> sorted;
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (std::size_t s = 0; s < steps.size(); ++s)
      if (waits[s] == 0) ready.push(number(s));
    while (!ready.empty()) {
      const auto s = static_cast<std::size_t>(ready.top());
      ready.pop();
      sorted.push_back(steps[s]);
      for (int reader : readers[s])
        if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
    }
    return sorted;
  }

  // Groups of one level, over equal axes, that are linked by what they read; each in the order of what it writes.
  std::vector<std::vector<std::size_t>> families(const std::vector<FixedStep>& calls) {
    const std::vector<std::pair<int, int>> steps = in_order(calls);
    std::vector<std::size_t> head(groups_.size());
    std::iota(head.begin(), head.end(), std::size_t{0});
    const auto find = [&](std::size_t g) {
      while (head[g] != g) g = head[g] = head[head[g]];
      return g;
    };
    std::map<std::vector<std::pair<const SizeNode*, std::int64_t>>, int> known_axes;
    std::map<std::tuple<int, int, int>, std::size_t> readers;  // (level, axes, node) -> one of those that read it
    for (const auto& [node, step] : steps) {
      int before = 0;
      if (step < 0) {
        for (int read : calls[static_cast<std::size_t>(-1 - step)].reads) before = std::max(before, level_[read]);
        level_[node] = before + 1;
        continue;
      }
      const Group& group = groups_[static_cast<std::size_t>(step)];
      each_read(group, [&](int read) { before = std::max(before, level_[read]); });
      for (const Request& request : group.requests) level_[request.node] = before + 1;
      if (group.kernel.chunks.length != 0 || !group.kernel.checks.empty()) continue;
      std::vector<std::pair<const SizeNode*, std::int64_t>> sizes{{nullptr, group.kernel.parallel}};
      for (const auto& size : group.kernel.sizes) sizes.push_back({size.node(), size.hint()});
      const int axes = known_axes.try_emplace(std::move(sizes), static_cast<int>(known_axes.size())).first->second;
      each_read(group, [&](int read) {
        const auto [reader, fresh] = readers.try_emplace({level_[node], axes, read}, static_cast<std::size_t>(step));
        if (!fresh) head[find(static_cast<std::size_t>(step))] = find(reader->second);
      });
    }
    std::map<std::size_t, std::size_t> place;
    std::vector<std::vector<std::size_t>> all;
    for (const auto& [node, step] : steps) {
      if (step < 0) continue;
      const auto [found, fresh] = place.try_emplace(find(static_cast<std::size_t>(step)), all.size());
      if (fresh) all.emplace_back();
      all[found->second].push_back(static_cast<std::size_t>(step));
    }
    return all;
  }

  // Kernels of as many as fit.
  void join(std::vector<std::size_t> family) {
    while (family.size() > 1) {
      Group host;
      host.kernel.sizes = groups_[family[0]].kernel.sizes;
      host.kernel.parallel = groups_[family[0]].kernel.parallel;
      std::vector<std::size_t> members, left;
      std::vector<std::vector<Request>> requests;
      int ops = 0, bytes = 0;
      ++round_;
      std::size_t next = 0;
      for (; next < family.size(); ++next) {
        const Group& guest = groups_[family[next]];
        int more = 0;
        for (const auto& value : guest.kernel.values) more += computes_node(value) && joined_[value.node] != round_;
        const int parameters = parameter_bytes(guest.kernel);
        if (!members.empty() && (ops + more > context_.max_ops || bytes + parameters > context_.limits->parameter_bytes)) break;
        if (members.empty()) {
          requests.push_back(guest.requests);
          for (const auto& touch : guest.touches) touched(host, touch.node, touch.at);
        } else {
          auto aligned = align(graph_, host, guest);
          if (!aligned || aligned->host) {
            if (++tries_[family[next]] < kMaxTries) left.push_back(family[next]);
            continue;
          }
          for (const auto& touch : guest.touches) {
            Map at;
            for (const auto& dim : touch.at) at.push_back(substitute(dim, aligned->axes));
            touched(host, touch.node, std::move(at));
          }
          requests.push_back(std::move(aligned->guest));
        }
        for (const auto& value : guest.kernel.values)
          if (computes_node(value)) joined_[value.node] = round_;
        ops += more;
        bytes += parameters;
        members.push_back(family[next]);
      }
      build(host, members, requests, 0, members.size());
      left.insert(left.end(), family.begin() + static_cast<std::ptrdiff_t>(next), family.end());
      family = std::move(left);
    }
  }

  // A place for each node is enough to find the points of those that touch it too.
  void touched(Group& host, int node, Map at) const {
    if (std::none_of(host.touches.begin(), host.touches.end(), [&](const Touch& touch) { return touch.node == node; })) host.touches.push_back({node, std::move(at)});
  }

  // One kernel of the members in [first, last); if it would be cut or cost more than they do, one of each half.
  void build(const Group& host, const std::vector<std::size_t>& members, const std::vector<std::vector<Request>>& requests, std::size_t first, std::size_t last) {
    if (last - first < 2) return;
    std::vector<Request> all;
    double seconds = 0;
    for (std::size_t k = first; k < last; ++k) {
      all.insert(all.end(), requests[k].begin(), requests[k].end());
      seconds += launched_seconds(graph_, groups_[members[k]].kernel, *context_.limits);
    }
    Built built = builder_.build(std::move(all), host.kernel.sizes, host.kernel.parallel, host.kernel.chunks);
    // Since a member was built, more may have been put in memory: it must be there before the family's turn.
    bool waits = false;
    each_read(built.group, [&](int read) { waits |= level_[read] >= level_[writes(members[first])]; });
    if (waits || !built.needed.empty() || launched_seconds(graph_, built.group.kernel, *context_.limits) > seconds) {
      const std::size_t half = first + (last - first) / 2;
      build(host, members, requests, first, half);
      build(host, members, requests, half, last);
      return;
    }
    built.group.kernel.cut = groups_[members[last - 1]].kernel.cut;
    for (std::size_t k = first; k + 1 < last; ++k) groups_[members[k]] = {};
    groups_[members[last - 1]] = std::move(built.group);
  }

  GroupBuilder& builder_;
  const BuildContext& context_;
  const Graph& graph_;
  std::vector<Group>& groups_;
  std::vector<int> tries_;   // of a group
  std::vector<int> level_;   // of what is written: steps one after the other until it is
  std::vector<int> joined_;  // of a node: the last kernel that was to compute it
  int round_ = 0;
};

}  // namespace

void join_siblings(GroupBuilder& builder, const std::vector<FixedStep>& calls, std::vector<Group>& groups) { Siblings(builder, groups).run(calls); }

}  // namespace sinter::fuse
