// Builds loop nests by hand, for tests.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::testing {

using jit::Instr;
using jit::kNone;
using jit::kOne;
using trace::Op;

/// Sets the number of threads that share a row or a column: 32 (one warp of a block of eight warps), or a whole block.
inline void share_rows(jit::LoopNest& nest, int threads) {
  auto* const rows = std::get_if<jit::RowsForm>(&nest.schedule.form);
  if (rows) rows->row_threads = threads;
  nest.schedule.threads = rows && threads == 32 ? 256 : threads;
}

class NestBuilder {
 public:
  /// Takes the sizes of the parallel axes, then of the row axes; the nest is vectorised along the last axis of either.
  NestBuilder(std::vector<std::int64_t> parallel, std::vector<std::int64_t> rows = {}, bool lanes_are_rows = false) {
    nest.name = "test";
    nest.parallel = static_cast<int>(parallel.size());
    nest.rows = static_cast<int>(rows.size());
    nest.ints = parallel;
    nest.ints.insert(nest.ints.end(), rows.begin(), rows.end());
    nest.schedule.form = rows.empty() ? jit::Form(jit::PointwiseForm()) : lanes_are_rows ? jit::Form(jit::RowsForm()) : jit::ColumnsForm();
  }

  int parameter(std::int64_t value) {
    nest.ints.push_back(value);
    return static_cast<int>(nest.ints.size()) - 1;
  }
  /// Returns the sum of stride * axis over all axes, and a constant; a stride of 0 leaves the axis out, 1 is structural.
  int affine(std::vector<std::int64_t> strides, std::int64_t constant = 0) {
    jit::Index index;
    if (constant != 0) index.constant = parameter(constant);
    for (int axis = 0; axis < static_cast<int>(strides.size()); ++axis)
      if (strides[axis] != 0) index.terms.push_back({strides[axis] == 1 ? kOne : parameter(strides[axis]), axis});
    return add(index);
  }
  int add(jit::Index index) {
    nest.indices.push_back(std::move(index));
    return static_cast<int>(nest.indices.size()) - 1;
  }

  /// Instructions are added to the latest stage.
  void stage(bool row) {
    nest.stages.emplace_back();
    nest.stages.back().row = row;
  }
  int load(DType dtype, int index) {
    jit::Access access;
    access.dtype = dtype;
    access.index = index;
    access.name = "in" + std::to_string(nest.inputs.size());
    nest.inputs.push_back(access);
    return emit(Instr::Kind::load, dtype, static_cast<int>(nest.inputs.size()) - 1);
  }
  int load_again(int input) { return emit(Instr::Kind::load, nest.inputs[input].dtype, input); }
  int scalar(DType dtype) {
    nest.scalars.push_back({dtype, -1});
    return emit(Instr::Kind::scalar, dtype, static_cast<int>(nest.scalars.size()) - 1);
  }
  int index_value(int index) { return emit(Instr::Kind::index, DType::int64, index); }
  int persistent(int number) { return emit(Instr::Kind::persistent, nest.persistent[number], number); }
  int op(Op op, DType result, const std::vector<int>& args) {
    const int id = emit(Instr::Kind::op, result, -1);
    Instr& instr = nest.instrs[id];
    instr.op = op;
    int k = 0;
    for (int arg : args) instr.args[k++] = arg;
    instr.operand = nest.instrs[args.size() == 3 ? instr.args[1] : instr.args[0]].dtype;
    return id;
  }
  int op(Op name, const std::vector<int>& args) { return op(name, nest.instrs[args[0]].dtype, args); }
  int cast(int value, DType to) { return op(Op::cast, to, {value}); }
  int reduce(Op op, int value) {
    Instr result;
    result.kind = Instr::Kind::reduced;
    result.dtype = nest.instrs[value].dtype;
    result.name = "r" + std::to_string(nest.instrs.size());
    nest.instrs.push_back(result);
    const int id = static_cast<int>(nest.instrs.size()) - 1;
    nest.stages.back().reductions.push_back({op, value, id});
    return id;
  }
  int keep(int value) {
    nest.persistent.push_back(nest.instrs[value].dtype);
    nest.stages.back().keeps.push_back({static_cast<int>(nest.persistent.size()) - 1, value});
    return static_cast<int>(nest.persistent.size()) - 1;
  }
  /// The load reads where the guard is true. Elsewhere its value is `fill`, or zero without one.
  int guarded(int load, int guard, int fill = -1) {
    nest.instrs[load].guard = guard;
    nest.instrs[load].fill = fill;
    return load;
  }
  int scan(Op op, int value) {
    const int id = emit(Instr::Kind::scan, nest.instrs[value].dtype, -1);
    nest.instrs[id].op = op;
    nest.instrs[id].args[0] = value;
    return id;
  }
  void check(int condition, int value) { nest.stages.back().checks.push_back({condition, value, nest.checks++}); }
  void store_if(int guard, int value, int index) {
    store(value, index);
    nest.stages.back().stores.back().guard = guard;
  }
  void store(int value, int index) {
    jit::Access access;
    access.dtype = nest.instrs[value].dtype;
    access.index = index;
    access.name = "out" + std::to_string(nest.outputs.size());
    nest.outputs.push_back(access);
    nest.stages.back().stores.push_back({static_cast<int>(nest.outputs.size()) - 1, value});
  }
  void chunks(int axis, std::int64_t total) {
    nest.chunk_axis = axis;
    nest.chunk_row = nest.parallel;
    nest.chunk_total = parameter(total);
  }

  jit::LoopNest nest;

 private:
  int emit(Instr::Kind kind, DType dtype, int input) {
    Instr instr;
    instr.kind = kind;
    instr.dtype = dtype;
    instr.input = input;
    instr.row = nest.stages.back().row;
    instr.name = "v" + std::to_string(nest.instrs.size());
    nest.instrs.push_back(instr);
    nest.stages.back().body.push_back(static_cast<int>(nest.instrs.size()) - 1);
    return static_cast<int>(nest.instrs.size()) - 1;
  }
};

}  // namespace sinter::testing
