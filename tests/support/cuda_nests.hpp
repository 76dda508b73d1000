// Builds loop nests by hand, for tests of the CUDA printer and device.
#pragma once
#include <fmt/format.h>

#include <vector>

#include "jit/loop_nest.hpp"

namespace sinter::test {

using jit::Index;
using jit::Instr;
using jit::LoopNest;
using jit::Stage;
using trace::Op;

/// Sets the number of threads that share a row or a column: 32 (one warp of a block of eight warps), or a whole block.
inline void share_rows(LoopNest& nest, int threads) {
  auto* const rows = std::get_if<jit::RowsForm>(&nest.schedule.form);
  if (rows) rows->row_threads = threads;
  nest.schedule.threads = rows && threads == 32 ? 256 : threads;
}

/// Writes a nest step by step; `value` numbers are instruction numbers.
class NestBuilder {
 public:
  NestBuilder(std::string name, std::vector<std::int64_t> parallel, std::vector<std::int64_t> rows = {}) {
    nest.name = std::move(name);
    nest.parallel = static_cast<int>(parallel.size());
    nest.rows = static_cast<int>(rows.size());
    nest.ints = std::move(parallel);
    nest.ints.insert(nest.ints.end(), rows.begin(), rows.end());
    nest.schedule.form = nest.rows > 0 ? jit::Form(jit::RowsForm()) : jit::PointwiseForm();
  }

  int number(std::int64_t value) {
    nest.ints.push_back(value);
    return static_cast<int>(nest.ints.size()) - 1;
  }
  /// Returns the index with these strides over the axes. A stride of 0 omits the axis, a stride of 1 needs no parameter.
  int index(const std::vector<std::int64_t>& strides, std::int64_t constant = 0) {
    Index x;
    for (std::size_t a = 0; a < strides.size(); ++a) {
      if (strides[a] == 0) continue;
      x.terms.push_back({strides[a] == 1 ? jit::kOne : number(strides[a]), static_cast<int>(a)});
    }
    if (constant != 0) x.constant = number(constant);
    return general(x);
  }
  int general(Index x) {
    nest.indices.push_back(std::move(x));
    return static_cast<int>(nest.indices.size()) - 1;
  }

  Stage& stage(bool row) {
    nest.stages.emplace_back();
    nest.stages.back().row = row;
    return nest.stages.back();
  }
  int input(DType dtype, int index) {
    nest.inputs.push_back({dtype, index, 0, 0, fmt::format("in{}", nest.inputs.size())});
    return static_cast<int>(nest.inputs.size()) - 1;
  }
  int load(DType dtype, int index) {
    Instr i = made(Instr::Kind::load, dtype, "load");
    i.input = input(dtype, index);
    return add(i);
  }
  int scalar(DType dtype) {
    nest.scalars.push_back({dtype});
    Instr i = made(Instr::Kind::scalar, dtype, "scalar");
    i.input = static_cast<int>(nest.scalars.size()) - 1;
    return add(i);
  }
  int iota(int index) {
    Instr i = made(Instr::Kind::index, DType::int64, "index");
    i.input = index;
    return add(i);
  }
  int op(Op op, std::vector<int> args, DType result) {
    Instr i = made(Instr::Kind::op, result, trace::name(op));
    i.op = op;
    i.operand = nest.instrs[op == Op::where ? args[1] : args[0]].dtype;
    for (std::size_t k = 0; k < args.size(); ++k) i.args[k] = args[k];
    return add(i);
  }
  int op(Op o, std::vector<int> args) { return op(o, args, nest.instrs[args.back()].dtype); }
  int cast(int value, DType to) { return op(Op::cast, {value}, to); }
  int reduce(Op op, int value) {
    Instr i = made(Instr::Kind::reduced, nest.instrs[value].dtype, trace::name(op));
    i.row = false;
    nest.instrs.push_back(i);
    const int result = static_cast<int>(nest.instrs.size()) - 1;
    nest.stages.back().reductions.push_back({op, value, result});
    return result;
  }
  int keep(int value) {
    nest.persistent.push_back(nest.instrs[value].dtype);
    nest.stages.back().keeps.push_back({static_cast<int>(nest.persistent.size()) - 1, value});
    return static_cast<int>(nest.persistent.size()) - 1;
  }
  int persistent(int number) {
    Instr i = made(Instr::Kind::persistent, nest.persistent[number], "persistent");
    i.input = number;
    return add(i);
  }
  void store(int value, int index) {
    nest.outputs.push_back({nest.instrs[value].dtype, index, 0, 0, fmt::format("out{}", nest.outputs.size())});
    nest.stages.back().stores.push_back({static_cast<int>(nest.outputs.size()) - 1, value});
  }

  LoopNest nest;

 private:
  Instr made(Instr::Kind kind, DType dtype, std::string_view word) {
    Instr i;
    i.kind = kind;
    i.dtype = dtype;
    i.row = nest.stages.back().row;
    i.name = fmt::format("{}_{}", word, nest.instrs.size());
    return i;
  }
  int add(const Instr& instr) {
    nest.instrs.push_back(instr);
    nest.stages.back().body.push_back(static_cast<int>(nest.instrs.size()) - 1);
    return nest.stages.back().body.back();
  }
};

}  // namespace sinter::test
