#include "jit/lower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "jit/storage_types.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace {

using fuse::IndexExpr;
using fuse::Kernel;
using fuse::Root;
using fuse::Value;

// ---- axes: order and merging, on a copy of the kernel ---------------------------------------------------------------------

template <class Visit> void each_index(Kernel& kernel, Visit visit) {
  for (auto& value : kernel.values)
    if (value.kind == Value::Kind::load || value.kind == Value::Kind::index) visit(value.index);
  for (auto& root : kernel.roots) visit(root.index);
}

using fuse::direct_coefficient;

constexpr std::int64_t kLine = 64;   // bytes that memory moves at once
constexpr std::int64_t kLanes = 16;  // an axis shorter than this leaves lanes idle

// Elements between neighbouring points along the axis.
fuse::Size stride_along(const IndexExpr& index, int axis) {
  fuse::Size stride = 0;
  for (const auto& term : index.terms()) {
    if (term.axis == axis) stride += term.coeff;
    if (term.divides()) stride += term.coeff * (stride_along(term.inner, axis) / term.div);
  }
  return stride;
}

fuse::Size magnitude(const fuse::Size& size) { return size < 0 ? -size : size; }

// Bytes that the step along the axis moves: a line for a long one, nothing for none.
std::int64_t step_bytes(const IndexExpr& index, int axis, DType dtype) {
  const auto size = static_cast<std::int64_t>(itemsize(dtype));
  const fuse::Size stride = magnitude(stride_along(index, axis));
  if (stride * size >= kLine) return kLine;
  return exactly(stride) * size;
}

// What lanes along the axis cost a point: the bytes that the step to its neighbour moves, a line for a long one, nothing for none;
// stores twice, since they cannot be cached away. With rows, only what happens at every row point counts. `apart`: only accesses
// that lanes along that other axis would make apart.
std::int64_t cost_along(const fuse::Graph& graph, const Kernel& kernel, int axis, int apart = -1) {
  const bool rows = kernel.row_axes() > 0;
  std::int64_t cost = 0;
  const auto add = [&](const IndexExpr& index, DType dtype, int times) {
    if (apart < 0 || step_bytes(index, apart, dtype) == kLine) cost += times * step_bytes(index, axis, dtype);
  };
  for (const auto& value : kernel.values)
    if (value.kind == Value::Kind::load && value.row == rows) add(value.index, value.dtype, 1);
  for (const auto& root : kernel.roots)
    if ((fuse::root_pass(kernel, root) >= 0) == rows) add(root.index, graph.nodes[root.node].dtype, 2);
  const fuse::Size& size = kernel.sizes[axis];
  std::int64_t lanes = kLanes;  // that the axis fills, to a power of two: every size by itself would be a plan by itself
  while (lanes > 1 && size < lanes) lanes /= 2;
  return cost * kLanes / lanes;
}

// What of that a CPU saves for lanes along a parallel axis by storing squares, turned, along the last row axis.
std::int64_t saved_by_squares(const fuse::Graph& graph, const Kernel& kernel, int axis, int last_row) {
  std::int64_t saved = 0;
  for (const auto& root : kernel.roots) {
    const auto size = static_cast<std::int64_t>(itemsize(graph.nodes[root.node].dtype));
    if (fuse::root_pass(kernel, root) >= 0 && stride_along(root.index, last_row) == 1)
      saved += 2 * (step_bytes(root.index, axis, graph.nodes[root.node].dtype) - size);
  }
  return saved;
}

void move_axis(Kernel& kernel, int from, int to) {
  if (from == to) return;
  std::vector<int> order(kernel.sizes.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = static_cast<int>(axis);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  fuse::Sizes sizes(order.size());
  std::vector<IndexExpr> by(order.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    sizes[axis] = kernel.sizes[order[axis]];
    by[order[axis]] = IndexExpr::of_axis(static_cast<int>(axis));
  }
  kernel.sizes = sizes;
  each_index(kernel, [&](IndexExpr& index) { index = substitute(index, by); });
}

// Moves the axis that is cheapest for lanes to the end of [first, last); before it, where lanes then walk apart somewhere, the
// axis along which those accesses lie side by side: a transpose goes by squares of the two.
void order_axes(const fuse::Graph& graph, Kernel& kernel, int first, int last) {
  const auto cheapest = [&](int end, int apart) {
    int best = end - 1;
    for (int axis = first; axis < end; ++axis)
      if (cost_along(graph, kernel, axis, apart) < cost_along(graph, kernel, best, apart)) best = axis;
    return best;
  };
  if (last - first < 2) return;
  move_axis(kernel, cheapest(last, -1), last - 1);
  if (kernel.row_axes() == 0 && last - first > 2) move_axis(kernel, cheapest(last - 1, last - 1), last - 2);
}

// Two neighbouring axes that every access walks as one become one.
void merge_axes(Kernel& kernel) {
  for (int axis = static_cast<int>(kernel.sizes.size()) - 2; axis >= 0; --axis) {
    if (axis == kernel.parallel - 1) continue;            // a parallel and a row axis
    if (kernel.chunks.length > 0 && axis == 0) continue;          // the chunk axis stays itself
    const fuse::Size inner = kernel.sizes[axis + 1];
    bool all = true;
    each_index(kernel, [&](IndexExpr& index) { all = all && walks_as_one(index, axis, inner); });
    if (!all) continue;
    kernel.sizes[axis + 1] *= kernel.sizes[axis];
    kernel.sizes.erase(kernel.sizes.begin() + axis);
    if (axis < kernel.parallel) --kernel.parallel;
    std::vector<IndexExpr> by;  // the merged axis takes the inner one's place
    for (int old = 0; old <= static_cast<int>(kernel.sizes.size()); ++old)
      by.push_back(old == axis ? IndexExpr::of(0) : IndexExpr::of_axis(old < axis ? old : old - 1));
    each_index(kernel, [&](IndexExpr& index) { index = substitute(index, by); });
  }
}

// ---- the nest -------------------------------------------------------------------------------------------------------------

class Lowering {
 public:
  Lowering(const fuse::Graph& graph, const Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options)
      : graph_(graph), limits_(limits), kernel_(kernel) {
    nest_.fast_math = options.fast_math;
  }

  Lowered run() {
    merge_axes(kernel_);
    order_axes(graph_, kernel_, kernel_.chunks.length > 0 ? 1 : 0, kernel_.parallel);
    if (!fuse::has_scan(kernel_)) order_axes(graph_, kernel_, kernel_.parallel, static_cast<int>(kernel_.sizes.size()));
    merge_axes(kernel_);
    nest_.parallel = kernel_.parallel;
    nest_.rows = kernel_.row_axes();
    ints_ = kernel_.sizes;
    if (kernel_.chunks.length > 0) {
      nest_.chunk_axis = 0;
      nest_.chunk_row = nest_.parallel;
      nest_.chunk_total = parameter(kernel_.chunks.total);
    }
    choose_vector_axis();
    if (column_form_on_cuda()) {  // its row points are spread over a block's threads, pass by pass differently
      kernel_.kept.clear();
      kernel_.slots.clear();
    }
    make_stages();
    compute_in_wider_types(nest_);
    if (limits_.is_cuda()) choose_cuda_form();
    nest_.ints = hints(ints_);
    verify(nest_);
    name_it();
    return {std::move(nest_), std::move(ints_), std::move(input_offsets_), std::move(output_offsets_)};
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

  /// `at`: the instructions of the kernel's values here.
  int index_of(const IndexExpr& expr, bool with_constant, const std::vector<int>& at) {
    const auto key = std::pair(expr.order(), with_constant);
    // Accesses of one layout share their numbers; a value is another instruction in each pass.
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
    const IndexExpr walk = expr + IndexExpr::of(-expr.constant());  // the constant goes into the pointer
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

  void choose_vector_axis() {
    const int last_parallel = nest_.parallel - 1, last_row = nest_.axes() - 1;
    nest_.vector_axis = last_parallel;
    if (nest_.rows == 0) return;
    auto parallel_cost = cost_along(graph_, kernel_, last_parallel);
    const auto row_cost = cost_along(graph_, kernel_, last_row);
    if (!limits_.is_cuda()) parallel_cost -= saved_by_squares(graph_, kernel_, last_parallel, last_row);
    // Very short rows leave most lanes idle; neighbouring rows fill them.
    const bool short_rows = kernel_.row_points() <= (limits_.is_cuda() ? 8 : 31) && kernel_.sizes[last_parallel] >= 64;
    if (!short_rows && (row_cost <= parallel_cost || kernel_.sizes[last_parallel] < 8)) nest_.vector_axis = last_row;
  }

  bool column_form_on_cuda() const {
    return limits_.is_cuda() && nest_.rows > 0 && nest_.vector_axis < nest_.parallel;
  }

  std::string instr_name(const Value& value) {
    std::string base(value.kind == Value::Kind::load     ? "load"
                     : value.kind == Value::Kind::scalar ? "literal"
                                                         : trace::name(value.op));
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
    std::vector<int> at(count, -1);        // value -> instruction, of parallel-level values
    std::vector<int> slot(count, -1);
    std::vector<char> stored(count);       // its slot is filled
    for (const auto& keep : kernel_.kept) slot[keep.value] = keep.slot;
    nest_.slots = kernel_.slots;
    nest_.checks = static_cast<int>(kernel_.checks.size());
    std::vector<char> checked(kernel_.checks.size());
    for (const auto& root : kernel_.roots)
      nest_.outputs.push_back(access(root.node, root.index, fmt::format("out{}", nest_.outputs.size()), at));

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
          once.stores.push_back({static_cast<int>(r), at[kernel_.roots[r].value]});
      raise_checks(once, at, checked, [&](const Value& condition) { return !condition.row && condition.ready == pass; });
      if (!once.body.empty() || !once.stores.empty()) nest_.stages.push_back(std::move(once));
      if (pass == passes) break;

      Stage rows;
      rows.row = true;
      std::vector<int> here = at;  // row values live in their pass alone
      const auto need = [&](auto& self, int v) -> int {
        if (here[v] >= 0) return here[v];
        const Value& value = kernel_.values[v];
        if (slot[v] >= 0 && stored[v]) {
          Instr instr;
          instr.kind = Instr::Kind::slot;
          instr.dtype = instr.operand = value.dtype;
          instr.input = slot[v];
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
        if (slot[v] >= 0 && !stored[v]) rows.keeps.push_back({slot[v], here[v]});
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
        if (fuse::root_pass(kernel_, kernel_.roots[r]) == pass)
          rows.stores.push_back({static_cast<int>(r), need(need, kernel_.roots[r].value)});
      for (const auto& [v, number] : results) {
        at[v] = emit(kernel_.values[v], false, at);
        rows.reductions[number].result = at[v];
      }
      // A place that turns out to be an index, not a load's, is checked too.
      for (std::size_t k = 0; k < checked.size(); ++k) {
        const Value& condition = kernel_.values[kernel_.checks[k].condition];
        if (!checked[k] && condition.row && condition.ready == pass) need(need, kernel_.checks[k].condition);
      }
      raise_checks(rows, here, checked, [](const Value& condition) { return condition.row; });
      for (int v = 0; v < count; ++v) stored[v] |= slot[v] >= 0 && here[v] >= 0;
      if (!rows.stores.empty() || !rows.reductions.empty() || !rows.checks.empty()) nest_.stages.push_back(std::move(rows));
    }
  }

  // Checks whose condition is at hand in this stage, each once.
  template <class Here>
  void raise_checks(Stage& stage, const std::vector<int>& at, std::vector<char>& checked, Here is_here) {
    for (std::size_t k = 0; k < checked.size(); ++k) {
      const fuse::Check& check = kernel_.checks[k];
      if (checked[k] || at[check.condition] < 0 || !is_here(kernel_.values[check.condition])) continue;
      checked[k] = 1;
      stage.checks.push_back({at[check.condition], at[check.value], static_cast<int>(k)});
    }
  }

  // ---- CUDA: index width, vector accesses, threads per row ------------------------------------------------------------------

  void choose_cuda_form() {
    // A grid-stride loop may step past the end by one grid before it stops.
    const fuse::Size limit = std::int64_t{1} << 30;
    nest_.wide_index = kernel_.parallel_points() * kernel_.row_points() > limit;
    for (const auto* accesses : {&nest_.inputs, &nest_.outputs})
      for (const auto& a : *accesses) nest_.wide_index = nest_.wide_index || element_count(graph_.nodes[a.buffer].shape) > limit;
    std::size_t widest = 1;
    for (const auto* accesses : {&nest_.inputs, &nest_.outputs})
      for (const auto& a : *accesses) widest = std::max(widest, itemsize(a.dtype));
    const int lanes = widest == 8 ? 2 : 4;
    const bool scans = fuse::has_scan(kernel_);
    nest_.vector = !scans && vector_fits(lanes) ? lanes : 1;
    fuse::Size slot_bytes = 0;
    for (auto dtype : nest_.slots) slot_bytes += kernel_.row_points() * static_cast<std::int64_t>(itemsize(dtype));
    // A warp walks a short row alone; the columns form always shares its rows between several warps.
    const bool warp = !column_form_on_cuda() && kernel_.row_points() <= 1024 && slot_bytes * 8 <= limits_.row_bytes;
    nest_.row_threads = warp || (scans && column_form_on_cuda()) ? 32 : 256;
  }

  bool vector_fits(int lanes) const {
    const int axis = nest_.vector_axis;
    if (ints_[axis] % lanes != 0) return false;
    // What has a guard, or is found by a value, is read element by element.
    std::vector<char> by_element(nest_.inputs.size(), 1);
    for (const auto& instr : nest_.instrs)
      if (instr.kind == Instr::Kind::load && instr.guard < 0 && !jit::uses_values(nest_, nest_.inputs[instr.input].index))
        by_element[instr.input] = 0;
    for (const auto* accesses : {&nest_.inputs, &nest_.outputs})
      for (std::size_t k = 0; k < accesses->size(); ++k) {
        if (accesses == &nest_.inputs && by_element[k]) continue;
        const Access& a = (*accesses)[k];
        const fuse::Size& offset = (accesses == &nest_.inputs ? input_offsets_ : output_offsets_)[k];
        const int c = coefficient(nest_, a.index, axis);
        if (c == kNone) continue;
        if (c != kOne || offset % lanes != 0) return false;
        for (const auto& term : nest_.indices[a.index].terms) {
          if (term.axis == axis) continue;
          if (term.coeff == kOne || ints_[term.coeff] % lanes != 0) return false;
        }
      }
    return true;
  }

  void name_it() {
    std::vector<std::string> seen;
    for (const auto& value : kernel_.values) {
      if (value.kind != Value::Kind::op && value.kind != Value::Kind::reduced && value.kind != Value::Kind::scan) continue;
      nest_.ops.push_back((value.kind == Value::Kind::scan ? "scan_" : "") + std::string(trace::name(value.op)));
      if (seen.size() < 5 && std::find(seen.begin(), seen.end(), nest_.ops.back()) == seen.end()) seen.push_back(nest_.ops.back());
    }
    const bool column = nest_.rows > 0 && nest_.vector_axis < nest_.parallel;
    std::string name = nest_.rows == 0 ? "map" : kernel_.chunks.length > 0 ? "chunk" : column ? "column" : "row";
    for (const auto& op : seen) name += "_" + op;
    if (seen.empty()) name += "_copy";
    nest_.name = name;
    // Kernels of equal ops and different structure get different names; FNV-1a of the readable form.
    std::uint32_t hash = 2166136261u;
    for (unsigned char c : to_string(nest_) + (nest_.wide_index ? "w" : "") + std::to_string(nest_.vector) + std::to_string(nest_.row_threads) +
                               (nest_.fast_math ? "f" : ""))
      hash = (hash ^ c) * 16777619u;
    nest_.name += fmt::format("_{:08x}", hash);
  }

  const fuse::Graph& graph_;
  const fuse::Limits& limits_;
  Kernel kernel_;
  LoopNest nest_;
  fuse::Sizes ints_;     // as nest_.ints
  fuse::Sizes input_offsets_, output_offsets_;
  std::map<std::pair<int, bool>, int> indices_;  // by expression, with or without its constant
  std::map<std::pair<int, int>, int> inputs_;    // by node and expression
};

}  // namespace

Lowered lower(const fuse::Graph& graph, const Kernel& kernel, const fuse::Limits& limits, const LowerOptions& options) {
  const fuse::IndexSpace::Scope scope(kernel.space);
  return Lowering(graph, kernel, limits, options).run();
}

}  // namespace sinter::jit
