#include "jit/reduction_order.hpp"

#include <algorithm>

namespace sinter::jit {

int cost_of(const LoopNest& nest, const Stage& stage) {
  int cost = 0;
  for (int number : stage.body)
    if (nest.instrs[number].kind == Instr::Kind::op) cost += trace::primitive(nest.instrs[number].op).cost;
  return cost;
}

namespace {

/// Returns whether an instruction is index arithmetic or a comparison of it. These are few instructions for each cache line and do not decide the lanes.
bool only_of_indices(const LoopNest& nest, const Instr& instr) {
  if (instr.kind == Instr::Kind::index) return true;
  if (instr.kind != Instr::Kind::op || !is_bool(instr.dtype)) return false;
  return std::all_of(std::begin(instr.args), std::end(instr.args), [&](int arg) { return arg < 0 || nest.instrs[arg].kind == Instr::Kind::index; });
}

int widest_element(const LoopNest& nest, const Instr& instr) {
  if (only_of_indices(nest, instr)) return 1;
  return static_cast<int>(instr.kind == Instr::Kind::op ? std::max(itemsize(instr.dtype), itemsize(instr.operand)) : itemsize(instr.dtype));
}

}  // namespace

int widest_element(const LoopNest& nest) {
  int widest = 1;
  for (const Instr& instr : nest.instrs) widest = std::max(widest, widest_element(nest, instr));
  return widest;
}

int row_lanes(const LoopNest& nest, const Stage& stage) {
  if (stage.lanes > 0) return stage.lanes;
  std::size_t widest = 0;
  for (const Reduction& reduction : stage.reductions)
    if (const DType dtype = nest.instrs[reduction.result].dtype; is_floating(dtype)) widest = std::max(widest, itemsize(dtype));
  return widest > 0 ? std::min(kMaxLanes, 4 * 64 / static_cast<int>(widest)) : body_lanes(nest, stage);
}

int scan_lanes(const LoopNest& nest, const Stage& stage) {
  std::size_t widest = 0;
  for (const int number : stage.body) {
    const Instr& instr = nest.instrs[number];
    if (instr.kind != Instr::Kind::scan) continue;
    if (const DType dtype = trace::scan_carry(instr.op, instr.dtype); is_floating(dtype)) widest = std::max(widest, itemsize(dtype));
  }
  return 64 / (widest > 0 ? static_cast<int>(widest) : widest_element(nest));
}

int body_lanes(const LoopNest& nest, const Stage& stage) {
  if (has_scan(nest, stage)) return scan_lanes(nest, stage);
  const int cost = cost_of(nest, stage);
  const int vectors = cost > 40 ? 1 : cost <= 8 ? 4 : 2;
  int widest = 1;
  for (const int number : stage.body) widest = std::max(widest, widest_element(nest, nest.instrs[number]));
  return std::min(kMaxLanes, vectors * 64 / widest);
}

bool rounds(Op reduction, DType dtype) { return is_floating(dtype) && (reduction == Op::reduce_sum || reduction == Op::reduce_prod); }

bool may_end_early(const LoopNest& nest, const Stage& stage) {
  if (!stage.stores.empty() || !stage.keeps.empty() || !stage.checks.empty() || has_scan(nest, stage)) return false;
  return !stage.reductions.empty() && std::all_of(stage.reductions.begin(), stage.reductions.end(), [&](const Reduction& reduction) {
    if (bound_of_first_place(nest, reduction) >= 0) return true;
    return is_bool(nest.instrs[reduction.result].dtype) && (reduction.op == Op::reduce_max || reduction.op == Op::reduce_min);
  });
}

int bound_of_first_place(const LoopNest& nest, const Reduction& reduction) {
  const Instr& value = nest.instrs[reduction.value];
  if (reduction.op != Op::reduce_min || nest.rows != 1 || value.kind != Instr::Kind::op || value.op != Op::where) return -1;
  const Instr &place = nest.instrs[value.args[1]], &bound = nest.instrs[value.args[2]];
  const bool ascends = place.kind == Instr::Kind::index && !uses_values(nest, place.input) && coefficient(nest, place.input, nest.parallel) == kOne;
  return ascends && bound.kind == Instr::Kind::scalar ? value.args[2] : -1;
}

}  // namespace sinter::jit
