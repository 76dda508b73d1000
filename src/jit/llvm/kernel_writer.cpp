#include "jit/llvm/kernel_writer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "jit/reduction_order.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace llvm {
namespace {

/// The number of values of a persistent buffer at each row point, if the kernel is vectorised along a parallel axis. It is part of the calling convention.
constexpr int kPersistentLanes = 64;

/// The flags for fast_math, which does not guarantee the sign of zero, and the rounding of products before they are added. Divisions and roots stay exact: the
/// processor's estimates of those turn 0, infinity and denormal numbers into NaN.
constexpr char kFastMath[] = "nsz contract";
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

KernelWriter::KernelWriter(const LoopNest& nest, const CpuTarget& cpu) : nest_(nest), cpu_(cpu), module_(cpu), ir_(module_, nest.fast_math ? kFastMath : "") {
  native_lanes_ = std::min(kPersistentLanes, cpu.vector_bytes / widest_element(nest));
  axes_.resize(nest.axes());
  values_.resize(nest.instrs.size());
  guarded_.resize(nest.inputs.size());
  for (const Instr& instr : nest.instrs)
    if (instr.kind == Instr::Kind::load && instr.guard >= 0) guarded_[instr.input] = 1;
  hoisted_.resize(nest.instrs.size());
}

std::string KernelWriter::write() {
  write_parameters();
  write_outer_loop();
  const Architecture& architecture = module_.architecture();
  std::string fence;  // makes streaming stores visible before the launch is reported as done
  if (!architecture.fence.empty()) {
    module_.declare(fmt::format("declare void {}()", architecture.fence));
    fence = fmt::format("  call void {}()\n", architecture.fence);
  }
  std::string text = fmt::format("; kernel {}\n", nest_.name);
  for (const std::string& ops : nest_.ops) text += fmt::format("; fuses {}\n", one_line(ops));
  text += fmt::format("target triple = \"{}\"\n\n", architecture.triple);
  text += fmt::format(
      "define void @{}(ptr %pointers, ptr %ints, ptr %scalars, ptr %scratch, i64 %outer_begin, i64 %outer_end, "
      "i64 %inner_begin, i64 %inner_end) #0 {{\nentry:\n{}{}  ret void\n}}\n\n{}",
      nest_.name, ir_.text(), fence, module_.text(ir_.text()));
  const int bits = cpu_.vector_bytes * 8;
  text += fmt::format(
      "\nattributes #0 = {{ nounwind \"no-builtins\" \"target-cpu\"=\"{}\" \"target-features\"=\"{}\" "
      "\"prefer-vector-width\"=\"{}\" \"min-legal-vector-width\"=\"{}\" }}\n",
      architecture.processor, cpu_.features, bits, bits);
  text += "!0 = !{i32 1}\n";  // the operand of !nontemporal
  return text;
}

void KernelWriter::write_parameters() {
  for (const char* reserved : {"entry", "pointers", "ints", "scalars", "scratch", "outer_begin", "outer_end", "inner_begin", "inner_end"}) ir_.label(reserved);
  // A pointer is a value of which only the name is used. Its dtype does not matter.
  const auto load = [&](const std::string& name, const char* array, DType dtype, std::size_t slot, std::string_view type) {
    ir_.set_name(name + ".at");
    const Value at = ir_.emit(DType::int64, 1, fmt::format("getelementptr i64, ptr %{}, i64 {}", array, slot));
    ir_.set_name(name);
    return ir_.emit(dtype, 1, fmt::format("load {}, ptr {}", type, at.ref));
  };
  for (std::size_t k = 0; k < nest_.ints.size(); ++k) ints_.push_back(load(fmt::format("s{}", k), "ints", DType::int64, k, "i64"));
  for (std::size_t k = 0; k < nest_.scalars.size(); ++k) {
    const DType dtype = nest_.scalars[k].dtype;
    Value v = load(fmt::format("c{}", k), "scalars", dtype, k, memory_type(dtype));
    if (is_bool(dtype)) v = ir_.emit(dtype, 1, fmt::format("icmp ne i8 {}, 0", v.ref));
    scalars_.push_back(v);
  }
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k) inputs_.push_back(load(nest_.inputs[k].name, "pointers", DType::int64, k, "ptr"));
  for (std::size_t k = 0; k < nest_.outputs.size(); ++k)
    outputs_.push_back(load(nest_.outputs[k].name, "pointers", DType::int64, nest_.inputs.size() + k, "ptr"));
  if (nest_.checks > 0) flags_ = load("flags", "pointers", DType::int64, nest_.inputs.size() + nest_.outputs.size(), "ptr");

  sizes_.assign(ints_.begin(), ints_.begin() + nest_.axes());
  ir_.set_name("stored");
  Value stored = ir_.integer(DType::int64, 0);
  for (const Access& output : nest_.outputs) {
    Value bytes = ir_.integer(DType::int64, static_cast<std::int64_t>(itemsize(output.dtype)));
    for (int axis = 0; axis < nest_.axes(); ++axis)
      if (depends_on(nest_, output.index, axis)) bytes = ir_.mul(bytes, ints_[axis]);
    stored = ir_.add(stored, bytes);
  }
  const Value large = ir_.le(ir_.integer(DType::int64, static_cast<std::int64_t>(nest_.schedule.stream) << 20), stored);
  ir_.set_name("stream.mask");
  stream_mask_ = ir_.select(large, ir_.integer(DType::int64, cpu_.vector_bytes - 1), ir_.integer(DType::int64, -1));
  if (nest_.persistent.empty()) return;
  ir_.set_name("row_points");
  row_points_ = ir_.integer(DType::int64, 1);
  for (int axis = nest_.parallel; axis < nest_.axes(); ++axis) row_points_ = ir_.mul(row_points_, sizes_[axis]);
  ir_.set_name("persistent_bytes");
  persistent_stride_ = ir_.mul(row_points_, ir_.integer(DType::int64, 8 * (rows_are_lanes() ? 1 : kPersistentLanes)));
  if (rows_are_lanes()) persistent_stride_ = ir_.bit_and(ir_.add(persistent_stride_, ir_.integer(DType::int64, 63)), ir_.integer(DType::int64, -64));
}

// ---- loops over parallel points

void KernelWriter::write_outer_loop() {
  const Value begin{"%outer_begin", DType::int64}, end{"%outer_end", DType::int64};
  const int outer = rows_are_lanes() ? nest_.parallel : nest_.parallel - 1;
  // An empty range must not reach the divisions by sizes, which may be zero.
  const std::string work = ir_.label("work"), none = ir_.label("none");
  ir_.set_name("any");
  const Value some = ir_.lt(begin, end);
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", some.ref, work, none));
  ir_.begin_block(none);
  ir_.line("ret void");
  ir_.begin_block(work);
  Value rest = begin;
  counters_.resize(outer);
  for (int axis = outer - 1; axis >= 0; --axis) {
    ir_.set_name(fmt::format("p{}.first", axis));
    const Value first = axis == 0 ? rest : ir_.binary("urem", rest, sizes_[axis]);
    if (axis != 0) rest = ir_.binary("udiv", rest, sizes_[axis]);
    ir_.set_name(fmt::format("p{}.counter", axis));
    counters_[axis] = ir_.alloca_of(DType::int64, 1);
    ir_.store(counters_[axis], first);
  }
  ir_.loop("outer", begin, end, [&](const Value& first) {
    indices_.clear();
    for (int axis = 0; axis < outer; ++axis) {
      ir_.set_name(fmt::format("p{}", axis));
      axes_[axis] = ir_.load(counters_[axis], DType::int64, 1);
    }
    const Value points = tiled() ? outer_points_at_once(first, end) : ir_.integer(DType::int64, 1);
    if (rows_are_lanes()) write_point(1);
    else write_lanes_of_parallel_axis(points);
    advance_outer_axes(points);
    return points;
  });
}

/// Returns the points to compute at once: at most a tile, up to the end of the last outer axis and of this call's range.
Value KernelWriter::outer_points_at_once(const Value& first, const Value& end) {
  const int axis = nest_.parallel - 2;
  ir_.set_name("tile");
  const Value left = ir_.min(ir_.sub(sizes_[axis], axes_[axis]), ir_.sub(end, first));
  return ir_.min(left, ir_.integer(DType::int64, nest_.schedule.as<TilesForm>().tile));
}

/// Adds the step to the last outer axis and carries. The step ends exactly at that axis' end.
void KernelWriter::advance_outer_axes(const Value& step) {
  const Value one = ir_.integer(DType::int64, 1), zero = ir_.integer(DType::int64, 0);
  Value carry = step;
  for (int axis = static_cast<int>(counters_.size()) - 1; axis >= 0; --axis) {
    ir_.set_name(fmt::format("p{}.next", axis));
    const Value next = ir_.add(axes_[axis], carry);
    if (axis == 0) {
      ir_.store(counters_[0], next);
      break;
    }
    const Value full = ir_.eq(next, sizes_[axis]);
    ir_.store(counters_[axis], ir_.select(full, zero, next));
    carry = ir_.select(full, one, zero);
  }
}

std::vector<int> KernelWriter::widths(int vectors) const {
  std::vector<int> all;
  if (nest_.chunk_axis != nest_.lane_axis()) {  // otherwise one lane at a time, because neighbouring chunks may differ in length
    const int wide = std::min(kPersistentLanes, native_lanes_ * vectors);
    all.push_back(wide);
    if (wide > native_lanes_) all.push_back(native_lanes_);
  }
  if (all.empty() || all.back() != 1) all.push_back(1);
  return all;
}

bool KernelWriter::masks_the_rest() const {
  if (native_lanes_ == 1 || tiled() || panelled() || nest_.chunk_axis == nest_.lane_axis()) return false;
  const auto masks = [&](const Access& access) {
    const int along = coefficient(nest_, access.index, nest_.lane_axis());
    return along == kNone || (along == kOne && (cpu_.vector_bytes == 64 || itemsize(access.dtype) >= 4));
  };
  return std::all_of(nest_.inputs.begin(), nest_.inputs.end(), masks) && std::all_of(nest_.outputs.begin(), nest_.outputs.end(), masks);
}

/// Computes, before the loops over lanes, values that are the same for all lanes and for the points of the loops inside. The compiler cannot do this, because a
/// store might change what a load reads. The nest guarantees that an output never shares memory with an input that is read at other positions than those that
/// are written.
void KernelWriter::hoist_invariants() {
  hoisted_.assign(nest_.instrs.size(), 0);
  const auto moves = [&](int index) { return depends_on(nest_, index, nest_.lane_axis()) || (tiled() && depends_on(nest_, index, nest_.parallel - 2)); };
  for (const Stage& stage : nest_.stages) {
    if (stage.row) return;
    for (int number : stage.body) {
      const Instr& instr = nest_.instrs[number];
      bool same = instr.kind == Instr::Kind::scalar || instr.kind == Instr::Kind::op;
      if (instr.kind == Instr::Kind::load) {
        const int index = nest_.inputs[instr.input].index;
        same = !moves(index) && !uses_values(nest_, index);
        for (int operand : {instr.guard, instr.fill}) same = same && (operand < 0 || hoisted_[operand]);
      }
      if (instr.kind == Instr::Kind::op)
        for (int k = 0; k < trace::primitive(instr.op).arity; ++k) same &= hoisted_[instr.args[k]] != 0;
      if (!same) continue;
      ir_.set_name(instr.name);
      values_[number] = value_of(instr, 1);
      hoisted_[number] = 1;
    }
  }
}

void KernelWriter::write_lanes_of_parallel_axis(const Value& points) {
  hoist_invariants();
  Value begin{"%inner_begin", DType::int64};
  const Value end{"%inner_end", DType::int64};
  for (int width : widths(nest_.schedule.unroll())) {
    ir_.set_name("inner.stop");
    const Value stop = width == 1 ? end : ir_.add(begin, ir_.bit_and(ir_.sub(end, begin), ir_.integer(DType::int64, -width)));
    if (width == 1 && masks_the_rest()) {
      const std::string rest = ir_.label("rest"), done = ir_.label("inner.done");
      ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.lt(begin, end).ref, rest, done));
      ir_.begin_block(rest);
      indices_.clear();
      axes_[nest_.lane_axis()] = begin;
      ir_.set_name("in_axis");
      mask_ = lanes_below(ir_.sub(end, begin), native_lanes_);
      write_point(native_lanes_);
      mask_ = {};
      ir_.line("br label %" + done);
      ir_.begin_block(done);
      break;
    }
    if (panelled()) {
      const int panel = width * nest_.schedule.as<PanelsForm>().panel;
      ir_.loop(fmt::format("panel{}", width).c_str(), begin, stop, panel,
               [&](const Value& first) { write_panel(first, ir_.min(ir_.add(first, ir_.integer(DType::int64, panel)), stop), width); });
      begin = stop;
      continue;
    }
    ir_.loop(fmt::format("inner{}", width).c_str(), begin, stop, width, [&](const Value& i) {
      indices_.clear();
      axes_[nest_.lane_axis()] = i;
      if (!tiled()) {
        write_point(width);
        return;
      }
      write_tile(points, width);
    });
    begin = stop;
  }
  indices_.clear();
  hoisted_.assign(nest_.instrs.size(), 0);
}

/// Computes points [0, points) of the last outer axis. Inputs with a stride along the lanes are contiguous along that axis; they are read in square tiles along
/// it and transposed in registers. Points outside of whole tiles are gathered.
void KernelWriter::write_tile(const Value& points, int lanes) {
  const int outer = nest_.parallel - 2;
  const Value corner = axes_[outer], zero = ir_.integer(DType::int64, 0);
  const auto points_between = [&](const Value& begin, const Value& end, const std::function<void(const Value&)>& before) {
    ir_.loop("tile", begin, end, 1, [&](const Value& k) {
      indices_.clear();
      before(k);
      ir_.set_name(fmt::format("p{}", outer));
      axes_[outer] = ir_.add(corner, k);
      write_point(lanes);
    });
  };
  std::map<int, std::string> tiles;
  for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
    if (transposable(nest_.inputs[k], lanes)) {
      ir_.set_name(nest_.inputs[k].name + ".square");
      tiles[static_cast<int>(k)] = ir_.alloca_of(nest_.inputs[k].dtype, lanes, lanes);
    }
  ir_.set_name("whole");
  const Value whole = tiles.empty() ? zero : ir_.bit_and(points, ir_.integer(DType::int64, -lanes));
  if (!tiles.empty())
    ir_.loop("square", zero, whole, lanes, [&](const Value& first) {
      indices_.clear();
      ir_.set_name(fmt::format("p{}", outer));
      axes_[outer] = ir_.add(corner, first);
      for (const auto& [input, place] : tiles) load_transposed(nest_.inputs[input], place, lanes);
      points_between(first, ir_.add(first, ir_.integer(DType::int64, lanes)), [&](const Value& k) {
        const Value row = ir_.mul(ir_.sub(k, first), ir_.integer(DType::int64, lanes));
        for (const auto& [input, place] : tiles) transposed_[input] = element_pointer({place, DType::int64}, nest_.inputs[input].dtype, row);
      });
      transposed_.clear();
    });
  points_between(whole, points, [](const Value&) {});
  axes_[outer] = corner;
}

/// Computes the points [begin, end) of the lanes' axis over all rows. Values before the row stage are computed again at each use.
void KernelWriter::write_panel(const Value& begin, const Value& end, int lanes) {
  const auto row_stage = std::find_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row; });
  const int row_axis = nest_.parallel;
  const auto in_panel = [](DType dtype) { return is_bool(dtype) ? DType::int32 : dtype; };  // a vector of bits is not whole bytes
  const auto& form = nest_.schedule.as<PanelsForm>();
  struct Panel {
    const Reduction* reduction;
    DType dtype;
    std::vector<std::string> levels;  // the steps since the last block, the blocks since the last run, the runs
  };
  start_reductions(*row_stage, lanes, lanes);
  std::vector<Panel> panels;
  for (const Reduction& reduction : row_stage->reductions) {
    const Instr& result = nest_.instrs[reduction.result];
    Panel panel{&reduction, result.dtype, {}};
    for (const char* level : {"steps", "block", "run"}) {
      ir_.set_name(fmt::format("{}.{}", result.name, level));
      panel.levels.push_back(ir_.alloca_of(in_panel(result.dtype), lanes, form.panel));
      if (!rounds(reduction.op, result.dtype)) break;
    }
    panels.push_back(std::move(panel));
  }
  const auto place = [&](const Panel& panel, std::size_t level) {
    const Value at = ir_.sub(axes_[nest_.lane_axis()], begin);
    return element_pointer({panel.levels[level], DType::int64}, in_panel(panel.dtype), at).ref;
  };
  const auto each_lane = [&](const char* stem, const std::function<void()>& body) {
    ir_.loop(stem, begin, end, lanes, [&](const Value& i) {
      indices_.clear();
      axes_[nest_.lane_axis()] = i;
      body();
    });
  };
  const bool blocked = std::any_of(panels.begin(), panels.end(), [](const Panel& panel) { return panel.levels.size() > 1; });
  const auto fold = [&](std::size_t level) {  // combines a level into the next
    if (!blocked) return;
    each_lane("fold", [&] {
      for (const Panel& panel : panels) {
        if (panel.levels.size() == 1) continue;
        const Value part = ir_.load(place(panel, level), panel.dtype, lanes), sum = ir_.load(place(panel, level + 1), panel.dtype, lanes);
        ir_.store(place(panel, level + 1), combine(*panel.reduction, sum, part));
        ir_.store(place(panel, level), ir_.broadcast(neutral(*panel.reduction), lanes));
      }
    });
  };
  const auto rows = [&](const Value& first, const Value& last, int at_once) {
    ir_.loop(fmt::format("rows{}", at_once).c_str(), first, last, at_once, [&](const Value& row) {
      each_lane("lanes", [&] {
        for (const Panel& panel : panels) ir_.store(parts_[panel.reduction->result].step, ir_.load(place(panel, 0), panel.dtype, lanes));
        for (auto stage = nest_.stages.begin(); stage != row_stage; ++stage) write_body(*stage, lanes);
        for (int k = 0; k < at_once; ++k) {
          indices_.clear();
          axes_[row_axis] = ir_.add(row, ir_.integer(DType::int64, k));
          write_body(*row_stage, lanes);
        }
        for (const Panel& panel : panels) ir_.store(place(panel, 0), ir_.load(parts_[panel.reduction->result].step, panel.dtype, lanes));
      });
    });
  };

  if (nest_.chunk_axis >= 0) clip_rows();
  const Value zero = ir_.integer(DType::int64, 0), size = sizes_[row_axis];
  const auto blocks = [&](const char* stem, const Value& first, const Value& last, int rows_each, const auto& body) {
    ir_.loop(stem, first, last, rows_each, [&](const Value& row) { body(row, ir_.min(ir_.add(row, ir_.integer(DType::int64, rows_each)), last)); });
  };
  each_lane("clear", [&] {
    for (const Panel& panel : panels)
      for (std::size_t level = 0; level < panel.levels.size(); ++level) ir_.store(place(panel, level), ir_.broadcast(neutral(*panel.reduction), lanes));
  });
  blocks("run", zero, size, kRunSteps, [&](const Value& run, const Value& run_end) {
    blocks("block", run, run_end, kBlockSteps, [&](const Value& block, const Value& block_end) {
      ir_.set_name("rows.whole");
      const Value whole = ir_.bit_and(block_end, ir_.integer(DType::int64, -form.panel_rows));
      rows(block, whole, form.panel_rows);
      rows(whole, block_end, 1);
      fold(0);
    });
    fold(1);
  });
  each_lane("finish", [&] {
    for (const Panel& panel : panels) values_[panel.reduction->result] = ir_.load(place(panel, panel.levels.size() - 1), panel.dtype, lanes);
    for (auto stage = nest_.stages.begin(); stage != nest_.stages.end(); ++stage)
      if (stage != row_stage) write_body(*stage, lanes);
  });
}

void KernelWriter::write_point(int lanes) {
  if (nest_.chunk_axis >= 0) clip_rows();
  for (const Stage& stage : nest_.stages) {
    if (stage.row) write_row_stage(stage, lanes);
    else write_body(stage, lanes);
  }
}

/// Limits the rows to this point's chunk. The last chunk may be shorter, or empty.
void KernelWriter::clip_rows() {
  ir_.set_name("chunk_rows");
  const Value full = ints_[nest_.chunk_row], zero = ir_.integer(DType::int64, 0);
  const Value left = ir_.sub(ints_[nest_.chunk_total], ir_.mul(axes_[nest_.chunk_axis], full));
  sizes_[nest_.chunk_row] = ir_.max(zero, ir_.min(full, left));
}

// ---- row stages

void KernelWriter::write_row_stage(const Stage& stage, int lanes) {
  start_scans(stage, lanes);
  const auto any_row = [&] {
    start_reductions(stage, rows_are_lanes() ? row_lanes(nest_, stage) : lanes, rows_are_lanes() ? row_width(stage) : lanes);
    write_rows(stage, nest_.parallel, lanes);
    indices_.clear();
    finish_reductions(stage);
  };
  if (!maskable(stage) || nest_.rows > 1 || stage.reductions.empty() || has_scan(nest_, stage)) return any_row();
  // A row of at most one vector is computed as one vector: other lanes and later steps would only add the neutral element.
  const int narrow = std::min(row_width(stage), native_lanes_);
  std::vector<std::string> results;
  for (const Reduction& reduction : stage.reductions) {
    ir_.set_name(nest_.instrs[reduction.result].name + ".row");
    results.push_back(ir_.alloca_of(nest_.instrs[reduction.result].dtype, 1));
  }
  const std::string brief = ir_.label("brief"), longer = ir_.label("longer"), done = ir_.label("row.reduced");
  const auto branch = [&](const std::string& label, const std::function<void()>& body) {
    ir_.begin_block(label);
    indices_.clear();
    body();
    for (std::size_t k = 0; k < results.size(); ++k) ir_.store(results[k], values_[stage.reductions[k].result]);
    ir_.line("br label %" + done);
  };
  const Value below = ir_.sub(sizes_[nest_.parallel], ir_.integer(DType::int64, 1));  // unsigned, so that an empty row takes the other branch
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.compare("icmp ult", below, ir_.integer(DType::int64, narrow)).ref, brief, longer));
  branch(brief, [&] {
    start_reductions(stage, narrow, narrow);
    write_masked(stage, nest_.parallel, ir_.integer(DType::int64, 0), narrow);
    for (const Reduction& reduction : stage.reductions) {
      const Value lanes_of_row = ir_.load(parts_[reduction.result].step, nest_.instrs[reduction.result].dtype, narrow);
      values_[reduction.result] = horizontal(reduction, lanes_of_row);
    }
  });
  branch(longer, any_row);
  ir_.begin_block(done);
  indices_.clear();
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Instr& result = nest_.instrs[stage.reductions[k].result];
    ir_.set_name(result.name);
    values_[stage.reductions[k].result] = ir_.load(results[k], result.dtype, 1);
  }
}

bool KernelWriter::maskable(const Stage& stage) const { return rows_are_lanes() && (native_lanes_ > 1 || has_scan(nest_, stage)); }

/// Computes the last points of a row, from `first` on. They are fewer than the lanes.
void KernelWriter::write_masked(const Stage& stage, int axis, const Value& first, int lanes) {
  indices_.clear();
  axes_[axis] = first;
  ir_.set_name("in_row");
  mask_ = lanes_below(ir_.sub(sizes_[axis], first), lanes);
  write_body(stage, lanes);
  mask_ = {};
}

void KernelWriter::write_rows(const Stage& stage, int axis, int lanes) {
  const bool last = axis == nest_.axes() - 1;
  if (last && rows_are_lanes()) {
    write_row_lanes(stage, axis);
    return;
  }
  const auto walk = [&](const Value& begin, const Value& end, const std::function<void()>& body) {
    ir_.loop(fmt::format("rows{}", axis - nest_.parallel).c_str(), begin, end, 1, [&](const Value& i) {
      indices_.clear();
      axes_[axis] = i;
      body();
    });
  };
  const Value zero = ir_.integer(DType::int64, 0), size = sizes_[axis];
  if (!last) return walk(zero, size, [&] { write_rows(stage, axis + 1, lanes); });
  const auto step = [&] {
    write_body(stage, lanes);
    end_step(stage);
  };
  for (const Store& store : stage.stores)
    if (stored_by_tiles(nest_.outputs[store.output], lanes)) {
      ir_.set_name(nest_.outputs[store.output].name + ".square");
      tiles_[store.output] = {ir_.alloca_of(nest_.outputs[store.output].dtype, lanes, lanes), {}};
    }
  if (tiles_.empty()) return walk(zero, size, step);
  // As many rows as lanes make a square tile, which is transposed and stored along the row.
  ir_.set_name("whole");
  const Value whole = ir_.bit_and(size, ir_.integer(DType::int64, -lanes));
  ir_.loop("square", zero, whole, lanes, [&](const Value& first) {
    walk(first, ir_.add(first, ir_.integer(DType::int64, lanes)), [&] {
      const Value at = ir_.mul(ir_.sub(axes_[axis], first), ir_.integer(DType::int64, lanes));
      for (auto& [output, tile] : tiles_) tile.row = element_pointer({tile.memory, DType::int64}, nest_.outputs[output].dtype, at);
      step();
    });
    indices_.clear();
    axes_[axis] = first;
    for (const auto& [output, tile] : tiles_) store_transposed(nest_.outputs[output], tile.memory, lanes);
  });
  tiles_.clear();
  walk(whole, size, step);
}

/// Computes lanes along the axis: whole steps, then the rest in narrower vectors and single elements.
void KernelWriter::write_row_lanes(const Stage& stage, int axis) {
  const int wide = row_width(stage), step = row_lanes(nest_, stage), narrow = std::min(wide, native_lanes_);
  const Value size = sizes_[axis];
  const auto walk = [&](const Value& begin, const Value& end, int width, const std::function<void()>& after) {
    ir_.loop(fmt::format("row{}", width).c_str(), begin, end, width, [&](const Value& i) {
      indices_.clear();
      axes_[axis] = i;
      if (!first_lane_.ref.empty()) first_lane_ = ir_.bit_and(i, ir_.integer(DType::int64, wide - 1));
      if (wide < step) slice_ = ir_.bit_and(i, ir_.integer(DType::int64, step - 1));
      write_body(stage, width);
      after();
    });
  };
  const auto whole = [&](int width) {
    ir_.set_name("rows.stop");
    return ir_.bit_and(size, ir_.integer(DType::int64, -width));
  };
  const Value stop = whole(wide);
  const auto end_step_where = [&](const Value& ends) {
    const std::string then = ir_.label("step"), go_on = ir_.label("in_step");
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ends.ref, then, go_on));
    ir_.begin_block(then);
    end_step(stage);
    ir_.line("br label %" + go_on);
    ir_.begin_block(go_on);
  };
  const auto in_step = [&](const Value& points) { return ir_.bit_and(points, ir_.integer(DType::int64, step - 1)); };
  const auto steps = [&](const Value& begin, const Value& end) {
    walk(begin, end, wide, [&] {
      if (wide == step) end_step(stage);
      else end_step_where(ir_.eq(slice_, ir_.integer(DType::int64, step - wide)));
    });
  };
  const Value zero = ir_.integer(DType::int64, 0);
  if (!may_end_early(nest_, stage)) {
    steps(zero, stop);
  } else {
    ir_.loop("until", zero, stop, [&](const Value& first) {
      const Value block = ir_.integer(DType::int64, wide * kUndecidedSteps);
      steps(first, ir_.min(ir_.add(first, block), stop));
      return ir_.select(decided(stage), ir_.sub(stop, first), block);
    });
  }
  const std::string rest = ir_.label("rest"), done = ir_.label("row.done");
  ir_.set_name("more");
  ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.lt(stop, size).ref, rest, done));
  ir_.begin_block(rest);
  start_rest(stage);
  first_lane_ = ir_.integer(DType::int64, 0);
  const bool scans = has_scan(nest_, stage);  // a scan takes a whole step at once
  const bool narrows = wide > narrow && narrow > 1 && !scans;
  const Value narrow_stop = narrows ? whole(narrow) : stop;
  if (narrows) walk(stop, narrow_stop, narrow, [] {});
  if (maskable(stage)) {
    const std::string last = ir_.label("last"), rested = ir_.label("rested");
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.lt(narrow_stop, size).ref, last, rested));
    ir_.begin_block(last);
    first_lane_ = ir_.bit_and(narrow_stop, ir_.integer(DType::int64, wide - 1));
    if (wide < step) slice_ = in_step(narrow_stop);
    write_masked(stage, axis, narrow_stop, scans ? wide : narrow);
    ir_.line("br label %" + rested);
    ir_.begin_block(rested);
    indices_.clear();
  } else {
    walk(narrow_stop, size, 1, [] {});
  }
  first_lane_ = {};
  combine_rest(stage, ir_.sub(size, stop));
  if (wide == step) end_step(stage);
  ir_.line("br label %" + done);
  ir_.begin_block(done);
  if (wide < step) end_step_where(ir_.ne(in_step(size), zero));
  slice_ = {};
}

void KernelWriter::write_body(const Stage& stage, int lanes) {
  const auto known = one_sided_.try_emplace(&stage).first;
  if (known->second.of.empty()) known->second = one_sided(nest_, stage);
  write_side(stage, known->second, 0, lanes);
  for (const PersistentStore& keep : stage.keeps) {
    ir_.set_name(fmt::format("persistent{}", keep.buffer));
    const Value pointer = persistent_pointer(keep.buffer, lanes), value = ir_.broadcast(values_[keep.value], lanes);
    if (mask_.ref.empty()) store_memory(pointer, value);
    else store_masked(pointer, value, mask_);
  }
  for (const Store& store : stage.stores) {
    const Access& access = nest_.outputs[store.output];
    ir_.set_name(access.name);
    if (store.guard >= 0 || !mask_.ref.empty()) store_guarded(access, values_[store.value], store.guard < 0 ? mask_ : masked(values_[store.guard]), lanes);
    else if (const auto tile = tiles_.find(store.output); tile != tiles_.end()) store_memory(tile->second.row, ir_.broadcast(values_[store.value], lanes));
    else store_access(access, values_[store.value], lanes);
  }
  for (const Check& check : stage.checks) raise(check);
  combine_values(stage, lanes);
}

/// Computes the values that only this side needs; for side 0, all values that are not computed behind a branch.
void KernelWriter::write_side(const Stage& stage, const OneSided& sided, int side, int lanes) {
  const auto branch = [&](int number, int operand) {
    const int inner = sided.find(number, operand);
    const Instr& instr = nest_.instrs[number];
    if (inner < 0 || hoisted_[instr.args[operand]]) return;
    Value wanted = values_[instr.args[0]];
    if (operand == 2) wanted = ir_.bit_not(wanted);
    if (wanted.lanes > 1) wanted = masked(wanted);
    const std::string then = ir_.label("side"), done = ir_.label("sides");
    ir_.line(fmt::format("br i1 {}, label %{}, label %{}", ir_.any(wanted).ref, then, done));
    const std::string before = ir_.block();
    ir_.begin_block(then);
    const auto indices = indices_;  // values computed in this block are not available after it
    write_side(stage, sided, inner, lanes);
    indices_ = indices;
    Value& value = values_[instr.args[operand]];
    const std::string after = ir_.block(), nothing = value.lanes > 1 ? "zeroinitializer" : ir_.zero(value.dtype).ref;
    ir_.line("br label %" + done);
    ir_.begin_block(done);
    ir_.set_name(nest_.instrs[instr.args[operand]].name);
    value = ir_.emit(value.dtype, value.lanes,
                     fmt::format("phi {} [ {}, %{} ], [ {}, %{} ]", type_name(value.dtype, value.lanes), value.ref, after, nothing, before));
  };
  for (const int number : stage.body) {
    if (hoisted_[number] || sided.of[number] != side) continue;
    const Instr& instr = nest_.instrs[number];
    for (const int operand : {1, 2}) branch(number, operand);
    ir_.set_name(instr.name);
    values_[number] = instr.kind == Instr::Kind::scan ? scan(number, lanes) : value_of(instr, lanes);
  }
}

// ---- scans, in the order of jit/reduction_order.hpp

void KernelWriter::start_scans(const Stage& stage, int lanes) {
  for (const int number : stage.body) {
    const Instr& instr = nest_.instrs[number];
    if (instr.kind != Instr::Kind::scan) continue;
    const int carried = rows_are_lanes() ? row_width(stage) : lanes;
    const DType dtype = trace::scan_carry(instr.op, instr.dtype);
    ir_.set_name(instr.name + ".so_far");
    so_far_[number] = ir_.alloca_of(dtype, carried);
    const Value start = instr.args[1] < 0 ? ir_.cast(neutral({instr.op, instr.args[0], number}), dtype) : values_[instr.args[1]];
    ir_.store(so_far_[number], ir_.broadcast(start, carried));
  }
}

Value KernelWriter::scan(int number, int lanes) {
  const Instr& instr = nest_.instrs[number];
  const Reduction op{instr.op, instr.args[0], number};
  const DType dtype = trace::scan_carry(instr.op, instr.dtype);
  Value values = ir_.cast(ir_.broadcast(values_[instr.args[0]], lanes), dtype);
  const Value before = ir_.load(so_far_[number], dtype, lanes);
  if (!rows_are_lanes()) {
    values = combine(op, before, values);
    ir_.store(so_far_[number], values);
    return ir_.cast(values, instr.dtype);
  }
  if (!mask_.ref.empty()) values = ir_.select(mask_, values, ir_.broadcast(ir_.cast(neutral(op), dtype), lanes));
  const auto listed = [&](const char* type, const auto& of) {
    std::string list;
    for (int lane = 0; lane < lanes; ++lane) list += fmt::format("{}{} {}", lane ? ", " : "", type, of(lane));
    return fmt::format("<{}>", list);
  };
  const auto shuffled = [&](const auto& from) {
    return ir_.emit(dtype, lanes,
                    fmt::format("shufflevector {0} {1}, {0} poison, <{2} x i32> {3}", type_name(dtype, lanes), values.ref, lanes, listed("i32", from)));
  };
  for (int distance = 1; distance < lanes; distance *= 2) {
    const Value more{listed("i1", [&](int lane) { return lane >= distance; }), DType::bool_, lanes, true};
    values = ir_.select(more, combine(op, shuffled([&](int lane) { return (lane - distance) & (lanes - 1); }), values), values);
  }
  ir_.store(so_far_[number], combine(op, before, shuffled([&](int) { return lanes - 1; })));
  return ir_.cast(combine(op, before, values), instr.dtype);
}

}  // namespace llvm

Source generate_llvm(const LoopNest& nest, const CpuTarget& cpu) {
  Source source;
  source.target = fmt::format("cpu:{} {}", cpu.arch, cpu.features);
  source.options = "O2 pic vectors=explicit";
  source.entry = nest.name;
  source.text = llvm::KernelWriter(nest, cpu).write();
  return source;
}

}  // namespace sinter::jit
