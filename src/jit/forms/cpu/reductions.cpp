// Reductions and scans: their parts, and their combination in the order of jit/reduction_order.hpp.
#include <algorithm>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {

using Kind = Expr::Kind;

void Lowering::start_reductions(const Stage& stage, int lanes, int width, bool in_slices) {
  const auto is_counted = [&](const Reduction& reduction) { return rounds(reduction.op, result(reduction).dtype); };
  const auto counted = std::find_if(stage.reductions.begin(), stage.reductions.end(), is_counted);
  if (counted != stage.reductions.end()) steps_ = var(result(*counted).name + "_steps", DType::int64, 0);
  for (const Reduction& reduction : stage.reductions) {
    const Instr& result = this->result(reduction);
    const bool sliced = in_slices || (width < lanes && is_floating(result.dtype));
    Parts& parts = parts_[reduction.result] = {sliced ? lanes : width, {}, {}, {}, {}, {}};
    const auto part = [&](const char* level) {
      const std::string name = fmt::format("{}_{}", result.name, level);
      if (!sliced) return var(name, {result.dtype, parts.lanes}, neutral(reduction));
      const Memory memory = registers(name, result.dtype, lanes);
      if (parts.sliced.name.empty()) parts.sliced = memory;
      const E all = memory.vector_at({0}, lanes);
      store(all, neutral(reduction));
      return all;
    };
    parts.step = part("step");
    if (!is_counted(reduction)) continue;
    parts.block = part("block");
    parts.run = part("run");
  }
}

/// Adds a body's values to the parts: all lanes, or those from first_lane_ on, which stay in memory until the whole step is there.
void Lowering::combine_values(const Stage& stage, int lanes) {
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    const E value = value_[reduction.value];
    if (!parts.rest.name.empty() && !first_lane_.empty()) {
      store(parts.rest.vector_at({first_lane_}, lanes), value);
      continue;
    }
    const E part = parts.sliced.name.empty() ? parts.step : parts.sliced.vector_at({slice_}, lanes), after = combined(reduction, part, value);
    store(part, mask_.empty() ? after : loop::select(mask_, after, part));
  }
}

void Lowering::end_step(const Stage& stage) {
  if (std::none_of(stage.reductions.begin(), stage.reductions.end(), [&](const Reduction& r) { return !parts_[r.result].block.empty(); })) return;
  store(steps_, steps_ + 1);
  branch((steps_ & (kBlockSteps - 1)) == 0, [&] {
    move_parts(stage, &Parts::step, &Parts::block);
    branch((steps_ & (kRunSteps - 1)) == 0, [&] { move_parts(stage, &Parts::block, &Parts::run); });
  });
}

/// Combines each part into the next larger one, and starts the part again.
void Lowering::move_parts(const Stage& stage, E Parts::*from, E Parts::*to) {
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    if (parts.block.empty()) continue;
    store(parts.*to, combined(reduction, parts.*to, parts.*from));
    store(parts.*from, neutral(reduction));
  }
}

void Lowering::finish_reductions(const Stage& stage) {
  move_parts(stage, &Parts::step, &Parts::block);
  move_parts(stage, &Parts::block, &Parts::run);
  for (const Reduction& reduction : stage.reductions) {
    const Parts& parts = parts_[reduction.result];
    const E total = parts.run.empty() ? parts.step : parts.run;
    value_[reduction.result] =
        let(result(reduction).name, {total->type.dtype, along_rows_ ? tree_lanes_ : parts.lanes}, along_rows_ ? tree(reduction, total) : total);
  }
}

E Lowering::tree(const Reduction& reduction, const E& lanes) const {
  if (lanes->type.width == tree_lanes_) return lanes;
  return Expr{.kind = Kind::tree, .type = {lanes->type.dtype, tree_lanes_}, .op = reduction.op, .args = {lanes}};
}

// ---- scans

void Lowering::start_scans(const Stage& stage, int lanes) {
  for (const int number : stage.body) {
    const Instr& instr = nest_.instrs[number];
    if (instr.kind != Instr::Kind::scan) continue;
    const DType dtype = trace::scan_carry(instr.op, instr.dtype);
    const E start = instr.args[1] < 0 ? loop::cast(loop::neutral(instr.op, instr.dtype), dtype) : value_[instr.args[1]];
    so_far_[number] = var(instr.name + "_so_far", {dtype, lanes}, start);
  }
}

E Lowering::scan(int number, int lanes) {
  const Instr& instr = nest_.instrs[number];
  const DType dtype = trace::scan_carry(instr.op, instr.dtype);
  const auto carry = [&](const E& a, const E& b) { return Statements::combined(instr.op, dtype, a, b); };
  const E before = so_far_[number];
  E values = loop::cast(value_[instr.args[0]], dtype);
  if (!along_rows_) {
    store(before, carry(before, values));
    return let(instr.name, {instr.dtype, lanes}, loop::cast(before, instr.dtype));
  }
  if (!mask_.empty()) values = loop::select(mask_, values, loop::cast(loop::neutral(instr.op, instr.dtype), dtype));
  values = let(instr.name + "_prefix", {dtype, lanes}, Expr{.kind = Kind::prefix, .type = {dtype, lanes}, .op = instr.op, .args = {values}});
  const E all = let(instr.name, {instr.dtype, lanes}, loop::cast(carry(before, values), instr.dtype));
  store(before, carry(before, loop::lane_of(values, lanes - 1)));
  return all;
}

}  // namespace sinter::jit::forms::cpu
