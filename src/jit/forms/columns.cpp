// Columns: one thread for each column, or for each vector of neighbouring columns. The threads along the block's y share its rows.
#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {
namespace {

/// In a block with more threads along y, one thread combines a column, and all threads read the result.
constexpr int kFewWarps = 8;

class Columns : public RowLowering {
  using RowLowering::RowLowering;

  void check() const override {
    if (!nest_.persistent.empty() && !in_registers()) fail("columns cache values only in registers");
    for (const Stage& stage : nest_.stages)
      if (has_scan(nest_, stage) && (width_ > 1 || schedule_.threads != kWarp)) fail("one thread scans a column, one point at a time");
  }
  bool keeps_arrays(const Stage& stage) const override { return width_ > 1 && !stage.row; }

  void body() override {
    across_ = kWarp;
    sharing_ = schedule_.threads / kWarp;
    thread_ = loop::thread_y();
    clamps_ = !steps_.whole;
    lanes_of_divisors_ = width_ > 1;
    // Cached columns take about half of a thread's 64 registers. A multiprocessor then holds as many warps as a block has, or twice as many.
    if (in_registers()) residents_ = schedule_.as<ColumnsForm>().residents;
    count_points();
    if (sharing_ > 1) declare_parts({sharing_, kWarp * width_});
    declare_persistent_registers();
    name_literal_divisors(false);
    // Every thread of a block visits the same blocks of points, so that all reach each barrier. A thread past the last point computes the last one again, over
    // no rows, and stores nothing.
    const E points = counted("points"), step = loop::cast(loop::blocks(), count_) * (kWarp * width_);
    each(Binding::grid, count_, "first", loop::cast(loop::block(), count_) * (kWarp * width_), points, step, [&](const E& first) {
      const E own = first + (width_ > 1 ? loop::thread_x() * width_ : loop::thread_x());
      const E inside = let("inside", DType::bool_, own < points);
      if (steps_.whole) row_owner_ = inside;  // a thread past the last column computes all rows of the last column again
      let("point", count_, select(inside, own, points - width_));
      unflatten_point();
      count_row_points();
      end_ = let("own_row_points", count_, select(inside, counted("row_points"), 0));
      for (const Stage& stage : nest_.stages) {
        name_point_indices(stage);
        if (!stage.row) {
          stage_body(stage, inside && loop::thread_y() == 0);
          continue;
        }
        name_divisors(stage, false);
        declare_accumulators(stage);
        start_scans(stage);
        if (in_registers()) steps_loop(stage);
        else thread_loop(stage, end_);
        combine_column(stage);
      }
      guard_reuse(sharing_ > 1);
    });
  }

  E scanned(const Instr& instr) override {
    store(so_far(instr), carry(instr, so_far(instr), value_[instr.args[0]]));
    return let(instr.name, instr.dtype, loop::cast(so_far(instr), instr.dtype));
  }

  /// Combines the threads' parts of a column.
  void combine_column(const Stage& stage) {
    if (stage.reductions.empty()) return;
    const auto parts = [&](const Reduction& reduction) { return Memory{result(reduction).name + "_parts", result(reduction).dtype}; };
    const E column = width_ > 1 ? lane() * kWarp + loop::thread_x() : loop::thread_x();
    const auto own_part = [&](const Reduction& reduction) {
      const Memory own = part(reduction);
      return width_ > 1 ? own.at({lane()}) : loop::variable(own.name, own.type);
    };
    if (sharing_ > 1) {
      lanes(width_ > 1, [&] {
        for (const Reduction& reduction : stage.reductions) store(parts(reduction).at({loop::thread_y(), column}), own_part(reduction));
      });
      barrier(loop::Scope::block);
    }
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      value_[reduction.result] = width_ > 1 ? registers(r.name, r.dtype, width_).at({lane()}) : var(r.name, r.dtype);
    }
    const auto combine_parts = [&](const Reduction& reduction, const E& all, const E& at) {
      store(all, parts(reduction).at({0, at}));
      unrolled("y", 1, sharing_, [&](const E& y) { store(all, combined(reduction, all, parts(reduction).at({y, at}))); });
    };
    // If a thread has few rows, or a block many threads, one thread combines a column and all others read the result.
    const bool once = sharing_ > 1 && (in_registers() || sharing_ > kFewWarps);
    if (once) {
      each(Binding::threads, DType::uint32, "own_column", loop::thread_y() * kWarp + loop::thread_x(), kWarp * width_, schedule_.threads, [&](const E& at) {
        for (const Reduction& reduction : stage.reductions) {
          const E all = var(result(reduction).name + "_column", result(reduction).dtype);
          combine_parts(reduction, all, at);
          store(parts(reduction).at({0, at}), all);
        }
      });
      barrier(loop::Scope::block);
    }
    lanes(width_ > 1, [&] {
      for (const Reduction& reduction : stage.reductions) {
        const E& all = value_[reduction.result];
        if (once) store(all, parts(reduction).at({0, column}));
        else if (sharing_ == 1) store(all, own_part(reduction));
        else combine_parts(reduction, all, column);
      }
    });
  }
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const ColumnsForm&, int sm) { return Columns(nest, sm).write("a thread per column, the block's y shares its rows"); }

}  // namespace sinter::jit::forms
