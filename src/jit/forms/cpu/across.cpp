// Pointwise kernels and columns: lanes along a parallel axis. In columns each lane has a row of its own.
#include <algorithm>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {

std::vector<int> Across::widths(int vectors) const {
  std::vector<int> all;
  if (nest_.chunk_axis != nest_.lane_axis()) {  // otherwise one lane at a time, because neighbouring chunks may differ in length
    const int wide = std::min(kMaxLanes, native_lanes_ * vectors);
    all.push_back(wide);
    if (wide > native_lanes_) all.push_back(native_lanes_);
  }
  if (all.empty() || all.back() != 1) all.push_back(1);
  return all;
}

bool Across::masks_the_rest() const {
  if (native_lanes_ == 1 || nest_.chunk_axis == nest_.lane_axis()) return false;
  return has_masked_accesses();
}

/// Computes, before the loops over lanes, values that are the same for all lanes and for the points of the loops inside. The compiler cannot do this, because a
/// store might change what a load reads. The nest guarantees that an output never shares memory with an input that is read at other positions than those that
/// are written.
void Across::hoist_invariants() {
  for (const Stage& stage : nest_.stages) {
    if (stage.row) return;
    for (const int number : stage.body) {
      const Instr& instr = nest_.instrs[number];
      bool same = instr.kind == Instr::Kind::scalar || instr.kind == Instr::Kind::op;
      if (instr.kind == Instr::Kind::load) {
        const int index = nest_.inputs[instr.input].index;
        same = !moves(index) && !uses_values(nest_, index);
        for (const int operand : {instr.guard, instr.fill}) same = same && (operand < 0 || hoisted_[operand]);
      }
      if (instr.kind == Instr::Kind::op)
        for (int k = 0; k < trace::primitive(instr.op).arity; ++k) same &= hoisted_[instr.args[k]] != 0;
      if (!same) continue;
      value_[number] = named(instr, value_of(instr, 1));
      hoisted_[number] = 1;
    }
  }
}

void Across::outer_point() {
  hoist_invariants();
  E begin = loop::bound("inner_begin");
  const E end = loop::bound("inner_end");
  const std::vector<int> widths = this->widths(nest_.schedule.unroll());
  for (const int width : widths) {
    by_divisor_ = width == widths.front();
    if (ends_masked()) return vectors(begin, end, width);
    if (width == 1 && masks_the_rest()) {
      branch(begin < end, [&] {
        set_axis(nest_.lane_axis(), begin);
        start_mask(end - begin, native_lanes_);
        point(native_lanes_);
        mask_ = {};
      });
      break;
    }
    const E stop = width == 1 ? end : let(fmt::format("inner{}_stop", width), DType::int64, begin + whole(end - begin, width));
    vectors(begin, stop, width);
    begin = stop;
  }
}

void Across::vectors(const E& begin, const E& stop, int lanes) {
  loop_over(nest_.lane_axis(), begin, stop, lanes, [&] { point(lanes); });
}

Across::Thin Across::thin_accesses(const std::vector<const Stage*>& stages, int axis, int points) const {
  Thin thin{axis, points, {}, {}};
  const auto dense = [&](const Access& access) { return !is_bool(access.dtype) && coefficient(nest_, access.index, axis) == kOne && along(access) >= 0; };
  std::vector<int> loads(nest_.inputs.size()), stores(nest_.outputs.size());  // -1: an access must not be made for all points
  for (const Stage* stage : stages) {
    for (const int number : stage->body)
      if (const Instr& instr = nest_.instrs[number]; instr.kind == Instr::Kind::load && loads[instr.input] >= 0) loads[instr.input] = instr.guard >= 0 ? -1 : 1;
    for (const Store& s : stage->stores) stores[s.output] = s.guard >= 0 || stores[s.output] != 0 ? -1 : 1;
  }
  for (std::size_t k = 0; k < loads.size(); ++k)
    if (loads[k] == 1 && dense(nest_.inputs[k])) thin.inputs.push_back(static_cast<int>(k));
  for (std::size_t k = 0; k < stores.size(); ++k)
    if (stores[k] == 1 && dense(nest_.outputs[k])) thin.outputs.push_back(static_cast<int>(k));
  return thin;
}

E Across::is_thin(const Thin& thin) const {
  E all = sizes_[thin.axis] == E(thin.points);
  std::vector<int> strides;
  for (const int input : thin.inputs) strides.push_back(along(nest_.inputs[input]));
  for (const int output : thin.outputs) strides.push_back(along(nest_.outputs[output]));
  std::sort(strides.begin(), strides.end());
  strides.erase(std::unique(strides.begin(), strides.end()), strides.end());
  for (const int stride : strides) all = all && number(stride) == E(thin.points);
  return all;
}

std::map<int, Memory> Across::read_apart(const Thin& thin, int lanes) {
  std::map<int, Memory> read;
  for (const int input : thin.inputs) {
    const Access& access = nest_.inputs[input];
    const Memory vectors = registers(access.name + "_vectors", {access.dtype, lanes}, thin.points);
    const E first = index(access.index, 1);
    unrolled("vector", thin.points, [&](const E& vector) { store(vectors.at({vector}), memory(access).vector_at({first + vector * lanes}, lanes)); });
    read[input] = registers(access.name + "_columns", vectors.type, thin.points, Expr{.kind = Expr::Kind::apart, .type = vectors.type, .name = vectors.name});
  }
  return read;
}

void Across::write_together(const Thin& thin, int lanes) {
  for (const int output : thin.outputs) {
    const Access& access = nest_.outputs[output];
    const Memory& columns = columns_[output];
    const Memory vectors =
        registers(access.name + "_vectors", columns.type, thin.points, Expr{.kind = Expr::Kind::together, .type = columns.type, .name = columns.name});
    const E first = index(access.index, 1);
    unrolled("vector", thin.points, [&](const E& vector) { store_wide(memory(access).vector_at({first + vector * lanes}, lanes), vectors.at({vector})); });
  }
}

void Across::store_lanes(const Store& s, int lanes) {
  const auto columns = columns_.find(s.output);
  if (column_.empty() || columns == columns_.end()) return Lowering::store_lanes(s, lanes);
  store(columns->second.at({column_}), value_[s.value]);
}

namespace {

/// A pointwise kernel is one of columns without rows.
class Columns : public Across {
  using Across::Across;

  void row_stage(const Stage& stage, int lanes) override {
    start_scans(stage, lanes);
    start_reductions(stage, lanes, lanes);
    branch({}, [&] { rows(stage, nest_.parallel, lanes); });
    finish_reductions(stage);
  }

  void rows(const Stage& stage, int a, int lanes) {
    if (a + 1 < nest_.axes()) return loop_over(a, 0, sizes_[a], 1, [&] { rows(stage, a + 1, lanes); });
    const auto step = [&] {
      body(stage, lanes);
      end_step(stage);
    };
    if (const int points = thin_points(); points > 0 && lanes > 1 && lanes == native_lanes_) {
      const Thin thin = thin_accesses({&stage}, a, points);
      if (!thin.inputs.empty() || !thin.outputs.empty())
        return branch(is_thin(thin), [&] { each_thin(thin, lanes, step); }, [&] { loop_over(a, 0, sizes_[a], 1, step); });
    }
    for (const Store& s : stage.stores)
      if (const Access& output = nest_.outputs[s.output]; lanes > 1 && lanes == native_lanes_ && lies_along_rows(nest_, output))
        squares_[s.output] = registers(output.name + "_square", {output.dtype, lanes}, lanes);
    E first_rest = 0;
    if (!squares_.empty()) {
      // As many rows as lanes make a square tile, which is transposed and stored along the row.
      first_rest = int_let("whole", whole(sizes_[a], lanes));
      loop("square", 0, first_rest, lanes, [&](const E& first) {
        loop_over(a, first, first + lanes, 1, [&] {
          row_ = axis(a) - first;
          step();
        });
        row_ = {};
        set_axis(a, first);
        for (const auto& [output, square] : squares_) write_square(nest_.outputs[output], square, lanes);
      });
    }
    squares_.clear();
    loop_over(a, first_rest, sizes_[a], 1, step);
  }

  void write_square(const Access& access, const Memory& square, int lanes) {
    const Memory lines = transposed(access.name + "_lines", square, lanes);
    const E first = index(access.index, 1);
    each(Binding::unrolled, DType::int64, "line", 0, lanes, 1,
         [&](const E& line) { store_wide(memory(access).vector_at({first + number(along(access)) * line}, lanes), lines.at({line})); });
  }

  void store_lanes(const Store& s, int lanes) override {
    const auto square = squares_.find(s.output);
    if (row_.empty() || square == squares_.end()) return Across::store_lanes(s, lanes);
    store(square->second.at({row_}), value_[s.value]);
  }

  int thin_points() const { return nest_.schedule.is<ColumnsForm>() ? nest_.schedule.as<ColumnsForm>().thin : 0; }

  std::map<int, Memory> squares_;  // by output, while a tile is filled
  E row_;                          // of the tile
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const PointwiseForm&, const CpuTarget& cpu) { return Columns(nest, cpu).write(); }
loop::Kernel lower(const LoopNest& nest, const ColumnsForm&, const CpuTarget& cpu) { return Columns(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
