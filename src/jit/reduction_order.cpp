#include "jit/reduction_order.hpp"

#include <algorithm>

namespace sinter::jit {

int cost_of(const LoopNest& nest, const Stage& stage) {
  int cost = 0;
  for (int number : stage.body)
    if (nest.instrs[number].kind == Instr::Kind::op) cost += trace::primitive(nest.instrs[number].op).cost;
  return cost;
}

int widest_element(const LoopNest& nest) {
  std::size_t widest = 1;
  for (const Instr& instr : nest.instrs) {
    widest = std::max(widest, itemsize(instr.dtype));
    if (instr.kind == Instr::Kind::op) widest = std::max(widest, itemsize(instr.operand));
  }
  return static_cast<int>(widest);
}

int row_lanes(const LoopNest& nest, const Stage& stage) {
  const int cost = cost_of(nest, stage);
  const int vectors = cost <= 8 ? 4 : cost <= 40 ? 2 : 1;
  return std::min(64, vectors * 64 / widest_element(nest));
}

bool rounds(Op reduction, DType dtype) { return is_floating(dtype) && (reduction == Op::reduce_sum || reduction == Op::reduce_prod); }

}  // namespace sinter::jit
