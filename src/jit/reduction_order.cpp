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

/// Index arithmetic, and what compares it, takes few instructions to each line of memory: it does not decide how many lanes there are.
bool only_of_indices(const LoopNest& nest, const Instr& instr) {
  if (instr.kind == Instr::Kind::index) return true;
  if (instr.kind != Instr::Kind::op || !is_bool(instr.dtype)) return false;
  return std::all_of(std::begin(instr.args), std::end(instr.args),
                     [&](int arg) { return arg < 0 || nest.instrs[arg].kind == Instr::Kind::index; });
}

}  // namespace

int widest_element(const LoopNest& nest) {
  std::size_t widest = 1;
  for (const Instr& instr : nest.instrs) {
    if (only_of_indices(nest, instr)) continue;
    widest = std::max(widest, itemsize(instr.dtype));
    if (instr.kind == Instr::Kind::op) widest = std::max(widest, itemsize(instr.operand));
  }
  return static_cast<int>(widest);
}

int row_lanes(const LoopNest& nest, const Stage& stage) {
  if (stage.lanes > 0) return stage.lanes;
  const int cost = cost_of(nest, stage);
  const int vectors = has_scan(nest, stage) || cost > 40 ? 1 : cost <= 8 ? 4 : 2;
  return std::min(64, vectors * 64 / widest_element(nest));
}

bool rounds(Op reduction, DType dtype) { return is_floating(dtype) && (reduction == Op::reduce_sum || reduction == Op::reduce_prod); }

}  // namespace sinter::jit
