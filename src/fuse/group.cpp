// Builds one group: from its roots down through everything that may be computed at the same points, pushing index maps through the
// views it meets, until it reaches memory. What cannot be computed here is read from memory, and is told to have to be there.
#include "fuse/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;

constexpr int kMaxSplits = 8;
// Distinct divisions and remainders of one element's index: beyond this, a copy through memory is cheaper than computing it.
constexpr int kMaxDivisions = 12;
// A value that costs less than this is computed again in a later pass; a slot costs about a store and a load.
constexpr double kKeepCost = 4;
// Nodes looked at for one that is better read from memory.
constexpr std::size_t kMaxCandidates = 48;

struct StartAgain {};

class Builder {
 public:
  Builder(const BuildContext& context, std::vector<Request> requests, Sizes sizes, int parallel)
      : context_(context), graph_(*context.graph), limits_(*context.limits), requests_(std::move(requests)) {
    kernel_.parallel = parallel;
    for (int axis = parallel; axis < static_cast<int>(sizes.size()); ++axis) {
      row_dims_.push_back(IndexExpr::of_axis(axis));
      row_shape_.push_back(sizes[axis]);
    }
    kernel_.sizes = std::move(sizes);
    for (const auto& request : requests_)
      if (const Node& node = graph_.nodes[request.node]; node.chunk > 0 && trace::is_reduction(node.op)) {
        // A chunk is counted along one row axis; cut in two, the last chunk's end would not be a bound of either part.
        chunked_ = true;
        kernel_.chunk = node.chunk;
        kernel_.chunk_total = graph_.nodes[node.inputs[0]].shape[static_cast<std::size_t>(node.axis(0))];
      }
  }

  Built run() {
    for (int splits = 0;;) {
      try {
        may_split_ = !chunked_ && splits < kMaxSplits;
        evaluate();
        break;
      } catch (const SplitAxis& split) {
        ++splits;
        const auto by = split_axis(kernel_.sizes, kernel_.parallel, split);
        for (auto& dim : row_dims_) dim = substitute(dim, by);
        for (auto& request : requests_)
          for (auto& dim : request.dims) dim = substitute(dim, by);
      } catch (const StartAgain&) {
      }
    }
    settle();
    return result();
  }

 private:
  struct MapInfo {
    Map map;
    bool row = false;
  };
  struct Place {
    int node, map;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct PlaceHash {
    std::size_t operator()(const Place& p) const { return static_cast<std::size_t>(p.node) * 0x9e3779b97f4a7c15u + static_cast<std::size_t>(p.map); }
  };

  int intern(Map map) {
    const auto [found, fresh] = map_ids_.try_emplace(map, static_cast<int>(maps_.size()));
    if (fresh) {
      MapInfo info;
      for (const auto& expr : map) info.row |= expr.axes() >> kernel_.parallel != 0;
      info.map = std::move(map);
      maps_.push_back(std::move(info));
    }
    return found->second;
  }

  // ---- from the roots down ------------------------------------------------------------------------------------------------

  void evaluate() {
    kernel_.values.clear();
    kernel_.roots.clear();
    places_.clear();
    memo_.clear();
    maps_.clear();
    map_ids_.clear();
    root_maps_.clear();
    occurrences_.clear();
    reasons_ = forced_;
    for (const auto& request : requests_) root_maps_[request.node] = intern(request.dims);
    for (const auto& request : requests_) {
      const int value = eval(request.node, root_maps_[request.node]);
      kernel_.roots.push_back({request.node, value, linear(request.dims, graph_.nodes[request.node].shape)});
    }
  }

  int add(Value value, int map) {
    kernel_.values.push_back(std::move(value));
    places_.push_back(map);
    return static_cast<int>(kernel_.values.size()) - 1;
  }

  int need(int id, int map, CutReason reason, std::string detail) {
    reasons_.try_emplace(id, Cut{reason, std::move(detail)});
    return load(id, map);
  }

  bool computed_here(int id, int map) const {
    const auto root = root_maps_.find(id);
    return root != root_maps_.end() && root->second == map;
  }

  bool read_from_memory(int id, int map) const {
    if (computed_here(id, map)) return false;
    return graph_.nodes[id].op == Op::data || (*context_.in_memory)[id] || root_maps_.count(id) || reasons_.count(id);
  }

  // Views are passed in a loop: a chain of them may be as long as the graph. Ops recurse: a kernel holds a bounded number.
  int eval(int id, int map) {
    const Place start{id, map};
    if (auto found = memo_.find(start); found != memo_.end()) return found->second;
    bool spread = false;  // below a broadcast
    while (trace::is_view(graph_.nodes[id].op) && !read_from_memory(id, map)) {
      const Node& view = graph_.nodes[id];
      const int input = view.inputs[0];
      const int below = intern(through(view, graph_.nodes[input].shape, maps_[map].map, kernel_.sizes, may_split_));
      if (const int count = divisions(maps_[below].map); count > kMaxDivisions && !computed_here(id, map)) {
        reasons_.try_emplace(id, Cut{CutReason::index_expression,
                                     fmt::format("reading through it would take {} divisions for each element against a limit of {}", count,
                                                 kMaxDivisions)});
        break;
      }
      spread |= view.op == Op::broadcast;
      id = input;
      map = below;
    }
    const Place place{id, map};
    int value = -1;
    if (graph_.nodes[id].op == Op::constant) {  // one parameter per use: equal literals must not change the structure
      const Node& node = graph_.nodes[id];
      value = add({Value::Kind::scalar, node.op, node.dtype, node.dtype, {-1, -1, -1}, id}, map);
      if (place == start) return value;
    } else if (auto found = memo_.find(place); found != memo_.end()) {
      value = found->second;
    } else {
      value = compute(id, map);
      if (spread) value = with_epilogue(id, map, value);
      memo_[place] = value;
    }
    memo_[start] = value;
    return value;
  }

  // A reduction that has to be in memory takes with it what is computed from it element by element before it is spread again: the
  // same bytes, and no kernel for the epilogue alone.
  int with_epilogue(int id, int map, int value) {
    const Node& epilogue = graph_.nodes[id];
    if (reasons_.empty() || kernel_.values[value].kind != Value::Kind::op || computed_here(id, map)) return value;
    std::vector<int> stack{value};
    std::vector<char> seen(kernel_.values.size());
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v]) continue;
      seen[v] = 1;
      const Value& below = kernel_.values[v];
      const auto reason = below.kind == Value::Kind::load ? reasons_.find(below.node) : reasons_.end();
      if (reason != reasons_.end() && reason->second.reason == CutReason::reduction_dependency && trace::is_reduction(graph_.nodes[below.node].op) &&
          element_count(epilogue.shape) == element_count(graph_.nodes[below.node].shape))
        return need(id, map, CutReason::reduction_dependency, reason->second.detail);
      for (int arg : below.args) stack.push_back(arg);
    }
    return value;
  }

  int compute(int id, int map) {
    const Node& node = graph_.nodes[id];
    if (read_from_memory(id, map)) return load(id, map);
    if (trace::is_reduction(node.op)) return reduction(id, map);
    switch (node.op) {
      case Op::iota: {
        Value value{Value::Kind::index, node.op, node.dtype, node.dtype, {-1, -1, -1}, id, maps_[map].map[0]};
        value.row = maps_[map].row;
        value.cost = 1;
        return add(std::move(value), map);
      }
      case Op::contiguous:
        if (!computed_here(id, map)) return need(id, map, CutReason::contiguous_copy, "a contiguous copy was asked for");
        return eval(node.inputs[0], map);
      default:
        if (trace::is_library(node.op)) return need(id, map, CutReason::library_call, fmt::format("{} gives its result in memory", trace::name(node.op)));
        return elementwise(id, map);
    }
  }

  void make_load(Value& value, int id, int map) const {
    const Node& node = graph_.nodes[id];
    value = {Value::Kind::load, node.op, node.dtype, node.dtype, {-1, -1, -1}, id, linear(maps_[map].map, node.shape)};
    value.row = maps_[map].row;
    value.cost = limits_.is_cuda() ? 6 : 1;  // the memory behind it: a CPU re-reads a row from L2, a GPU from far away
  }

  int load(int id, int map) {
    Value value;
    make_load(value, id, map);
    return add(std::move(value), map);
  }

  int elementwise(int id, int map) {
    const Node& node = graph_.nodes[id];
    // A node met under several maps (a stencil over a computed value) is computed once per map, which may grow without end.
    if (++occurrences_[id] > 1 && static_cast<int>(kernel_.values.size()) > 8 * context_.max_ops) {
      forced_.try_emplace(id, Cut{CutReason::recompute_cost,
                                   fmt::format("{} is needed at many offsets, and the kernel would hold more than {} ops", trace::name(node.op),
                                               4 * context_.max_ops)});
      throw StartAgain{};
    }
    Value value{Value::Kind::op, node.op, node.dtype, graph_.nodes[node.inputs.back()].dtype, {-1, -1, -1}, id};
    value.cost = trace::primitive(node.op).cost;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const int arg = eval(node.inputs[k], map);
      value.args[k] = arg;
      value.row |= kernel_.values[arg].row;
      value.ready = std::max(value.ready, kernel_.values[arg].ready);
    }
    return add(std::move(value), map);
  }

  int reduction(int id, int map) {
    const Node& node = graph_.nodes[id];
    const Node& input = graph_.nodes[node.inputs[0]];
    Sizes reduced;
    Size extent = 1;
    for (int axis : node.axes()) {
      reduced.push_back(input.shape[axis]);
      extent = extent * input.shape[axis];
    }
    Map inner(input.shape.size());
    if (node.chunk > 0) {
      if (!computed_here(id, map)) return need(id, map, CutReason::parallelism, two_stage_detail(graph_, node));
      const Map& outer = maps_[map].map;
      std::size_t kept = 0;
      for (std::size_t k = 0; k < input.shape.size(); ++k)
        inner[k] = static_cast<int>(k) == node.axis(0) ? outer.back() * node.chunk + row_dims_.back() : outer[kept++];
    } else {
      if (maps_[map].row)
        return need(id, map, CutReason::reduction_dependency,
                    fmt::format("{} over {} is needed at points along the rows themselves; computing it there would repeat it {} times",
                                trace::name(node.op), to_string(reduced), kernel_.row_points()));
      // Each parallel point computes one result, and no other point the same one.
      const auto walked = one_to_one(maps_[map].map, kernel_.sizes);
      const bool once = walked && *walked == axes_between(kernel_.sizes, 0, kernel_.parallel);
      if (kernel_.row_axes() == 0 || extent != kernel_.row_points() || !once || chunked_)
        return need(id, map, CutReason::reduction_dependency,
                    fmt::format("{} over {} gives {} results; its consumer runs over {} points in rows of {}", trace::name(node.op),
                                to_string(reduced), element_count(node.shape), kernel_.parallel_points(), kernel_.row_points()));
      const Map rows = reshape_map(row_dims_, row_shape_, reduced, kernel_.sizes, may_split_);
      std::size_t kept = 0, gone = 0;
      for (std::size_t k = 0; k < input.shape.size(); ++k) {
        const bool is_reduced = gone < node.ints.size() && node.axis(gone) == static_cast<int>(k);
        inner[k] = is_reduced ? rows[gone++] : maps_[map].map[kept++];
      }
    }
    const int source = eval(node.inputs[0], intern(std::move(inner)));
    Value value{Value::Kind::reduced, node.op, node.dtype, node.dtype, {source, -1, -1}, id};
    value.ready = kernel_.values[source].ready + 1;
    value.cost = 1;
    return add(std::move(value), map);
  }

  // ---- what is better read from memory ------------------------------------------------------------------------------------

  // Every round reads one more node from memory, in place.
  void settle() {
    drop_unused();
    while (read_what_is_dear() || !choose_slots() || !within_limits()) drop_unused();
  }

  void read(int node, Cut cut) {
    reasons_.try_emplace(node, std::move(cut));
    for (std::size_t v = 0; v < kernel_.values.size(); ++v)
      if (Value& value = kernel_.values[v]; value.node == node && (value.kind == Value::Kind::op || value.kind == Value::Kind::reduced))
        make_load(value, node, places_[v]);
  }

  void drop_unused() {
    const int count = static_cast<int>(kernel_.values.size());
    std::vector<char> used(count);
    for (const auto& root : kernel_.roots) used[root.value] = 1;
    for (int v = count - 1; v >= 0; --v)
      if (used[v])
        for (int arg : kernel_.values[v].args)
          if (arg >= 0) used[arg] = 1;
    std::vector<int> moved(count, -1);
    int next = 0;
    for (int v = 0; v < count; ++v) {
      if (!used[v]) continue;
      Value value = std::move(kernel_.values[v]);
      if (value.kind == Value::Kind::op || value.kind == Value::Kind::reduced) {
        value.row = false;
        value.ready = 0;
      }
      for (int& arg : value.args) {
        if (arg < 0) continue;
        arg = moved[arg];
        const Value& operand = kernel_.values[arg];
        value.ready = std::max(value.ready, operand.ready + (value.kind == Value::Kind::reduced));
        value.row |= value.kind == Value::Kind::op && operand.row;
      }
      moved[v] = next;
      places_[next] = places_[v];
      kernel_.values[next++] = std::move(value);
    }
    kernel_.values.resize(next);
    places_.resize(next);
    for (auto& root : kernel_.roots) root.value = moved[root.value];
    place_reductions();
  }

  // The nodes that a row value reads at every row point.
  std::vector<int> row_loads(int value) const {
    std::vector<int> nodes;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v] || !kernel_.values[v].row) continue;
      seen[v] = 1;
      if (kernel_.values[v].kind == Value::Kind::load) nodes.push_back(kernel_.values[v].node);
      for (int arg : kernel_.values[v].args) stack.push_back(arg);
    }
    std::sort(nodes.begin(), nodes.end());
    return nodes;
  }

  // A reduction that could run in an early pass and is needed late runs in the pass that reads most of the same anyway.
  void place_reductions() {
    const int count = static_cast<int>(kernel_.values.size()), passes = kernel_.passes();
    if (passes < 2) return;
    std::vector<int> latest(count, passes);  // passes that may be over before the value is there
    for (const auto& root : kernel_.roots)
      if (const int pass = root_pass(kernel_, root); pass >= 0) latest[root.value] = std::min(latest[root.value], pass);
    for (int v = count - 1; v >= 0; --v)
      for (int arg : kernel_.values[v].args)
        if (arg >= 0) latest[arg] = std::min(latest[arg], latest[v] - (kernel_.values[v].kind == Value::Kind::reduced));
    std::vector<std::vector<int>> reads(passes);
    std::vector<int> free;
    const auto add = [&](int pass, int value) {
      const auto loads = row_loads(value);
      reads[pass].insert(reads[pass].end(), loads.begin(), loads.end());
      std::sort(reads[pass].begin(), reads[pass].end());
    };
    for (const auto& root : kernel_.roots)
      if (const int pass = root_pass(kernel_, root); pass >= 0) add(pass, root.value);
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::reduced) continue;
      if (value.ready == latest[v]) add(value.ready - 1, value.args[0]);
      else free.push_back(v);
    }
    if (free.empty()) return;
    for (int v = 0; v < count; ++v) {
      Value& value = kernel_.values[v];
      for (int arg : value.args)
        if (arg >= 0) value.ready = std::max(value.ready, kernel_.values[arg].ready + (value.kind == Value::Kind::reduced));
      if (!std::binary_search(free.begin(), free.end(), v)) continue;
      const auto loads = row_loads(value.args[0]);
      const int first = value.ready;
      std::size_t fewest = loads.size() + 1;
      for (int ready = first; ready <= latest[v]; ++ready) {
        std::vector<int> more;
        std::set_difference(loads.begin(), loads.end(), reads[ready - 1].begin(), reads[ready - 1].end(), std::back_inserter(more));
        if (more.size() >= fewest) continue;
        fewest = more.size();
        value.ready = ready;
      }
      add(value.ready - 1, value.args[0]);
    }
  }

  bool is_root_value(int value) const {
    return std::any_of(kernel_.roots.begin(), kernel_.roots.end(), [&](const Root& r) { return r.value == value; });
  }

  // Cost of computing a value from memory, each value it needs counted once.
  double cone_cost(int value) const {
    double cost = 0;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v]) continue;
      seen[v] = 1;
      const Value& here = kernel_.values[v];
      if (here.kind == Value::Kind::reduced) continue;
      cost += here.cost;
      for (int arg : here.args) stack.push_back(arg);
    }
    return cost;
  }

  double elements_of(int node) const { return as_double(element_count(graph_.nodes[node].shape)); }

  // The kernel that writes a node, by what one of its values here needs.
  double own_seconds(int value) const {
    const Value& here = kernel_.values[value];
    Work work{elements_of(here.node) * static_cast<double>(itemsize(here.dtype)), elements_of(here.node) * cone_cost(value)};
    std::map<int, char> read;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v]) continue;
      seen[v] = 1;
      if (kernel_.values[v].kind == Value::Kind::load) read[kernel_.values[v].node] = 1;
      for (int arg : kernel_.values[v].args) stack.push_back(arg);
    }
    for (const auto& [node, _] : read)
      work.bytes += std::min(elements_of(node), elements_of(here.node)) * static_cast<double>(itemsize(graph_.nodes[node].dtype));
    return limits_.launch_seconds + work.seconds(limits_);
  }

  // A value below a broadcast is computed again at every repeated point, one that is met under several maps once for each. That is
  // free as long as it hides under the traffic.
  bool read_what_is_dear() {
    const Work now = work_of(graph_, kernel_, limits_);
    if (now.ops / limits_.throughput <= now.bytes / limits_.bandwidth) return false;
    const int count = static_cast<int>(kernel_.values.size());
    std::vector<std::uint64_t> axes(count);
    std::vector<char> widened(count);  // somebody needs it at more points than it has
    std::map<int, int> places;
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind == Value::Kind::load || value.kind == Value::Kind::index) axes[v] = value.index.axes();
      for (int arg : value.args)
        if (arg >= 0) axes[v] |= axes[arg];
      for (int arg : value.args)
        if (arg >= 0 && axes[arg] != axes[v]) widened[arg] = 1;
      if (value.kind == Value::Kind::op) ++places[value.node];
    }
    std::vector<std::pair<double, int>> candidates;
    for (int v = 0; v < count; ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::op || value.ready > 0 || is_root_value(v) || root_maps_.count(value.node)) continue;
      if (!widened[v] && places[value.node] < 2) continue;
      if (const double cost = cone_cost(v); cost > kKeepCost) candidates.push_back({-cost, v});
    }
    std::sort(candidates.begin(), candidates.end());
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
    int best = -1;
    double most = 0;
    for (const auto& [cost, v] : candidates) {
      const double saved = now.seconds(limits_) - work_of(graph_, kernel_, limits_, {kernel_.values[v].node}).seconds(limits_) - own_seconds(v);
      if (saved <= most) continue;
      most = saved;
      best = v;
    }
    if (best < 0) return false;
    const Value& value = kernel_.values[best];
    const int times = places[value.node];
    const double cost = cone_cost(best), own = own_seconds(best);
    read(value.node, {CutReason::recompute_cost,
                      times > 1 ? fmt::format("{} is needed at {} different offsets, cost {:.0f} each time: {:.1f} us against {:.1f} us through memory",
                                              trace::name(value.op), times, cost, (most + own) * 1e6, own * 1e6)
                                : fmt::format("{:.0f} elements of cost {:.0f} would be computed again wherever they are spread: {:.1f} us against {:.1f} us through memory",
                                              elements_of(value.node), cost, (most + own) * 1e6, own * 1e6)});
    return true;
  }

  // Which row values a later pass reads from a slot. Without room for them the later pass computes them again, if that is cheaper
  // than a round trip to memory; else the value is read from memory, and the answer is false.
  bool choose_slots() {
    kernel_.kept.clear();
    kernel_.slots.clear();
    kernel_.notes.clear();
    const int passes = kernel_.passes();
    if (passes < 2) return true;
    std::vector<int> computed(kernel_.values.size(), -1);  // first pass that computes it
    std::vector<int> last_read(kernel_.values.size(), -1);
    std::vector<char> kept(kernel_.values.size());
    for (int pass = 0; pass < passes; ++pass) {
      std::vector<int> stack;
      for (int v = 0; v < static_cast<int>(kernel_.values.size()); ++v) {
        const Value& value = kernel_.values[v];
        if (value.kind == Value::Kind::reduced && value.ready == pass + 1) stack.push_back(value.args[0]);
      }
      for (const auto& root : kernel_.roots)
        if (root_pass(kernel_, root) == pass) stack.push_back(root.value);
      std::vector<char> seen(kernel_.values.size());
      while (!stack.empty()) {
        const int v = stack.back();
        stack.pop_back();
        if (v < 0 || seen[v] || !kernel_.values[v].row) continue;
        seen[v] = 1;
        if (computed[v] >= 0 && computed[v] < pass && (kept[v] || row_cost(v, kept) >= kKeepCost)) {
          if (!kept[v]) kernel_.kept.push_back({v, -1});
          kept[v] = 1;
          last_read[v] = pass;
          continue;
        }
        if (computed[v] < 0) computed[v] = pass;
        for (int arg : kernel_.values[v].args) stack.push_back(arg);
      }
    }
    std::sort(kernel_.kept.begin(), kernel_.kept.end(),
              [&](const Kept& a, const Kept& b) { return std::pair(computed[a.value], a.value) < std::pair(computed[b.value], b.value); });
    std::vector<int> busy_until;  // per slot: the last pass that reads what it holds
    for (auto& [v, slot] : kernel_.kept) {
      const DType dtype = kernel_.values[v].dtype;
      for (slot = 0; slot < static_cast<int>(busy_until.size()); ++slot)
        if (kernel_.slots[slot] == dtype && busy_until[slot] <= computed[v]) break;
      if (slot == static_cast<int>(busy_until.size())) {
        kernel_.slots.push_back(dtype);
        busy_until.push_back(0);
      }
      busy_until[slot] = last_read[v];
    }
    Size bytes = 0;
    for (auto dtype : kernel_.slots) bytes += kernel_.row_points() * static_cast<std::int64_t>(itemsize(dtype));
    if (bytes <= limits_.row_bytes) {
      if (!kernel_.kept.empty())
        kernel_.notes.push_back(fmt::format("keeps {} value{} of a row between passes, in {} of at most {} bytes", kernel_.kept.size(),
                                            kernel_.kept.size() == 1 ? "" : "s", bytes, limits_.row_bytes));
      return true;
    }
    const auto kept_values = std::move(kernel_.kept);
    kernel_.kept.clear();
    kernel_.slots.clear();
    const Work now{bytes_moved(graph_, kernel_), work_of(graph_, kernel_, limits_).ops};
    for (const auto& keep : kept_values) {
      const Value& value = kernel_.values[keep.value];
      if (value.kind != Value::Kind::op || value.ready > 0 || is_root_value(keep.value) || root_maps_.count(value.node)) continue;
      const Work with{now.bytes, now.ops + (passes - 1) * elements_of(value.node) * cone_cost(keep.value)};
      const double again = with.seconds(limits_) - now.seconds(limits_);
      const double trip = limits_.launch_seconds + 2 * elements_of(value.node) * static_cast<double>(itemsize(value.dtype)) / limits_.bandwidth;
      if (again <= trip) continue;
      read(value.node, {limits_.is_cuda() ? CutReason::shared_memory : CutReason::row_too_long,
                        fmt::format("a row of {} needs {} bytes kept against {}; computing it again costs {:.1f} us, a round trip {:.1f} us",
                                    kernel_.row_points(), bytes, limits_.row_bytes, again * 1e6, trip * 1e6)});
      return false;
    }
    kernel_.notes.push_back(fmt::format("a row would need {} bytes against {}: every pass reads it again", bytes, limits_.row_bytes));
    return true;
  }

  double row_cost(int value, const std::vector<char>& kept) const {
    double cost = 0;
    std::vector<char> seen(kernel_.values.size());
    std::vector<int> stack{value};
    while (!stack.empty()) {
      const int v = stack.back();
      stack.pop_back();
      if (v < 0 || seen[v] || !kernel_.values[v].row || (kept[v] && v != value)) continue;
      seen[v] = 1;
      cost += kernel_.values[v].cost;
      for (int arg : kernel_.values[v].args) stack.push_back(arg);
    }
    return cost;
  }

  bool within_limits() {
    const auto halve = [&](CutReason reason, std::string detail) {
      const int node = halving_node(kernel_);
      if (node < 0 || root_maps_.count(node)) return true;
      read(node, {reason, std::move(detail)});
      return false;
    };
    if (kernel_.ops() > context_.max_ops)
      return halve(CutReason::kernel_size, fmt::format("{} ops against a limit of {}", kernel_.ops(), context_.max_ops));
    if (const int bytes = parameter_bytes(kernel_); bytes > limits_.parameter_bytes)
      return halve(CutReason::parameters, fmt::format("{} bytes of kernel parameters against {}", bytes, limits_.parameter_bytes));
    if (limits_.is_cuda())
      if (const int registers = live_registers(kernel_, 1); registers > limits_.registers)
        return halve(CutReason::registers, fmt::format("about {} registers live at once against {}", registers, limits_.registers));
    return true;
  }

  Built result() {
    Built built;
    std::map<int, char> told;
    for (std::size_t v = 0; v < kernel_.values.size(); ++v) {
      const Value& value = kernel_.values[v];
      if (value.kind != Value::Kind::load) continue;
      built.group.touches.push_back({value.node, maps_[places_[v]].map});
      if (graph_.nodes[value.node].op == Op::data || (*context_.in_memory)[value.node] || root_maps_.count(value.node)) continue;
      if (told.emplace(value.node, 1).second) built.needed.push_back({value.node, reasons_.at(value.node)});
    }
    for (const auto& request : requests_) built.group.touches.push_back({request.node, request.dims});
    built.group.requests = std::move(requests_);
    built.group.kernel = std::move(kernel_);
    return built;
  }

  const BuildContext& context_;
  const Graph& graph_;
  const Limits& limits_;
  std::vector<Request> requests_;
  Map row_dims_;      // the rows as they were asked for, over the kernel's axes (which splits refine)
  Sizes row_shape_;
  Kernel kernel_;
  bool chunked_ = false, may_split_ = true;
  std::vector<int> places_;  // value -> the map it is computed at
  std::vector<MapInfo> maps_;
  std::unordered_map<Map, int, MapHash> map_ids_;
  std::unordered_map<Place, int, PlaceHash> memo_;
  std::unordered_map<int, int> root_maps_;
  std::unordered_map<int, int> occurrences_;
  std::map<int, Cut> reasons_;  // nodes that are read from memory, and why
  std::map<int, Cut> forced_;   // those without which the kernel would grow without end
};

}  // namespace

std::string two_stage_detail(const Graph& graph, const Node& node) {
  const Node& input = graph.nodes[node.inputs[0]];
  return fmt::format("{} elements to {} results would keep few workers busy; partial results of {} elements first",
                     element_count(input.shape), element_count(node.shape) / std::max<Size>(node.shape.back(), 1), node.chunk);
}

Built build_group(const BuildContext& context, std::vector<Request> requests, Sizes sizes, int parallel) {
  return Builder(context, std::move(requests), std::move(sizes), parallel).run();
}

}  // namespace sinter::fuse
