// Rows: lanes along the last row axis. The lanes share the row's reductions.
#include <algorithm>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {
namespace {

class Rows : public Lowering {
  using Lowering::Lowering;

  int outer_axes() const override { return nest_.parallel; }
  void outer_point() override { point(1); }

  /// Returns how many points of a row are computed at once: a whole step, or, if a longer body needs the registers, a slice of a step. The accumulators of a
  /// sliced step are in memory.
  int row_width(const Stage& stage) const {
    const bool ordered =
        std::any_of(stage.reductions.begin(), stage.reductions.end(), [&](const Reduction& reduction) { return is_floating(result(reduction).dtype); });
    const int step = row_lanes(nest_, stage);
    return ordered ? std::min(step, body_lanes(nest_, stage)) : step;
  }
  /// Returns whether the rest of a row after whole vectors can be one more vector, in which only some lanes are row points.
  bool maskable(const Stage& stage) const { return native_lanes_ > 1 || has_scan(nest_, stage); }

  void row_stage(const Stage& stage, int) override {
    start_scans(stage, row_width(stage));
    const auto any_row = [&] {
      start_reductions(stage, row_lanes(nest_, stage), row_width(stage));
      branch({}, [&] { rows(stage, nest_.parallel); });
      finish_reductions(stage);
    };
    if (!maskable(stage) || nest_.rows > 1 || stage.reductions.empty() || has_scan(nest_, stage)) return any_row();
    // A row of at most one vector is computed as one vector: other lanes and later steps would only add the neutral element.
    const int narrow = std::min(row_width(stage), native_lanes_);
    std::vector<E> results;
    for (const Reduction& reduction : stage.reductions) results.push_back(var(result(reduction).name + "_row", result(reduction).dtype));
    const auto keep = [&] {
      for (std::size_t k = 0; k < results.size(); ++k) store(results[k], value_[stage.reductions[k].result]);
    };
    const E size = sizes_[nest_.parallel];  // unsigned, so that an empty row takes the other branch
    branch(
        loop::cast(size - 1, DType::uint64) < narrow,
        [&] {
          start_reductions(stage, narrow, narrow);
          masked_body(stage, nest_.parallel, 0, narrow);
          for (const Reduction& reduction : stage.reductions) value_[reduction.result] = tree(reduction, parts_[reduction.result].step);
          keep();
        },
        [&] {
          any_row();
          keep();
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
        body(stage, wide);
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
    slice_ = {};
  }

  /// Computes the points after the last whole vector, fewer than a step.
  void rest(const Stage& stage, int a, const E& stop) {
    const int wide = row_width(stage), narrow = std::min(wide, native_lanes_);
    const E size = sizes_[a];
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
    set_axis(a, first);
    start_mask(sizes_[a] - first, lanes);
    body(stage, lanes);
    mask_ = {};
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

  bool resting_ = false;  // values stay in memory until the whole step is there
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const RowsForm&, const CpuTarget& cpu) { return Rows(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
