// Rows: lanes along the last row axis. The lanes share the row's reductions.
#include <algorithm>
#include <set>

#include "jit/forms/cpu/transposed_rows.hpp"

namespace sinter::jit::forms::cpu {
namespace {

class Rows : public TransposedRows {
 public:
  Rows(const LoopNest& nest, const CpuTarget& cpu) : TransposedRows(nest, cpu), read_by_rows_(nest.instrs.size()) {
    tree_lanes_ = neighbours();
    for (const Stage& stage : nest.stages)
      if (stage.row) each_read(nest, stage, [&](int value) { read_by_rows_[value] = 1; });
  }

 private:
  static constexpr int kMaxUnrolledCost = 8;

  int outer_axes() const override { return nest_.parallel; }
  E outer_step() override { return tree_lanes_ == 1 ? E(1) : points_ = var("points", DType::int64); }
  void outer_point() override {
    if (tree_lanes_ == 1) point(1);
    else neighbouring_rows();
  }

  /// Returns how many neighbouring rows have their results in the lanes of a vector: 1 if rows have no reductions, conditions, or no results of their own.
  int neighbours() const {
    int lanes = kMaxRowsAtOnce;
    bool reduces = false;
    for (const Stage& stage : nest_.stages) {
      for (const Reduction& reduction : stage.reductions)
        if (is_bool(result(reduction).dtype)) return 1;
      if (!stage.reductions.empty()) lanes = std::min(lanes, narrow_width(stage)), reduces = true;
    }
    const auto differs = [&](const Access& output) { return depends_on(nest_, output.index, nest_.parallel - 1); };
    return reduces && std::any_of(nest_.outputs.begin(), nest_.outputs.end(), differs) ? lanes : 1;
  }

  E rows_at_once() override {
    if (tree_lanes_ == 1) return 1;
    if (rows_at_once_.empty()) {
      const bool once = std::count_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row; }) == 1;
      const E cached = loop::literal(kPointsAtOnce, DType::int64) / maximum(row_points_, 1);
      rows_at_once_ = int_let("rows_at_once", once ? loop::literal(tree_lanes_, DType::int64) : minimum(maximum(cached, 1), tree_lanes_));
    }
    return rows_at_once_;
  }
  E row_at_once() override { return row_at_once_; }

  /// Computes neighbouring rows, as many as a vector has lanes, or fewer at the end of an axis or range, or if rows are long. Each stage is computed for all of
  /// them before the next stage. A row stage reduces each row to one vector. The trees of these vectors are computed together, so that each lane has the result
  /// of a row. The stages between compute these lanes.
  void neighbouring_rows() {
    const int last = nest_.parallel - 1;
    const E first = int_let("first", axis(last)), left = minimum(sizes_[last] - first, loop::bound("outer_end") - loop::variable("outer", DType::int64));
    store(points_, minimum(left, rows_at_once()));
    if (longest_transposed() > 0) branch(points_ == tree_lanes_ && fill_badly(), [&] { transposed_rows(); }, [&] { rows_one_by_one(first); });
    else rows_one_by_one(first);
  }

  void rows_one_by_one(const E& first) {
    const int last = nest_.parallel - 1;
    start_mask(points_, tree_lanes_);
    const E in_rows = std::exchange(mask_, {});
    for (const Stage& stage : nest_.stages) {
      if (stage.row) {
        reduce_each(stage, first);
        continue;
      }
      lane_axis_ = last;
      mask_ = in_rows;
      body(stage, tree_lanes_);
      mask_ = {};
      lane_axis_ = nest_.lane_axis();
      for (const int value : stage.body) keep_for_rows(value);
    }
    of_rows_.clear();
  }

  /// Keeps a value of each row in memory, if row stages read it.
  void keep_for_rows(int value) {
    const Instr& instr = nest_.instrs[value];
    if (!read_by_rows_[value] || value_[value]->type.width == 1) return;
    const Memory rows = of_rows_[value] = registers(instr.name + "_of_rows", instr.dtype, tree_lanes_);
    store(rows.vector_at({0}, tree_lanes_), value_[value]);
  }

  /// Computes a row stage for each of the rows, and then the trees of all rows.
  void reduce_each(const Stage& stage, const E& first) {
    std::vector<Memory> vectors;
    for (const Reduction& reduction : stage.reductions)
      vectors.push_back(registers(result(reduction).name + "_vectors", {result(reduction).dtype, tree_lanes_}, tree_lanes_));
    std::set<int> reads;
    each_read(nest_, stage, [&](int value) {
      if (of_rows_.count(value)) reads.insert(value);
    });
    const auto row = [&](const E& number, auto reduced) {
      const std::vector<E> of_all = value_;
      set_axis(nest_.parallel - 1, first + number);
      if (nest_.chunk_axis >= 0) clip_rows();
      row_at_once_ = number;
      for (const int value : reads) value_[value] = let(nest_.instrs[value].name + "_of_row", nest_.instrs[value].dtype, of_rows_.at(value).at({number}));
      reduced();
      for (std::size_t k = 0; k < vectors.size(); ++k) store(vectors[k].at({number}), value_[stage.reductions[k].result]);
      value_ = of_all;
    };
    const auto any_rows = [&] { loop("row", 0, points_, 1, [&](const E& number) { row(number, [&] { row_stage(stage, 1); }); }); };
    const int narrow = narrow_width(stage);
    if (!masks_rows(stage) || nest_.rows > 1 || nest_.chunk_axis >= 0 || cost_of(nest_, stage) > kMaxUnrolledCost) {
      any_rows();
    } else {
      // A cheap row of one or two vectors takes hardly more instructions than a loop.
      const auto all_rows = [&](int lanes) {
        each(Binding::unrolled, DType::int64, "row", 0, tree_lanes_, 1, [&](const E& number) { row(number, [&] { one_vector(stage, lanes); }); });
      };
      const auto longer = [&] {
        if (nest_.schedule.as<RowsForm>().short_rows <= narrow || row_width(stage) < 2 * narrow) any_rows();
        else branch(points_ == tree_lanes_ && is_short(2 * narrow), [&] { all_rows(2 * narrow); }, any_rows);
      };
      branch(points_ == tree_lanes_ && is_short(narrow), [&] { all_rows(narrow); }, longer);
    }
    for (std::size_t k = 0; k < vectors.size(); ++k) {
      const Reduction& reduction = stage.reductions[k];
      const Type type(result(reduction).dtype, tree_lanes_);
      value_[reduction.result] = let(result(reduction).name, type, Expr{.kind = Expr::Kind::trees, .type = type, .name = vectors[k].name, .op = reduction.op});
      keep_for_rows(reduction.result);
    }
  }

  /// Returns how many points of a row are computed at once: a whole step, or, if a longer body needs the registers, a slice of a step. The accumulators of a
  /// sliced step are in memory.
  int row_width(const Stage& stage) const {
    const bool ordered =
        std::any_of(stage.reductions.begin(), stage.reductions.end(), [&](const Reduction& reduction) { return is_floating(result(reduction).dtype); });
    const int step = row_lanes(nest_, stage);
    return ordered ? std::min(step, body_lanes(nest_, stage)) : step;
  }
  /// Returns the points of a row that fill at most one register.
  int narrow_width(const Stage& stage) const { return std::min(row_width(stage), native_lanes_); }
  /// Returns whether the rest of a row after whole vectors can be one more vector, in which only some lanes are row points.
  bool maskable(const Stage& stage) const { return native_lanes_ > 1 || has_scan(nest_, stage); }

  /// Returns whether a row of at most a step can be one vector, in which only some lanes are row points.
  bool masks_rows(const Stage& stage) const {
    return native_lanes_ > 1 && !stage.reductions.empty() && !has_scan(nest_, stage) && row_width(stage) == row_lanes(nest_, stage) && has_masked_accesses();
  }
  /// Returns whether the last, shorter step of a row is one vector of a whole step's width, in which only some lanes are row points. The body is then so short
  /// that lanes without a point cost less than keeping narrower vectors in memory until the step is there. Without mask registers they cost more.
  bool masks_steps(const Stage& stage) const { return has_mask_registers() && masks_rows(stage); }

  /// Returns whether masked bodies compute a register at a time. Each register then has a mask of its own, which stays in a mask register; LLVM would cut a
  /// wider mask anew for each row.
  bool masks_registers(const Stage& stage) const {
    const auto is_flag = [&](const Reduction& reduction) { return is_bool(result(reduction).dtype); };
    return masks_steps(stage) && row_width(stage) > native_lanes_ && row_width(stage) <= 4 * native_lanes_ &&
           std::none_of(stage.reductions.begin(), stage.reductions.end(), is_flag);
  }

  /// Returns whether a row has 1 to `lanes` points.
  E is_short(int lanes) const { return loop::cast(sizes_[nest_.parallel] - 1, DType::uint64) < lanes; }
  /// Reduces a row of so few points as one vector: other lanes and later steps would only add the neutral element.
  void one_vector(const Stage& stage, int lanes) {
    start_reductions(stage, lanes, lanes, lanes > native_lanes_ && masks_registers(stage));
    masked_body(stage, nest_.parallel, 0, lanes);
    for (const Reduction& reduction : stage.reductions) value_[reduction.result] = tree(reduction, parts_[reduction.result].step);
  }

  void row_stage(const Stage& stage, int) override {
    start_scans(stage, row_width(stage));
    const auto any_row = [&] {
      start_reductions(stage, row_lanes(nest_, stage), row_width(stage), masks_registers(stage));
      branch({}, [&] { rows(stage, nest_.parallel); });
      finish_reductions(stage);
    };
    if (!maskable(stage) || nest_.rows > 1 || has_scan(nest_, stage)) return any_row();
    std::vector<E> results;
    for (const Reduction& reduction : stage.reductions) results.push_back(var(result(reduction).name + "_row", {result(reduction).dtype, tree_lanes_}));
    const auto keep = [&] {
      for (std::size_t k = 0; k < results.size(); ++k) store(results[k], value_[stage.reductions[k].result]);
    };
    const auto up_to = [&](int points, int lanes, const auto& longer) {
      branch(
          is_short(points),
          [&] {
            one_vector(stage, lanes);
            keep();
          },
          longer);
    };
    const auto long_row = [&] {
      any_row();
      keep();
    };
    const int wide = row_width(stage), narrow = narrow_width(stage);
    const bool masks = has_masked_accesses() && !stage.reductions.empty();
    const auto up_to_wide = [&] {
      if (wide > narrow && masks) up_to(has_mask_registers() ? wide : wide - 1, wide, long_row);  // without these, a whole step takes less time unmasked
      else long_row();
    };
    up_to(narrow, narrow, [&] {
      if (wide > 2 * narrow && masks) up_to(2 * narrow, 2 * narrow, up_to_wide);
      else up_to_wide();
    });
    for (std::size_t k = 0; k < results.size(); ++k) value_[stage.reductions[k].result] = results[k];
  }

  void rows(const Stage& stage, int a) {
    if (a + 1 < nest_.axes()) loop_over(a, 0, sizes_[a], 1, [&] { rows(stage, a + 1); });
    else last_axis(stage, a);
  }

  /// Computes lanes along the axis: whole steps, then the rest in narrower vectors and single elements.
  void last_axis(const Stage& stage, int a) {
    const int wide = row_width(stage), step = row_lanes(nest_, stage);
    const E size = sizes_[a], stop = int_let("row_stop", whole(size, wide));
    const auto steps = [&](const E& begin, const E& end) {
      loop_over(a, begin, end, wide, [&] {
        name_lanes(stage, axis(a));
        by_divisor_ = true;
        body(stage, wide);
        by_divisor_ = false;
        if (wide == step) end_step(stage);
        else branch(slice_ == step - wide, [&] { end_step(stage); });
      });
    };
    if (!may_end_early(nest_, stage)) {
      steps(0, stop);
    } else {
      const E block = loop::literal(wide * kUndecidedSteps, DType::int64), until_step = var("until_step", DType::int64);
      loop("until", 0, stop, until_step, [&](const E& first) {
        steps(first, int_let("until_end", minimum(first + block, stop)));
        store(until_step, loop::select(decided(stage), stop - first, block));
      });
    }
    branch(stop < size, [&] { rest(stage, a, stop); });
    if (wide < step) branch(!((size & (step - 1)) == 0), [&] { end_step(stage); });
    slice_ = 0;
  }

  /// Computes the points after the last whole vector, fewer than a step.
  void rest(const Stage& stage, int a, const E& stop) {
    const int wide = row_width(stage), narrow = narrow_width(stage);
    const E size = sizes_[a];
    if (masks_steps(stage)) {
      masked_body(stage, a, stop, wide);
      return end_step(stage);
    }
    start_rest(stage);
    const bool scans = has_scan(nest_, stage);  // a scan takes a whole step at once
    const auto walk = [&](const E& begin, const E& end, int width) {
      loop_over(a, begin, end, width, [&] {
        name_lanes(stage, axis(a));
        body(stage, width);
      });
    };
    E last = stop;
    if (wide > narrow && narrow > 1 && !scans) {
      last = int_let("narrow_stop", whole(size, narrow));
      walk(stop, last, narrow);
    }
    if (maskable(stage))
      branch(last < size, [&] {
        name_lanes(stage, last);
        masked_body(stage, a, last, scans ? wide : narrow);
      });
    else walk(last, size, 1);
    combine_rest(stage, size - stop);
    if (wide == row_lanes(nest_, stage)) end_step(stage);
  }

  /// Computes the last points of a row, from `first` on. They are fewer than the lanes.
  void masked_body(const Stage& stage, int a, const E& first, int lanes) {
    const int width = masks_registers(stage) ? std::min(native_lanes_, lanes) : lanes;
    for (int lane = 0; lane < lanes; lane += width)
      branch({}, [&] {
        if (width < lanes) slice_ = lane;
        set_axis(a, lane > 0 ? first + loop::literal(lane, DType::int64) : first);
        start_mask(sizes_[a] - axis(a), width);
        body(stage, width);
      });
    mask_ = {};
    slice_ = 0;
  }

  /// Names the place of a vector in its step, where the parts depend on it.
  void name_lanes(const Stage& stage, const E& point) {
    const int wide = row_width(stage), step = row_lanes(nest_, stage);
    if (resting_) first_lane_ = int_let("first_lane", point & (wide - 1));
    if (wide < step) slice_ = int_let("slice", point & (step - 1));
  }

  /// Declares arrays for the last, shorter step of reductions that are not sliced.
  void start_rest(const Stage& stage) {
    for (const Reduction& reduction : stage.reductions) {
      Parts& parts = parts_[reduction.result];
      if (!parts.sliced.name.empty()) continue;
      parts.rest = registers(result(reduction).name + "_rest", result(reduction).dtype, parts.lanes);
      resting_ = true;
    }
  }

  /// Combines the last, shorter step, whose first `count` lanes are in memory.
  void combine_rest(const Stage& stage, const E& count) {
    resting_ = false;
    first_lane_ = {};
    E there;
    for (const Reduction& reduction : stage.reductions) {
      const Parts& parts = parts_[reduction.result];
      if (!parts.sliced.name.empty()) continue;
      const int lanes = parts.lanes;
      if (there.empty()) {
        const E number = lanes == 1 ? loop::literal(0, DType::int32) : loop::make(Expr::Kind::iota, {DType::int32, lanes}, {});
        there = let("in_rest", {DType::bool_, lanes}, number < loop::cast(count, DType::int32));
      }
      store(parts.step, loop::select(there, combined(reduction, parts.step, parts.rest.vector_at({0}, lanes)), parts.step));
    }
  }

  /// Returns whether no later element can change the results.
  E decided(const Stage& stage) {
    E all;
    for (const Reduction& reduction : stage.reductions) {
      const E part = parts_[reduction.result].step;
      const int bound = bound_of_first_place(nest_, reduction);
      const E final = bound >= 0 ? part < value_[bound] : reduction.op == Op::reduce_max ? part : !part;
      all = all && (final->type.width > 1 ? loop::make(Expr::Kind::any, DType::bool_, {final}) : final);
    }
    return all;
  }

  std::vector<char> read_by_rows_;  // by instruction: row stages read it
  std::map<int, Memory> of_rows_;   // by instruction: its value for each of the rows that are computed at once
  E points_, rows_at_once_;         // the number of these rows, and the largest
  E row_at_once_ = 0;               // the present row's number among them
  bool resting_ = false;            // values stay in memory until the whole step is there
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const RowsForm&, const CpuTarget& cpu) { return Rows(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
