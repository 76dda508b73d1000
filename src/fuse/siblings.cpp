#include "fuse/siblings.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "fuse/align.hpp"
#include "fuse/costs.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

class Siblings {
 public:
  Siblings(GroupBuilder& builder, std::vector<Group>& groups)
      : builder_(builder),
        context_(builder.context()),
        graph_(*context_.graph),
        groups_(groups),
        tries_(groups.size()),
        level_(graph_.nodes.size()),
        joined_(graph_.nodes.size(), -1) {}

  void run(const std::vector<FixedStep>& calls) {
    if (groups_.size() < kManySiblings) return;
    for (auto& family : families(calls))
      if (family.size() >= kManySiblings && !std::all_of(family.begin(), family.end(), [&](std::size_t g) { return groups_[g].settled; }))
        join(std::move(family));
    std::erase_if(groups_, [](const Group& group) { return group.requests.empty(); });
  }

 private:
  int writes(std::size_t g) const { return groups_[g].requests[0].node; }

  // Returns families: groups of one level, over equal axes, that common inputs connect. Each is in the order of the nodes that its groups write.
  std::vector<std::vector<std::size_t>> families(const std::vector<FixedStep>& calls) {
    const std::vector<int> steps = step_order(graph_, groups_, calls);
    std::vector<std::size_t> head(groups_.size());
    std::iota(head.begin(), head.end(), std::size_t{0});
    const auto find = [&](std::size_t g) {
      while (head[g] != g) g = head[g] = head[head[g]];
      return g;
    };
    std::map<std::vector<std::pair<const SizeNode*, std::int64_t>>, int> known_axes;
    std::map<std::tuple<int, int, int>, std::size_t> readers;  // (level, axes, node) -> one of the groups that read it
    for (const int step : steps) {
      int before = 0;
      if (step < 0) {
        const FixedStep& call = calls[static_cast<std::size_t>(-1 - step)];
        for (int read : call.reads) before = std::max(before, level_[read]);
        level_[call.writes] = before + 1;
        continue;
      }
      const Group& group = groups_[static_cast<std::size_t>(step)];
      each_read(group, [&](int read) { before = std::max(before, level_[read]); });
      for (const auto& root : group.kernel.roots) level_[root.node] = before + 1;
      if (group.kernel.chunks.length != 0 || !group.kernel.checks.empty()) continue;
      std::vector<std::pair<const SizeNode*, std::int64_t>> sizes{{nullptr, group.kernel.parallel}};
      for (const auto& size : group.kernel.sizes) sizes.push_back({size.node(), size.hint()});
      const int axes = known_axes.try_emplace(std::move(sizes), static_cast<int>(known_axes.size())).first->second;
      each_read(group, [&](int read) {
        const auto [reader, fresh] = readers.try_emplace({before + 1, axes, read}, static_cast<std::size_t>(step));
        if (!fresh) head[find(static_cast<std::size_t>(step))] = find(reader->second);
      });
    }
    std::map<std::size_t, std::size_t> place;
    std::vector<std::vector<std::size_t>> all;
    for (const int step : steps) {
      if (step < 0) continue;
      const auto [found, fresh] = place.try_emplace(find(static_cast<std::size_t>(step)), all.size());
      if (fresh) all.emplace_back();
      all[found->second].push_back(static_cast<std::size_t>(step));
    }
    return all;
  }

  // Builds kernels, each of as many members as fit.
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

  // Adds a node that the host accesses. One position per node is enough to align other groups that access it.
  void touched(Group& host, int node, Map at) const {
    if (std::none_of(host.touches.begin(), host.touches.end(), [&](const Touch& touch) { return touch.node == node; }))
      host.touches.push_back({node, std::move(at)});
  }

  // Builds one kernel of the members in [first, last). If the kernel would be split or would cost more than the members, builds one kernel of each half.
  void build(const Group& host, const std::vector<std::size_t>& members, const std::vector<std::vector<Request>>& requests, std::size_t first,
             std::size_t last) {
    if (last - first < 2) return;
    std::vector<Request> all;
    double seconds = 0;
    for (std::size_t k = first; k < last; ++k) {
      all.insert(all.end(), requests[k].begin(), requests[k].end());
      seconds += launched_seconds(graph_, groups_[members[k]].kernel, *context_.limits);
    }
    Built built = builder_.build(std::move(all), host.kernel.sizes, host.kernel.parallel, host.kernel.chunks);
    // More values may have become materialised since a member was built; they must be computed before the family's turn.
    bool waits = false;
    each_read(built.group, [&](int read) { waits |= level_[read] >= level_[writes(members[first])]; });
    if (waits || !built.needed.empty() || launched_seconds(graph_, built.group.kernel, *context_.limits) > seconds) {
      const std::size_t half = first + (last - first) / 2;
      build(host, members, requests, first, half);
      build(host, members, requests, half, last);
      return;
    }
    built.group.kernel.boundary = groups_[members[last - 1]].kernel.boundary;
    for (std::size_t k = first; k + 1 < last; ++k) groups_[members[k]] = {};
    groups_[members[last - 1]] = std::move(built.group);
  }

  GroupBuilder& builder_;
  const BuildContext& context_;
  const Graph& graph_;
  std::vector<Group>& groups_;
  std::vector<int> tries_;   // for each group
  std::vector<int> level_;   // for each written node: the number of consecutive steps up to it
  std::vector<int> joined_;  // for each node: the last kernel that was built to compute it
  int round_ = 0;
};

}  // namespace

void join_siblings(GroupBuilder& builder, const std::vector<FixedStep>& calls, std::vector<Group>& groups) { Siblings(builder, groups).run(calls); }

}  // namespace sinter::fuse
