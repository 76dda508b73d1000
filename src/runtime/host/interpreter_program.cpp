#include "runtime/host/interpreter_program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jit/reduction_order.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime {

using jit::Instr;
using jit::kNone;
using jit::kOne;
using jit::LoopNest;

Interpreter::Program::Program(const LoopNest& given) : nest(given) {
  verify(nest);
  lanes_are_rows = nest.schedule.lanes_along_rows();
  for (DType buffer : nest.persistent) persistent_bytes += static_cast<std::int64_t>(itemsize(buffer));
  walks.assign(nest.indices.size(), Walk::constant);
  irregular_tile.assign(nest.indices.size(), -1);
  for (std::size_t k = 0; k < nest.indices.size(); ++k)
    if (!uses_values(nest, static_cast<int>(k))) classify(static_cast<int>(k));
  values.resize(nest.instrs.size());
  stages.resize(nest.stages.size());
  for (std::size_t k = 0; k < stages.size(); ++k) plan_stage(static_cast<int>(k));
  place_values();
  scratch_tile = tiles;
  tiles += 3;
  // The tiles fill the part of the first-level cache that the schedule allows; inputs and outputs use the rest.
  lanes = std::clamp<std::int64_t>((nest.schedule.workspace << 10) / (8 * std::max(tiles - 3, 1)), 256, kTile) / 64 * 64;
}

/// Decides how the index changes along the vector axis. Its inner indices, and whether its values are tiles, are known already.
void Interpreter::Program::classify(int index) {
  Walk& walk = walks[index];
  for (const auto& term : nest.indices[index].terms) {
    Walk here = term.axis == nest.lane_axis() ? Walk::linear : Walk::constant;
    if (term.inner >= 0) {
      here = walks[term.inner];
      if (here == Walk::linear && (term.div != kOne || term.mod != kNone)) here = Walk::irregular;
    }
    if (term.value >= 0 && values[term.value].varying) here = Walk::irregular;
    walk = std::max(walk, here);
  }
  if (walk == Walk::irregular && irregular_tile[index] < 0) irregular_tile[index] = place_of(true);
}

void Interpreter::Program::need_index(StageProgram& stage, int index) {
  if (std::find(stage.indices.begin(), stage.indices.end(), index) != stage.indices.end()) return;
  if (std::any_of(stage.steps.begin(), stage.steps.end(), [&](const Step& step) { return step.index == index; })) return;
  for (const auto& term : nest.indices[index].terms)
    if (term.inner >= 0) need_index(stage, term.inner);
  if (!uses_values(nest, index)) {
    stage.indices.push_back(index);
    return;
  }
  classify(index);
  Step step;
  step.index = index;
  for (const auto& term : nest.indices[index].terms)
    if (term.value >= 0) step.reads.push_back(term.value);
  stage.steps.push_back(std::move(step));
}

void Interpreter::Program::plan_load(StageProgram& program, const Instr& instr, Value& value, bool has_lanes) {
  const int index = nest.inputs[instr.input].index;
  need_index(program, index);
  value.varying = has_lanes && walks[index] != Walk::constant;
  if (instr.guard >= 0) value.varying |= values[instr.guard].varying;
  if (instr.fill >= 0) value.varying |= values[instr.fill].varying;
}

void Interpreter::Program::plan_op(const Instr& instr, Value& value, Step& step) const {
  const int arity = trace::primitive(instr.op).arity;
  for (int k = 0; k < arity; ++k) {
    step.args[k] = instr.args[k];
    value.varying |= values[instr.args[k]].varying;
  }
  for (int k = 0; k < arity; ++k) step.expand[k] = value.varying && !values[instr.args[k]].varying;
  step.kernel = elementwise_kernel(instr.op, instr.operand, instr.dtype);
  if (!step.kernel) throw InternalError(fmt::format("interpreter: no {} over {} giving {}", trace::name(instr.op), name(instr.operand), name(instr.dtype)));
}

void Interpreter::Program::plan_stage(int number) {
  const jit::Stage& stage = nest.stages[number];
  StageProgram& program = stages[number];
  program.row = stage.row;
  program.row_lanes = jit::row_lanes(nest, stage);
  program.scan_lanes = jit::scan_lanes(nest, stage);
  // A stage outside of rows has lanes only if the lanes are parallel points.
  const bool has_lanes = stage.row || !lanes_are_rows;
  for (int id : stage.body) {
    const Instr& instr = nest.instrs[id];
    Value& value = values[id];
    value.bytes = static_cast<int>(itemsize(instr.dtype));
    Step step;
    step.instr = id;
    each_operand(nest, instr, [&](int operand) { step.reads.push_back(operand); });
    switch (instr.kind) {
      case Instr::Kind::load: plan_load(program, instr, value, has_lanes); break;
      case Instr::Kind::index:
        need_index(program, instr.input);
        value.varying = has_lanes && walks[instr.input] != Walk::constant;
        break;
      case Instr::Kind::persistent: value.varying = true; break;
      case Instr::Kind::scan:
        value.varying = true;
        step.args[0] = instr.args[0];
        step.expand[0] = !values[instr.args[0]].varying;
        program.scans.push_back({scan_kernels(instr.op, instr.dtype), id, place_of(true)});
        break;
      case Instr::Kind::op: plan_op(instr, value, step); break;
      case Instr::Kind::scalar:
      case Instr::Kind::reduced: break;
    }
    program.steps.push_back(std::move(step));
  }
  for (const auto& reduction : stage.reductions) {
    Value& result = values[reduction.result];
    result.varying = !lanes_are_rows;
    result.bytes = static_cast<int>(itemsize(nest.instrs[reduction.result].dtype));
    Program::Fold fold{reduction_kernels(reduction.op, nest.instrs[reduction.value].dtype), reduction.value, reduction.result,
                       jit::bound_of_first_place(nest, reduction), place_of(true)};
    if (jit::rounds(reduction.op, nest.instrs[reduction.value].dtype)) {
      fold.block = place_of(true);
      fold.run = place_of(true);
    }
    program.folds.push_back(fold);
  }
  program.may_end_early = jit::may_end_early(nest, stage);
  for (const auto& store : stage.stores) need_index(program, nest.outputs[store.output].index);
}

namespace {

/// Calls visit(value) for each value that a stage uses when its steps are done.
template <class Visit> void each_last_read(const jit::Stage& stage, Visit visit) {
  for (const auto& reduction : stage.reductions) visit(reduction.value);
  for (const auto& keep : stage.keeps) visit(keep.value);
  for (const auto& check : stage.checks) {
    visit(check.condition);
    visit(check.value);
  }
  for (const auto& store : stage.stores) {
    visit(store.value);
    if (store.guard >= 0) visit(store.guard);
  }
}

}  // namespace

// Assigns tiles to values. A tile is reused after the last use of its value, so that a long body stays in L1.
void Interpreter::Program::place_values() {
  std::vector<int> owner(values.size(), -1);
  std::vector<char> lives_on(values.size(), 0);  // whether a later stage reads the value
  for (int number = 0; number < static_cast<int>(stages.size()); ++number) {
    const jit::Stage& stage = nest.stages[number];
    const auto use = [&](int id) { lives_on[id] |= owner[id] != number; };
    for (const auto& step : stages[number].steps) {
      if (step.instr >= 0) owner[step.instr] = number;
      for (int value : step.reads) use(value);
    }
    each_last_read(stage, use);
  }

  std::vector<int> free_tiles;
  for (int number = 0; number < static_cast<int>(stages.size()); ++number) {
    const jit::Stage& stage = nest.stages[number];
    auto& steps = stages[number].steps;
    const int end = static_cast<int>(steps.size());
    std::vector<int> last_use(values.size(), -1);  // number of a step, or `end`
    for (int k = 0; k < end; ++k) {
      if (steps[k].instr >= 0) last_use[steps[k].instr] = k;
      for (int value : steps[k].reads) last_use[value] = k;
    }
    each_last_read(stage, [&](int value) { last_use[value] = end; });

    const auto release = [&](int after) {
      for (const auto& step : steps) {
        const int id = step.instr;
        if (id < 0) continue;
        if (values[id].varying && values[id].place >= 0 && last_use[id] == after && !lives_on[id]) free_tiles.push_back(values[id].place);
      }
    };
    for (int k = 0; k < end; ++k) {
      if (steps[k].instr < 0) {
        release(k);
        continue;
      }
      Value& value = values[steps[k].instr];
      // An output may share an input's buffer, so a load whose value is read after a store is a copy.
      steps[k].in_place = !lives_on[steps[k].instr] && stage.stores.size() < 2;
      if (value.varying && !free_tiles.empty()) {
        value.place = free_tiles.back();
        free_tiles.pop_back();
      } else {
        value.place = place_of(value.varying);
      }
      release(k);
    }
    release(end);
    for (const auto& fold : stages[number].folds) values[fold.result].place = place_of(values[fold.result].varying);
  }
}

}  // namespace sinter::runtime
