#include "fuse/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "fuse/rewrite.hpp"
#include "fuse/walk.hpp"
#include "sinter/errors.hpp"

namespace sinter::fuse {
namespace {

using trace::Graph;
using trace::Node;
using trace::Op;

constexpr int kMaxRounds = 4;  // of putting shared values in memory and scheduling again

class Scheduler {
 public:
  Scheduler(Graph graph, const Limits& limits, const Forced& forced) : limits_(limits) {
    plan_.graph = std::move(graph);
    cuts_ = forced;
  }

  Plan run() {
    if (!limits_.fuse) cut_everywhere();
    else cut_long_cones();
    for (int round = 0;; ++round) {
      group();
      if (limits_.fuse) merge_siblings();
      if (round == kMaxRounds || !limits_.fuse || !cut_repeated_work()) break;
    }
    order();
    account();
    return std::move(plan_);
  }

 private:
  const Graph& graph() const { return plan_.graph; }
  const Node& node(int id) const { return plan_.graph.nodes[id]; }
  static bool computes(const Node& n) {
    return trace::is_elementwise(n.op) || trace::is_reduction(n.op) || n.op == Op::scan;
  }

  void cut_everywhere() {
    for (int id = 0; id < static_cast<int>(graph().nodes.size()); ++id)
      if (computes(node(id))) cuts_.try_emplace(id, Cut{CutReason::fuse_off, "one kernel per op"});
  }

  // Places the cuts of formulas that are too long for one kernel, from the inputs on: a node whose cone exceeds the limit has its
  // largest operand put in memory. The places depend on the structure below alone, so a loop's pieces repeat and compile once.
  void cut_long_cones() {
    const auto& nodes = graph().nodes;
    std::vector<std::vector<int>> cones(nodes.size());  // ops a node's kernel would hold, sorted
    const auto uses = trace::consumers(graph());
    std::vector<std::size_t> pending(nodes.size());
    for (std::size_t id = 0; id < nodes.size(); ++id) pending[id] = uses[id].size();
    for (int id = 0; id < static_cast<int>(nodes.size()); ++id) {
      const Node& n = nodes[id];
      const auto gather = [&] {
        std::vector<int> cone;
        for (int input : n.inputs) {
          if (cuts_.count(input) || node(input).op == Op::matmul || (node(input).chunk > 0 && trace::is_reduction(node(input).op))) continue;
          std::vector<int> both;
          std::set_union(cone.begin(), cone.end(), cones[input].begin(), cones[input].end(), std::back_inserter(both));
          cone = std::move(both);
        }
        if (computes(n) || n.op == Op::pad || n.op == Op::gather) cone.push_back(id);  // the largest number so far: stays sorted
        return cone;
      };
      std::vector<int> cone = gather();
      while (static_cast<int>(cone.size()) > limits_.max_ops) {
        int largest = -1;
        for (int input : n.inputs)
          if (!cuts_.count(input) && cones[input].size() > 1 && (largest < 0 || cones[input].size() > cones[largest].size())) largest = input;
        if (largest < 0) break;
        int cut = largest;
        while (trace::is_view(node(cut).op)) cut = node(cut).inputs[0];
        if (cuts_.count(cut) || node(cut).op == Op::data || node(cut).op == Op::constant) break;
        cuts_[cut] = {CutReason::kernel_size,
                      fmt::format("{} ops with the next one against a limit of {}", cone.size(), limits_.max_ops)};
        // Views between the cut and here must not carry its ops any more.
        for (int v = largest; v != cut; v = node(v).inputs[0]) cones[v].clear();
        cone = gather();
      }
      cones[id] = std::move(cone);
      for (int input : n.inputs)
        if (--pending[input] == 0) std::vector<int>().swap(cones[input]);
    }
  }

  // ---- grouping: consumers first, so that whoever needs a value in memory says so before its kernel is built -------------

  struct Group {
    std::vector<RootRequest> requests;
    Shape parallel, row;
    Kernel kernel;
  };

  void group() {
    const std::size_t count = graph().nodes.size();
    materialized_.assign(count, 0);
    absorbable_.assign(count, 0);
    groups_.clear();
    written_by_.clear();
    matmuls_.clear();
    plan_.aliases.clear();
    std::set<int> work;
    for (const auto& [id, cut] : cuts_) materialized_[id] = 1;
    std::set<int> wanted;
    for (int output : graph().outputs) {
      const int base = alias_base(output);
      if (base != output) plan_.aliases[output] = base;
      if (node(base).op == Op::data) continue;
      wanted.insert(base);
      work.insert(base);
      if (!materialized_[base] && computes(node(base))) absorbable_[base] = 1;
    }
    const WalkContext context{&graph(), &limits_, &materialized_, &absorbable_};
    std::vector<char> done(count);
    while (!work.empty()) {
      const int id = *std::prev(work.end());
      work.erase(id);
      if (done[id]) continue;
      done[id] = 1;
      if (node(id).op == Op::matmul) {
        matmuls_.push_back(prepare_matmul(id, work));
        materialized_[id] = 1;
        continue;
      }
      absorbable_[id] = 0;
      Group group;
      for (;;) {
        const Domain domain = choose_domain(context, id);
        group.requests = {{id, domain.root_axes}};
        group.parallel = domain.parallel;
        group.row = domain.row;
        WalkResult result = walk(context, group.requests, group.parallel, group.row);
        if (!result.demand) {
          if (result.kernel.roots.size() == 1 || !waits_for_itself(result.kernel)) {
            group.kernel = std::move(result.kernel);
            break;
          }
          for (const auto& root : result.kernel.roots) {  // those that joined get kernels of their own
            if (root.node == id) continue;
            absorbable_[root.node] = 0;
            materialized_[root.node] = 1;
          }
          continue;
        }
        if (result.demand->node == id) throw InternalError(fmt::format("scheduler: %{} demands itself", id));
        put_in_memory(result.demand->node, result.demand->cut, work);
      }
      for (const auto& root : group.kernel.roots) {
        done[root.node] = 1;
        absorbable_[root.node] = 0;
        materialized_[root.node] = 1;
        written_by_[root.node] = groups_.size();
      }
      for (const auto& value : group.kernel.values)
        if (value.kind == Value::Kind::load && node(value.node).op != Op::data && !done[value.node]) work.insert(value.node);
      group.kernel.cut = cut_of(id, wanted);
      groups_.push_back(std::move(group));
    }
  }

  // Whether something the kernel reads from memory is computed from what it writes: directly, or because a kernel that was built
  // before writes the one and reads the other.
  bool waits_for_itself(const Kernel& kernel) const {
    std::set<int> own;
    for (const auto& root : kernel.roots) own.insert(root.node);
    const auto direct = loads_of(kernel);
    std::vector<int> stack(direct.begin(), direct.end());
    std::set<int> seen;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      if (own.count(at)) return true;
      if (!seen.insert(at).second) continue;
      if (auto found = written_by_.find(at); found != written_by_.end()) {
        const auto loads = loads_of(groups_[found->second].kernel);
        stack.insert(stack.end(), loads.begin(), loads.end());
      } else {
        stack.insert(stack.end(), node(at).inputs.begin(), node(at).inputs.end());
      }
    }
    return false;
  }

  Cut cut_of(int id, const std::set<int>& wanted) const {
    if (auto found = cuts_.find(id); found != cuts_.end()) return found->second;
    if (trace::is_reduction(node(id).op) && node(id).chunk) return {CutReason::parallelism, two_stage_detail(graph(), node(id))};
    if (wanted.count(id)) return {CutReason::output_wanted, "the value was asked for"};
    return {CutReason::library_call, "a library call takes it from memory"};
  }

  void put_in_memory(int id, const Cut& cut, std::set<int>& work) {
    if (materialized_[id]) throw InternalError(fmt::format("scheduler: %{} is in memory already and demanded again", id));
    materialized_[id] = 1;
    absorbable_[id] = 0;
    work.insert(id);
    if (node(id).op != Op::matmul) cuts_.try_emplace(id, cut);
  }

  // A reshape (or a contiguous copy) of something that lies contiguous in memory is that memory.
  int alias_base(int id) const {
    while (node(id).op == Op::reshape || node(id).op == Op::contiguous) id = node(id).inputs[0];
    return id;
  }

  // ---- library calls ------------------------------------------------------------------------------------------------

  MatmulCall prepare_matmul(int id, std::set<int>& work) {
    const Node& n = node(id);
    const std::size_t rank = n.shape.size();
    MatmulCall call;
    call.node = id;
    call.dtype = n.dtype;
    call.batch.assign(n.shape.begin(), n.shape.end() - 2);
    call.m = n.shape[rank - 2];
    call.n = n.shape[rank - 1];
    call.k = node(n.inputs[0]).shape[rank - 1];
    call.a = operand(n.inputs[0], work);
    call.b = operand(n.inputs[1], work);
    return call;
  }

  // The operand as strides over memory, if views alone lie between; else it is put in memory itself.
  MatrixOperand operand(int id, std::set<int>& work) {
    const Shape shape = node(id).shape;
    Map map;
    for (std::size_t k = 0; k < shape.size(); ++k) map.push_back(IndexExpr::of_axis(static_cast<int>(k)));
    int base = id;
    while (trace::is_view(node(base).op) && !materialized_[base]) {
      const int input = node(base).inputs[0];
      map = through(node(base), node(input).shape, map, shape, false);
      base = input;
    }
    const IndexExpr flat = linear(map, node(base).shape);
    std::vector<std::int64_t> strides(shape.size(), 0);
    bool affine = true;
    for (const auto& term : flat.terms()) {
      if (term.axis < 0) affine = false;
      else strides[term.axis] = term.coeff;
    }
    const std::size_t rank = shape.size();
    const auto row = strides[rank - 2], column = strides[rank - 1];
    const bool row_major = column == 1 && (row >= shape[rank - 1] || shape[rank - 2] == 1);
    const bool column_major = row == 1 && (column >= shape[rank - 2] || shape[rank - 1] == 1);
    const bool in_memory = node(base).op == Op::data || node(base).op == Op::matmul || materialized_[base] || computes(node(base));
    if (!affine || !(row_major || column_major) || !in_memory) {
      base = id;
      strides = row_major_strides(shape);
      need_for_library(id, work);
      return {base, 0, strides[rank - 2], strides[rank - 1], {strides.begin(), strides.end() - 2}};
    }
    need_for_library(base, work);
    return {base, flat.constant(), row, column, {strides.begin(), strides.end() - 2}};
  }

  void need_for_library(int id, std::set<int>& work) {
    if (node(id).op == Op::data) return;
    if (!materialized_[id]) put_in_memory(id, {CutReason::library_call, "matmul takes its operands from memory"}, work);
    work.insert(id);  // it may have been cut already without anybody needing it so far
  }

  static std::vector<std::int64_t> row_major_strides(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t k = shape.size(); k-- > 1;) strides[k - 1] = strides[k] * shape[k];
    return strides;
  }

  // ---- siblings: kernels over the same points that read the same memory become one with several outputs -------------------

  static std::set<int> loads_of(const Kernel& kernel) {
    std::set<int> nodes;
    for (const auto& value : kernel.values)
      if (value.kind == Value::Kind::load) nodes.insert(value.node);
    return nodes;
  }

  // What each step (a group, or a matmul numbered after the groups) reads from, and what through others.
  struct Dependencies {
    std::vector<std::vector<int>> direct;
    std::vector<std::vector<std::uint64_t>> all;  // a bit for each step
    bool reads(std::size_t step, std::size_t other) const { return all[step][other / 64] >> (other % 64) & 1; }
  };

  std::vector<std::vector<int>> direct_reads() const {
    const int groups = static_cast<int>(groups_.size()), matmuls = static_cast<int>(matmuls_.size());
    std::map<int, int> writer;
    for (int g = 0; g < groups; ++g)
      for (const auto& root : groups_[g].kernel.roots) writer[root.node] = g;
    for (int m = 0; m < matmuls; ++m) writer[matmuls_[m].node] = groups + m;
    std::vector<std::vector<int>> direct(groups + matmuls);
    const auto read = [&](int step, int id) {
      if (auto w = writer.find(id); w != writer.end()) direct[step].push_back(w->second);
    };
    for (int g = 0; g < groups; ++g)
      for (int id : loads_of(groups_[g].kernel)) read(g, id);
    for (int m = 0; m < matmuls; ++m)
      for (int id : {matmuls_[m].a.node, matmuls_[m].b.node}) read(groups + m, id);
    return direct;
  }

  // Each step once, after all that it reads from: a chain of a thousand kernels must not take a thousand rounds.
  Dependencies dependencies() const {
    Dependencies d{direct_reads(), {}};
    const std::size_t count = d.direct.size();
    d.all.assign(count, std::vector<std::uint64_t>((count + 63) / 64));
    std::vector<std::size_t> visited(count);  // operands looked at so far, plus one once begun
    std::vector<int> stack;
    for (std::size_t start = 0; start < count; ++start) {
      if (visited[start] == 0) stack.push_back(static_cast<int>(start));
      while (!stack.empty()) {
        const int step = stack.back();
        if (visited[step] == 0) visited[step] = 1;
        const std::size_t next = visited[step] - 1;
        if (next == d.direct[step].size()) {
          stack.pop_back();
          for (int from : d.direct[step]) {
            d.all[step][from / 64] |= std::uint64_t{1} << (from % 64);
            for (std::size_t w = 0; w < d.all[step].size(); ++w) d.all[step][w] |= d.all[from][w];
          }
          continue;
        }
        ++visited[step];
        if (visited[d.direct[step][next]] == 0) stack.push_back(d.direct[step][next]);
      }
    }
    return d;
  }

  void merge_siblings() {
    Dependencies depends = dependencies();
    for (std::size_t a = 0; a < groups_.size(); ++a) {
      for (std::size_t b = a + 1; b < groups_.size();) {
        if (!mergeable(depends, a, b) || !try_merge(depends, a, b)) {
          ++b;
          continue;
        }
        groups_.erase(groups_.begin() + static_cast<long>(b));
        depends = dependencies();
      }
    }
  }

  bool mergeable(const Dependencies& depends, std::size_t a, std::size_t b) const {
    const Group &x = groups_[a], &y = groups_[b];
    if (x.parallel != y.parallel || x.row != y.row || x.kernel.chunk != y.kernel.chunk) return false;
    if (x.kernel.ops() + y.kernel.ops() > limits_.max_ops) return false;
    // They must read something in the same order: a row sum and a column sum of one matrix would only disturb each other.
    const bool share = std::any_of(x.kernel.values.begin(), x.kernel.values.end(), [&](const Value& v) {
      if (v.kind != Value::Kind::load || element_count(node(v.node).shape) <= 1) return false;
      return std::any_of(y.kernel.values.begin(), y.kernel.values.end(), [&](const Value& w) {
        return w.kind == Value::Kind::load && w.node == v.node && w.index == v.index;
      });
    });
    return share && !depends.reads(a, b) && !depends.reads(b, a);
  }

  bool try_merge(const Dependencies& depends, std::size_t a, std::size_t b) {
    Group merged = groups_[a];
    // The walk lists a group's roots itself; roots it absorbed come back the same way.
    merged.requests.insert(merged.requests.end(), groups_[b].requests.begin(), groups_[b].requests.end());
    std::set<int> roots;
    for (const auto* group : {&groups_[a], &groups_[b]})
      for (const auto& root : group->kernel.roots) roots.insert(root.node);
    auto absorbable = absorbable_;
    auto materialized = materialized_;
    for (int id : roots) {
      absorbable[id] = 1;
      materialized[id] = 0;
    }
    for (const auto& request : merged.requests) absorbable[request.node] = 0;
    const WalkContext context{&graph(), &limits_, &materialized, &absorbable};
    WalkResult result = walk(context, merged.requests, merged.parallel, merged.row);
    if (result.demand || result.kernel.roots.size() != roots.size()) return false;
    // More may be in memory by now than when the two were built: what the merged kernel reads must be written by another step, and
    // that must not wait for it.
    std::set<int> unwritten = loads_of(result.kernel);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (g == a || g == b || depends.reads(g, a) || depends.reads(g, b)) continue;
      for (const auto& root : groups_[g].kernel.roots) unwritten.erase(root.node);
    }
    for (std::size_t m = 0; m < matmuls_.size(); ++m)
      if (!depends.reads(groups_.size() + m, a) && !depends.reads(groups_.size() + m, b)) unwritten.erase(matmuls_[m].node);
    if (std::any_of(unwritten.begin(), unwritten.end(), [&](int id) { return node(id).op != Op::data; })) return false;
    const Cut cut = groups_[a].kernel.cut;
    merged.kernel = std::move(result.kernel);
    merged.kernel.cut = cut;
    groups_[a] = std::move(merged);
    return true;
  }

  // A value that several kernels compute for themselves is put in memory when that is cheaper.
  bool cut_repeated_work() {
    std::map<int, int> kernels;  // node -> kernels that compute it
    std::map<int, double> costs;
    for (const auto& group : groups_) {
      std::map<int, double> cone;
      for (std::size_t v = 0; v < group.kernel.values.size(); ++v) {
        const Value& value = group.kernel.values[v];
        if (value.kind != Value::Kind::op && value.kind != Value::Kind::reduced) continue;
        double cost = trace::primitive(value.op).cost;
        for (int arg : value.args)
          if (arg >= 0 && cone.count(group.kernel.values[arg].node)) cost = std::max(cost, trace::primitive(value.op).cost + cone[group.kernel.values[arg].node]);
        cone[value.node] = cost;
      }
      for (const auto& [id, cost] : cone) {
        if (std::any_of(group.kernel.roots.begin(), group.kernel.roots.end(), [&, n = id](const Root& r) { return r.node == n; })) continue;
        ++kernels[id];
        costs[id] = cost;
      }
    }
    for (auto it = kernels.rbegin(); it != kernels.rend(); ++it) {
      const auto [id, times] = *it;
      if (times < 2 || cuts_.count(id)) continue;
      double elements = static_cast<double>(element_count(node(id).shape));
      if (trace::is_reduction(node(id).op)) elements = static_cast<double>(element_count(node(node(id).inputs[0]).shape));
      const double again = (times - 1) * elements * costs[id] / limits_.throughput;
      const double trip = limits_.launch_seconds + (1.0 + times) * static_cast<double>(element_count(node(id).shape)) *
                                                       static_cast<double>(itemsize(node(id).dtype)) / limits_.bandwidth;
      if (again <= trip) continue;
      cuts_[id] = {CutReason::recompute_cost,
                   fmt::format("{} kernels would each compute it: {:.1f} us again against {:.1f} us through memory", times, again * 1e6, trip * 1e6)};
      return true;
    }
    return false;
  }

  // ---- the plan -----------------------------------------------------------------------------------------------------

  void order() {
    const auto reads = direct_reads();
    const int count = static_cast<int>(reads.size());
    std::vector<char> placed(count);
    std::vector<int> rank(count);  // by the first node written, for a stable order
    for (int s = 0; s < count; ++s)
      rank[s] = s < static_cast<int>(groups_.size()) ? groups_[s].kernel.roots.front().node : matmuls_[s - groups_.size()].node;
    for (int done = 0; done < count; ++done) {
      int next = -1;
      for (int s = 0; s < count; ++s) {
        if (placed[s] || (next >= 0 && rank[next] < rank[s])) continue;
        if (std::all_of(reads[s].begin(), reads[s].end(), [&](int r) { return placed[r]; })) next = s;
      }
      if (next < 0) throw InternalError("scheduler: the steps depend on each other in a circle");
      placed[next] = 1;
      Step step;
      if (next < static_cast<int>(groups_.size())) {
        step.kernel = std::move(groups_[next].kernel);
      } else {
        step.kind = Step::Kind::matmul;
        step.matmul = matmuls_[next - groups_.size()];
        step.kernel.cut = {CutReason::library_call, "matmul is a library's"};
      }
      plan_.steps.push_back(std::move(step));
    }
  }

  double unfused_bytes(int id) const {
    const Node& n = node(id);
    if (!computes(n) && n.op != Op::matmul && n.op != Op::contiguous) return 0;
    const auto bytes = [](const Node& of) { return static_cast<double>(element_count(of.shape)) * static_cast<double>(itemsize(of.dtype)); };
    double total = bytes(n);
    for (int input : n.inputs) {
      // What one op alone would read: the memory behind the views, at most once per element.
      int base = input;
      double distinct = bytes(node(input));
      while (trace::is_view(node(base).op)) {
        base = node(base).inputs[0];
        distinct = std::min(distinct, bytes(node(base)));
      }
      if (node(base).op != Op::constant && node(base).op != Op::iota) total += distinct;
    }
    return total;
  }

  void account() {
    plan_.last_use.assign(graph().nodes.size(), -1);
    std::set<int> counted;
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      Step& step = plan_.steps[s];
      for (int id : step.reads()) plan_.last_use[id] = s;
      if (step.kind == Step::Kind::kernel) {
        step.bytes_moved = bytes_moved(graph(), step.kernel);
        for (const auto& value : step.kernel.values)
          if (value.kind != Value::Kind::load && counted.insert(value.node).second) step.bytes_unfused += unfused_bytes(value.node);
        // A kernel of pure copies (a view made contiguous) moves what it moves.
        if (step.bytes_unfused == 0) step.bytes_unfused = step.bytes_moved;
      } else {
        step.bytes_moved = step.bytes_unfused = unfused_bytes(step.matmul.node);
      }
      plan_.bytes_moved += step.bytes_moved;
      plan_.bytes_unfused += step.bytes_unfused;
    }
    for (int output : graph().outputs) plan_.last_use[alias_base(output)] = -1;
  }

  Limits limits_;
  Forced cuts_;
  Plan plan_;
  std::vector<char> materialized_, absorbable_;
  std::vector<Group> groups_;
  std::map<int, std::size_t> written_by_;  // while grouping: node -> its group
  std::vector<MatmulCall> matmuls_;
};

}  // namespace

Plan schedule(const Graph& graph, const Limits& limits, const Forced& forced) {
  const IndexSpace::Scope scope(std::make_shared<IndexSpace>());
  return Scheduler(graph, limits, forced).run();
}

trace::Graph prepare(const trace::Graph& graph, const Limits& limits) {
  return split_reductions(limits.is_cuda() ? expand_matmuls(graph) : graph, limits);
}

std::vector<int> Step::writes() const {
  if (kind == Kind::matmul) return {matmul.node};
  std::vector<int> nodes;
  for (const auto& root : kernel.roots) nodes.push_back(root.node);
  return nodes;
}

std::vector<int> Step::reads() const {
  if (kind == Kind::matmul) return {matmul.a.node, matmul.b.node};
  std::set<int> nodes;
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::load) nodes.insert(value.node);
  return {nodes.begin(), nodes.end()};
}

std::string_view name(CutReason reason) {
  switch (reason) {
    case CutReason::output_wanted: return "output wanted";
    case CutReason::reduction_dependency: return "reduction dependency";
    case CutReason::parallelism: return "parallelism";
    case CutReason::row_too_long: return "row too long";
    case CutReason::recompute_cost: return "recompute cost";
    case CutReason::registers: return "registers";
    case CutReason::shared_memory: return "shared memory";
    case CutReason::parameters: return "parameters";
    case CutReason::kernel_size: return "kernel size";
    case CutReason::index_expression: return "index expression";
    case CutReason::gathered: return "gathered";
    case CutReason::library_call: return "library call";
    case CutReason::contiguous_copy: return "contiguous copy";
    case CutReason::measured_spill: return "measured spill";
    case CutReason::fuse_off: return "fusion off";
  }
  return "?";
}

}  // namespace sinter::fuse
