#include "jit/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "jit/choose.hpp"
#include "jit/reduction_order.hpp"
#include "jit/storage_types.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {

using fuse::IndexExpr;
using fuse::Kernel;
using fuse::Value;

// ---- the nest -------------------------------------------------------------------------------------------------------------

class Lowering {
 public:
  Lowering(const fuse::Graph& graph, const Kernel& arranged, const Schedule& schedule, const fuse::Limits& limits)
      : graph_(graph), kernel_(arranged), limits_(limits) {
    nest_.schedule = schedule;
  }

  Lowered run() {
    nest_.parallel = kernel_.parallel;
    nest_.rows = kernel_.row_axes();
    ints_ = kernel_.sizes;
    if (kernel_.chunks.length > 0) {
      nest_.chunk_axis = 0;
      nest_.chunk_row = nest_.parallel;
      nest_.chunk_total = parameter(kernel_.chunks.total);
    }
    make_stages();
    compute_in_wider_types(nest_);
    nest_.ints = hints(ints_);
    return {std::move(nest_), std::move(ints_), std::move(input_offsets_), std::move(output_offsets_), fuse::traffic(graph_, kernel_, limits_)};
  }

 private:
  int parameter(const fuse::Size& value) {
    ints_.push_back(value);
    return static_cast<int>(ints_.size()) - 1;
  }

  static bool uses_values(const IndexExpr& expr) {
    bool used = false;
    each_value(expr, [&](int) { used = true; });
    return used;
  }

  /// Returns the number of the expression's index. `at`: the instructions of the kernel's values at this place.
  int index_of(const IndexExpr& expr, bool with_constant, const std::vector<int>& at) {
    const auto key = std::pair(expr.order(), with_constant);
    // Accesses of one layout share an index. A computed value is a different instruction in each pass, so its index is not shared.
    const bool shared = !uses_values(expr);
    if (auto found = indices_.find(key); shared && found != indices_.end()) return found->second;
    Index index;
    for (const auto& term : expr.terms()) {
      Index::Term out;
      if (!term.coeff.same(1)) out.coeff = parameter(term.coeff);
      if (term.axis >= 0) {
        out.axis = term.axis;
      } else if (term.value >= 0) {
        out.value = at[term.value];
      } else {
        out.inner = index_of(term.inner, true, at);
        if (!term.div.same(1)) out.div = parameter(term.div);
        if (!term.whole()) out.mod = parameter(term.mod);
      }
      index.terms.push_back(out);
    }
    if (with_constant && !expr.constant().same(0)) index.constant = parameter(expr.constant());
    nest_.indices.push_back(std::move(index));
    const int number = static_cast<int>(nest_.indices.size()) - 1;
    if (shared) indices_[key] = number;
    return number;
  }

  Access access(int node, const IndexExpr& expr, std::string name, const std::vector<int>& at) {
    const IndexExpr walk = expr + IndexExpr::of(-expr.constant());  // the pointer includes the constant
    (name.starts_with("in") ? input_offsets_ : output_offsets_).push_back(expr.constant());
    return {graph_.nodes[node].dtype, index_of(walk, false, at), node, expr.constant().hint(), std::move(name)};
  }

  int input_of(const Value& value, const std::vector<int>& at) {
    const auto key = std::pair(value.node, value.index.order());
    const bool shared = !uses_values(value.index);
    if (auto found = inputs_.find(key); shared && found != inputs_.end()) return found->second;
    nest_.inputs.push_back(access(value.node, value.index, fmt::format("in{}", nest_.inputs.size()), at));
    const int number = static_cast<int>(nest_.inputs.size()) - 1;
    if (shared) inputs_[key] = number;
    return number;
  }

  std::string instr_name(const Value& value) {
    std::string base(value.kind == Value::Kind::load ? "load" : value.kind == Value::Kind::scalar ? "literal" : trace::name(value.op));
    return fmt::format("{}_{}", base, nest_.instrs.size());
  }

  int emit(const Value& value, bool row, const std::vector<int>& at) {
    Instr instr;
    instr.op = value.op;
    instr.dtype = value.dtype;
    instr.operand = value.operand;
    instr.row = row;
    instr.name = instr_name(value);
    switch (value.kind) {
      case Value::Kind::load:
        instr.kind = Instr::Kind::load;
        instr.input = input_of(value, at);
        if (const int guard = value.args[Value::kGuard]; guard >= 0) instr.guard = at[guard];
        if (const int fill = value.args[Value::kFill]; fill >= 0) instr.fill = at[fill];
        break;
      case Value::Kind::scalar:
        instr.kind = Instr::Kind::scalar;
        instr.input = static_cast<int>(nest_.scalars.size());
        nest_.scalars.push_back({value.dtype, value.node});
        break;
      case Value::Kind::index:
        instr.kind = Instr::Kind::index;
        instr.input = index_of(value.index, true, at);
        break;
      case Value::Kind::op:
        instr.kind = Instr::Kind::op;
        for (int k = 0; k < 3; ++k) instr.args[k] = value.args[k] < 0 ? -1 : at[value.args[k]];
        break;
      case Value::Kind::reduced: instr.kind = Instr::Kind::reduced; break;
      case Value::Kind::scan:
        instr.kind = Instr::Kind::scan;
        for (int k = 0; k < 2; ++k) instr.args[k] = value.args[k] < 0 ? -1 : at[value.args[k]];
        break;
    }
    nest_.instrs.push_back(std::move(instr));
    return static_cast<int>(nest_.instrs.size()) - 1;
  }

  void make_stages() {
    const int count = static_cast<int>(kernel_.values.size()), passes = kernel_.passes();
    std::vector<int> at(count, -1);  // value -> instruction, for values of a parallel point
    std::vector<int> buffer_of(count, -1);
    std::vector<char> stored(count);  // whether its persistent buffer is filled
    for (const auto& keep : kernel_.staged) buffer_of[keep.value] = keep.buffer;
    nest_.persistent = kernel_.persistent;
    nest_.checks = static_cast<int>(kernel_.checks.size());
    std::vector<char> checked(kernel_.checks.size());
    for (const auto& root : kernel_.roots) nest_.outputs.push_back(access(root.node, root.index, fmt::format("out{}", nest_.outputs.size()), at));

    for (int pass = 0; pass <= passes; ++pass) {
      Stage once;
      for (int v = 0; v < count; ++v) {
        const Value& value = kernel_.values[v];
        if (value.row || value.ready != pass || value.kind == Value::Kind::reduced) continue;
        at[v] = emit(value, false, at);
        once.body.push_back(at[v]);
      }
      for (std::size_t r = 0; r < kernel_.roots.size(); ++r)
        if (fuse::root_pass(kernel_, kernel_.roots[r]) < 0 && kernel_.values[kernel_.roots[r].value].ready == pass)
          once.stores.push_back({static_cast<int>(r), at[kernel_.roots[r].value], kernel_.roots[r].guard < 0 ? -1 : at[kernel_.roots[r].guard]});
      raise_checks(once, at, checked, [&](const Value& condition) { return !condition.row && condition.ready == pass; });
      if (!once.body.empty() || !once.stores.empty()) nest_.stages.push_back(std::move(once));
      if (pass == passes) break;

      Stage rows;
      rows.row = true;
      std::vector<int> here = at;  // row values exist only in their pass
      const auto need = [&](auto& self, int v) -> int {
        if (here[v] >= 0) return here[v];
        const Value& value = kernel_.values[v];
        if (buffer_of[v] >= 0 && stored[v]) {
          Instr instr;
          instr.kind = Instr::Kind::persistent;
          instr.dtype = instr.operand = value.dtype;
          instr.input = buffer_of[v];
          instr.row = true;
          instr.name = fmt::format("kept_{}", nest_.instrs.size());
          nest_.instrs.push_back(std::move(instr));
          here[v] = static_cast<int>(nest_.instrs.size()) - 1;
        } else {
          for (int arg : value.args)
            if (arg >= 0) self(self, arg);
          here[v] = emit(value, true, here);
        }
        rows.body.push_back(here[v]);
        if (buffer_of[v] >= 0 && !stored[v]) rows.keeps.push_back({buffer_of[v], here[v]});
        return here[v];
      };
      std::vector<std::pair<int, int>> results;
      for (int v = 0; v < count; ++v) {
        const Value& value = kernel_.values[v];
        if (value.kind != Value::Kind::reduced || value.ready != pass + 1) continue;
        const int source = need(need, value.args[0]);
        rows.reductions.push_back({value.op, source, -1});
        results.push_back({v, static_cast<int>(rows.reductions.size()) - 1});
      }
      for (std::size_t r = 0; r < kernel_.roots.size(); ++r)
        if (const fuse::Root& root = kernel_.roots[r]; fuse::root_pass(kernel_, root) == pass)
          rows.stores.push_back({static_cast<int>(r), need(need, root.value), root.guard < 0 ? -1 : need(need, root.guard)});
      for (const auto& [v, number] : results) {
        at[v] = emit(kernel_.values[v], false, at);
        rows.reductions[number].result = at[v];
      }
      // A computed position that is only used as an index, and not by a load, is checked too.
      for (std::size_t k = 0; k < checked.size(); ++k) {
        const Value& condition = kernel_.values[kernel_.checks[k].condition];
        if (!checked[k] && condition.row && condition.ready == pass) need(need, kernel_.checks[k].condition);
      }
      raise_checks(rows, here, checked, [](const Value& condition) { return condition.row; });
      for (int v = 0; v < count; ++v) stored[v] |= buffer_of[v] >= 0 && here[v] >= 0;
      limit(rows, results, at);
      if (!rows.stores.empty() || !rows.reductions.empty() || !rows.checks.empty()) nest_.stages.push_back(std::move(rows));
    }
  }

  // Lets the loops of a stage that only reduces skip points that are neutral for all of its reductions.
  void limit(Stage& stage, const std::vector<std::pair<int, int>>& results, const std::vector<int>& at) const {
    if (nest_.rows != 1 || nest_.chunk_axis >= 0 || results.empty() || has_scan(nest_, stage)) return;
    if (!stage.stores.empty() || !stage.keeps.empty() || !stage.checks.empty()) return;
    const auto bounds = [&](int v) { return std::pair(kernel_.values[v].args[1], kernel_.values[v].args[2]); };
    const auto all = bounds(results[0].first);
    if (all.first < 0 || std::any_of(results.begin(), results.end(), [&](const auto& result) { return bounds(result.first) != all; })) return;
    stage.first = at[all.first];
    stage.end = at[all.second];
  }

  // Adds the checks whose condition is available in this stage, each once.
  template <class Here> void raise_checks(Stage& stage, const std::vector<int>& at, std::vector<char>& checked, Here is_here) {
    for (std::size_t k = 0; k < checked.size(); ++k) {
      const fuse::Check& check = kernel_.checks[k];
      if (checked[k] || at[check.condition] < 0 || !is_here(kernel_.values[check.condition])) continue;
      checked[k] = 1;
      stage.checks.push_back({at[check.condition], at[check.value], static_cast<int>(k)});
    }
  }

  const fuse::Graph& graph_;
  const Kernel& kernel_;
  const fuse::Limits& limits_;
  LoopNest nest_;
  fuse::Sizes ints_;  // symbolic, as nest_.ints
  fuse::Sizes input_offsets_, output_offsets_;
  std::map<std::pair<int, bool>, int> indices_;  // by expression, with or without its constant
  std::map<std::pair<int, int>, int> inputs_;    // by node and expression
};

void name_it(LoopNest& nest, const Kernel& kernel) {
  std::vector<std::string> seen;
  for (const auto& value : kernel.values) {
    if (!fuse::is_computed(value)) continue;
    nest.ops.push_back((value.kind == Value::Kind::scan ? "scan_" : "") + std::string(trace::name(value.op)));
    if (seen.size() < 5 && std::find(seen.begin(), seen.end(), nest.ops.back()) == seen.end()) seen.push_back(nest.ops.back());
  }
  nest.name = nest.rows == 0                        ? "map"
              : kernel.chunks.length > 0            ? "chunk"
              : nest.schedule.is<ContractionForm>() ? "contract"
              : nest.schedule.lanes_along_rows()    ? "row"
                                                    : "column";
  for (const auto& op : seen) nest.name += "_" + op;
  if (seen.empty()) nest.name += "_copy";
  // Kernels with equal ops and different structure or schedule get different names, by FNV-1a of the readable form.
  Schedule schedule = nest.schedule;
  schedule.axes.clear();  // the nest's axes have their final order
  std::uint32_t hash = 2166136261u;
  for (unsigned char c : to_string(nest) + to_string(schedule, fuse::Backend::cuda) + to_string(schedule, fuse::Backend::cpu) + (nest.fast_math ? "f" : ""))
    hash = (hash ^ c) * 16777619u;
  nest.name += fmt::format("_{:08x}", hash);
}

/// Fixes the number of lanes in which reductions along a row combine, because it decides the result. A schedule that caches nothing has longer bodies, but must
/// not change this number.
void fix_reduction_order(LoopNest& nest, const LoopNest& as_staged) {
  auto from = as_staged.stages.begin();
  for (Stage& stage : nest.stages) {
    if (!stage.row) continue;
    while (!from->row) ++from;
    stage.lanes = row_lanes(as_staged, *from++);
  }
}

}  // namespace

Lowered lower(const fuse::Graph& graph, const Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options) {
  const fuse::IndexSpace::Scope scope(kernel.space);
  Arranged arranged = arrange(graph, kernel, limits, options.overrides);
  Kernel without_persistent;
  const bool drops = !arranged.schedule.keep && !arranged.kernel.persistent.empty();
  if (drops) {
    without_persistent = arranged.kernel;
    without_persistent.staged.clear();
    without_persistent.persistent.clear();
  }
  const Kernel& run = drops ? without_persistent : arranged.kernel;
  Lowered lowered = Lowering(graph, run, arranged.schedule, limits).run();
  lowered.nest.fast_math = options.fast_math;
  if (drops && lowered.nest.schedule.lanes_along_rows() && limits.one_order)
    fix_reduction_order(lowered.nest, Lowering(graph, arranged.kernel, arranged.schedule, limits).run().nest);
  lowered.nest.schedule = choose(graph, arranged, lowered, limits, options.overrides);
  verify(lowered.nest);
  name_it(lowered.nest, run);
  return lowered;
}

std::vector<Candidate> candidates(const fuse::Graph& graph, const Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options) {
  std::vector<Candidate> all;
  all.push_back({options.overrides, lower(graph, kernel, limits, options)});
  std::set<std::string> seen{all[0].lowered.nest.name};  // a name identifies structure and schedule
  for (const ScheduleOverride& alternative : alternatives(all[0].lowered.nest, limits)) {
    LowerOptions other = options;
    other.overrides = options.overrides.with(alternative);
    Lowered lowered = lower(graph, kernel, limits, other);
    if (seen.insert(lowered.nest.name).second) all.push_back({other.overrides, std::move(lowered)});
  }
  return all;
}

}  // namespace sinter::jit
