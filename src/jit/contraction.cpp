#include "jit/contraction.hpp"

#include <algorithm>

namespace sinter::jit {
namespace {

/// Returns the stage that passes over rows, if it is the only one and only reduces, else null.
const Stage* only_pass(const LoopNest& nest) {
  const Stage* pass = nullptr;
  for (const Stage& stage : nest.stages) {
    if (!stage.row) continue;
    if (pass || stage.reductions.empty() || !stage.stores.empty() || has_scan(nest, stage)) return nullptr;
    pass = &stage;
  }
  return nest.checks > 0 || !nest.persistent.empty() ? nullptr : pass;
}

/// Returns for each instruction whether its value changes along the parallel axis.
std::vector<char> changing(const LoopNest& nest, int axis) {
  std::vector<char> changes(nest.instrs.size());
  for (const Stage& stage : nest.stages)
    for (const int id : stage.body) {
      const Instr& instr = nest.instrs[id];
      const int index = instr.kind == Instr::Kind::load ? nest.inputs[instr.input].index : instr.kind == Instr::Kind::index ? instr.input : -1;
      bool found = index >= 0 && depends_on(nest, index, axis);
      each_operand(nest, instr, [&](int operand) { found = found || changes[static_cast<std::size_t>(operand)]; });
      changes[static_cast<std::size_t>(id)] = found;
    }
  return changes;
}

bool has(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

}  // namespace

std::optional<Contraction> contraction(const LoopNest& nest, int left_axis, int right_axis) {
  const Stage* const pass = only_pass(nest);
  if (!pass || nest.chunk_axis == left_axis || nest.chunk_axis == right_axis) return std::nullopt;
  const std::vector<char> left = changing(nest, left_axis), right = changing(nest, right_axis);
  const auto of_pairs = [&](int id) { return left[static_cast<std::size_t>(id)] && right[static_cast<std::size_t>(id)]; };
  Contraction found;
  const auto take = [&](int id) {
    if (has(found.pairs, id) || nest.instrs[id].kind == Instr::Kind::scalar) return true;
    if (of_pairs(id)) return false;  // a value that depends on both axes would have to be read for each pair
    std::vector<int>& side = right[static_cast<std::size_t>(id)] ? found.right : found.left;
    if (!has(side, id)) side.push_back(id);
    return true;
  };
  bool good = true;
  for (const int id : pass->body) {
    const Instr& instr = nest.instrs[id];
    if (!of_pairs(id)) continue;
    if (instr.kind != Instr::Kind::op) return std::nullopt;
    each_operand(nest, instr, [&](int operand) { good = good && take(operand); });
    found.pairs.push_back(id);
  }
  found.of_products = true;
  for (const Reduction& reduction : pass->reductions) {
    good = good && take(reduction.value);
    const Instr& value = nest.instrs[reduction.value];
    const auto on = [&](const std::vector<int>& side) { return has(side, value.args[0]) || has(side, value.args[1]); };
    found.of_products = found.of_products && reduction.op == Op::reduce_sum && has(found.pairs, reduction.value) && value.op == Op::multiply &&
                        on(found.left) && on(found.right);
  }
  if (!good || found.pairs.empty() || found.left.empty() || found.right.empty()) return std::nullopt;
  return found;
}

std::vector<int> computed_from(const LoopNest& nest, const std::vector<int>& values) {
  std::vector<char> needed(nest.instrs.size());
  std::vector<int> stack = values, list;
  while (!stack.empty()) {
    const int id = stack.back();
    stack.pop_back();
    if (needed[static_cast<std::size_t>(id)]) continue;
    needed[static_cast<std::size_t>(id)] = 1;
    each_operand(nest, nest.instrs[id], [&](int operand) { stack.push_back(operand); });
  }
  for (const Stage& stage : nest.stages)
    for (const int id : stage.body)
      if (needed[static_cast<std::size_t>(id)]) list.push_back(id);
  return list;
}

std::size_t contraction_shared(const LoopNest& nest, const Contraction& parts, int side) {
  std::size_t bytes = 0;
  for (const auto* values : {&parts.left, &parts.right})
    for (const int id : *values) bytes += itemsize(nest.instrs[id].dtype);
  return 2 * static_cast<std::size_t>(contraction_depth(side)) * static_cast<std::size_t>(side + 4) * bytes;
}

}  // namespace sinter::jit
