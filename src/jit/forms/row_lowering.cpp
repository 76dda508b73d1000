#include <algorithm>

#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {

void RowLowering::declare_accumulators(const Stage& stage) {
  for (const Reduction& reduction : stage.reductions) {
    const Memory own = part(reduction);
    const E start = loop::neutral(reduction.op, own.type.dtype);
    if (width_ == 1) var(own.name, own.type, start);
    else registers(own.name, own.type, width_, start);
  }
}

void RowLowering::declare_parts(const std::vector<int>& extents) {
  for (const Stage& stage : nest_.stages)
    for (const Reduction& reduction : stage.reductions) shared(result(reduction).name + "_parts", result(reduction).dtype, extents);
}

void RowLowering::declare_persistent_registers() {
  for (std::size_t i = 0; i < nest_.persistent.size(); ++i) registers(fmt::format("persistent{}", i), nest_.persistent[i], steps_.count * width_);
}

void RowLowering::thread_loop(const Stage& stage, const E& end) {
  const E own = along_ > 1 ? thread_ * along_ : thread_;
  const int step = sharing_ * along_;
  const auto walk = [&](const E& from, const E& to) {
    each(Binding::threads, count_, "row", from.empty() ? own : from + own, to, step, [&](const E&) {
      unflatten_row(stage);
      stage_body(stage, row_owner_);
    });
  };
  if (stage.first >= 0 && width_ == 1 && first_.empty()) {
    const std::string name = result(stage.reductions[0]).name;
    const E points = loop::cast(end, DType::int64), first = value_[stage.first], last = value_[stage.end];
    const E from = let(name + "_from", count_, loop::cast(select(first < 0, as(0, DType::int64), select(first < points, first, points)), count_));
    return walk(from, let(name + "_until", count_, loop::cast(select(last < 0, as(0, DType::int64), select(last < points, last, points)), count_)));
  }
  if (!may_end_early(nest_, stage)) return walk(first_, end);
  const int stretch = step * kUndecidedSteps;
  each(Binding::serial, count_, "begin", first_.empty() ? E(0) : first_, end, stretch, [&](const E& begin) {
    walk(begin, let("stop", count_, select(end - begin < stretch, end, begin + stretch)));
    add({.kind = Stmt::Kind::last, .guard = decided(stage)});
  });
}

E RowLowering::decided(const Stage& stage) const {
  E all;
  for (const Reduction& reduction : stage.reductions) {
    const int bound = bound_of_first_place(nest_, reduction);
    E known;
    for (int lane = 0; lane < width_; ++lane) {
      const Memory parts = part(reduction);
      const E own = width_ > 1 ? parts.at({lane}) : loop::variable(parts.name, parts.type);
      const E one = bound >= 0 ? own < value_[bound] : reduction.op == Op::reduce_max ? own : !own;
      known = lanes_share_ ? known || one : known && one;
    }
    all = all && known;
  }
  return all;
}

void RowLowering::steps_loop(const Stage& stage) {
  unrolled("step", 0, steps_.count, [&](const E& step) {
    const E at = loop::cast(step, count_) * sharing_ + thread_, vectors = along_ > 1 ? at * along_ : at, place = first_.empty() ? vectors : first_ + vectors;
    // A later pass may read inputs that the first pass did not. Without a test ptxas would load them for all steps at once, beside the cached values.
    const auto has = [&](Instr::Kind kind) { return std::any_of(stage.body.begin(), stage.body.end(), [&](int id) { return nest_.instrs[id].kind == kind; }); };
    const bool reads = has(Instr::Kind::load), reads_again = reads && has(Instr::Kind::persistent);
    if (clamps_ && reads && !reads_again) {
      // The point that is read again is not counted. Without branches, all reads of the row are in flight at once.
      counts_ = let("in_row", DType::bool_, place < end_);
      let("row", count_, select(counts_, place, counted("row_points") - 1));
      unflatten_row(stage);
      stage_body(stage, counts_);
      counts_ = {};
      return;
    }
    const E row = let("row", count_, place);
    if (!steps_.whole || reads_again) next(row >= end_);
    unflatten_row(stage);
    stage_body(stage, row_owner_);
  });
}

void RowLowering::start_scans(const Stage& stage) {
  each_scan(stage, [&](const Instr& scan) {
    var(so_far(scan)->name, carried(scan), scan.args[1] < 0 ? loop::neutral(scan.op, carried(scan)) : value_[scan.args[1]]);
  });
}

void RowLowering::guard_reuse(bool shared_parts) {
  const auto reducing = std::count_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return !stage.reductions.empty(); });
  if (shared_parts && reducing == 1) barrier(loop::Scope::block, "before the next point writes its parts");
}

}  // namespace sinter::jit::forms
