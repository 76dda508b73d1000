// Rows: each row is computed by a block, by a warp or a part of a warp, or by the blocks of a cluster.
#include <algorithm>

#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {
namespace {

class Rows : public RowLowering {
  using RowLowering::RowLowering;
  const RowsForm& form_ = schedule_.as<RowsForm>();

  void check() const override {
    const int threads = schedule_.threads, row_threads = form_.row_threads;
    if (in_registers() && nest_.chunk_axis >= 0) fail("only whole rows and columns are staged in registers");
    if (row_threads != 8 && row_threads != 16 && row_threads != kWarp && row_threads != threads)
      fail(fmt::format("a row by {} of {} threads is not supported", row_threads, threads));
    const bool scans = std::any_of(nest_.stages.begin(), nest_.stages.end(), [&](const Stage& stage) { return has_scan(nest_, stage); });
    if (scans && (width_ > 1 || row_threads < kWarp)) fail("a scan needs whole warps, with one point for each thread");
    if (cluster() == 1) return;
    if (sm_ < 90) fail(fmt::format("clusters of {} blocks for sm_{}", cluster(), sm_));
    if (row_threads != threads || threads <= kWarp || nest_.chunk_axis >= 0) fail("blocks share only whole rows, with all of their threads");
    if (scans) fail("a scan needs one block for its row");
  }
  bool has_lanes(const Stage& stage) const override { return stage.row; }

  bool by_warps() const { return form_.row_threads <= kWarp; }
  int warps() const { return form_.row_threads / kWarp; }

  void body() override {
    sharing_ = form_.row_threads;
    along_ = width_;
    lanes_share_ = true;
    count_points();
    if (!by_warps() && warps() > 1) declare_shared();
    thread_ = let("thread", DType::uint32, by_warps() ? loop::thread_x() & (sharing_ - 1) : loop::thread_x());
    declare_persistent();
    name_literal_divisors(false);
    const E points = counted("points"), block = loop::cast(loop::block(), count_), blocks = loop::cast(loop::blocks(), count_);
    const int at_once = cuda::rows_per_block(schedule_);
    if (by_warps() && sharing_ < kWarp) {
      // All lanes of a warp must take part in its shuffles. Lanes past the last row compute the last row again and store nothing.
      each(Binding::grid, count_, "first", block * at_once, points, blocks * at_once, [&](const E& first) {
        const E own = first + loop::thread_x() / sharing_;
        row_owner_ = let("inside", DType::bool_, own < points);
        let("point", count_, select(row_owner_, own, points - 1));
        row();
      });
    } else if (by_warps() && at_once > 1) {
      // All lanes have the same warp number. Because of the shuffle the compiler knows this, and the lanes of a warp loop together.
      const E warp = let("warp", DType::uint32, loop::make(Expr::Kind::shuffle, DType::uint32, {loop::thread_x() / kWarp, 0}));
      each(Binding::grid, count_, "point", block * at_once + warp, points, blocks * at_once, [&](const E&) { row(); });
    } else if (cluster() > 1) {
      let("rank", DType::uint32, loop::block() % cluster());
      each(Binding::grid, count_, "point", loop::block() / cluster(), points, loop::blocks() / cluster(), [&](const E&) { row(); });
    } else {
      each(Binding::grid, count_, "point", loop::block(), points, loop::blocks(), [&](const E&) { row(); });
    }
  }

  void declare_shared() {
    declare_parts({warps()});
    for (const Stage& stage : nest_.stages)
      for (const Reduction& reduction : stage.reductions)
        if (cluster() > 1) shared(result(reduction).name + "_own", result(reduction).dtype, {});
    for (const Stage& stage : nest_.stages) each_scan(stage, [&](const Instr& scan) { shared(scan.name + "_parts", scan.dtype, {warps()}); });
  }

  /// Declares the persistent buffers: registers, or a region of dynamic shared memory for each buffer (of each warp that has a row of its own). Threads read
  /// back only elements that they wrote themselves, so buffers need no barrier except around a scan.
  void declare_persistent() {
    if (in_registers()) return declare_persistent_registers();
    if (nest_.persistent.empty()) return;
    E product;
    for (int a = nest_.parallel; a < nest_.axes(); ++a) {
      const E size = loop::cast(number(a), DType::uint32);
      product = product.empty() ? size : product * size;
    }
    const E longest = let("longest_row", DType::uint32, cluster() > 1 ? part_of(product) : product);
    for (std::size_t i = 0; i < nest_.persistent.size(); ++i)
      add({.kind = Stmt::Kind::dynamic,
           .type = nest_.persistent[i],
           .name = fmt::format("persistent{}", i),
           .extent = longest,
           .number = by_warps() ? sharing_ : 0});
  }

  E part_of(const E& row) const { return (row + (cluster() * width_ - 1)) / (cluster() * width_) * width_; }

  void row() {
    unflatten_point();
    count_row_points();
    const E row_points = counted("row_points");
    E first_thread = thread_ == 0;
    end_ = row_points;
    if (cluster() > 1) {
      // The block's part of the row: neighbouring points, in whole vectors. It is empty if the row ends before it.
      const E rank = loop::variable("rank", DType::uint32), part = let("part", count_, part_of(row_points));
      first_ = let("own_first", count_, select(rank * part < row_points, rank * part, row_points));
      end_ = let("own_end", count_, select(row_points - first_ < part, row_points, first_ + part));
      first_thread = first_thread && rank == 0;
    }
    for (const Stage& stage : nest_.stages) {
      name_point_indices(stage);
      if (!stage.row) {
        stage_body(stage, row_owner_ && first_thread);
        continue;
      }
      name_divisors(stage, false);
      declare_accumulators(stage);
      if (has_scan(nest_, stage)) scan_loop(stage);
      else if (in_registers()) steps_loop(stage);
      else row_loop(stage);
      combine_row(stage);
    }
    if (cluster() == 1) guard_reuse(!by_warps());
    else if (last_reducing_stage()) barrier(loop::Scope::cluster_wait, "before this block's parts are written again, or gone with it");
  }

  /// The last chunk of a row may end within a vector: the remaining elements are taken one by one.
  void row_loop(const Stage& stage) {
    if (width_ == 1 || nest_.chunk_axis < 0 || nest_.chunk_row != nest_.lane_axis()) return thread_loop(stage, end_);
    within({.kind = Stmt::Kind::branch}, [&] {
      const E whole = let("whole", count_, end_ / width_ * width_);
      thread_loop(stage, whole);
      by_lanes_ = false;
      each(Binding::threads, count_, "row", whole + thread_, end_, sharing_, [&](const E&) {
        unflatten_row(stage);
        stage_body(stage, row_owner_);
      });
      by_lanes_ = true;
    });
  }

  /// Writes a loop with a scan. All threads must make the same number of iterations, so a thread past the end recomputes the last element and does not count
  /// it.
  void scan_loop(const Stage& stage) {
    start_scans(stage);
    // A vectorised pass assigns the elements to threads in another way than this loop.
    const auto meet = [&] {
      if (!nest_.persistent.empty()) barrier(by_warps() ? loop::Scope::warp : loop::Scope::block);
    };
    meet();
    each(Binding::serial, count_, "first", 0, end_, form_.row_threads, [&](const E& first) {
      counts_ = let("in_row", DType::bool_, first + thread_ < end_);
      let("row", count_, select(counts_, first + thread_, end_ - 1));
      unflatten_row(stage);
      scanning_ = true;
      stage_body(stage, counts_);
      scanning_ = false;
      counts_ = {};
    });
    meet();
  }

  /// The threads scan as many elements at a time as there are threads: each warp scans its part, and then combines it, in order, with the values of the earlier
  /// elements and of the earlier warps.
  E scanned(const Instr& instr) override {
    const DType type = instr.dtype;
    const E scan = var(instr.name, type, select(counts_, value_[instr.args[0]], loop::neutral(instr.op, type))), before = so_far(instr),
            lane = thread_ & (kWarp - 1);
    within(
        {.kind = Stmt::Kind::loop, .type = DType::int32, .name = "distance", .binding = Binding::unrolled, .change = Change::twice, .first = 1, .end = kWarp},
        [&] {
          const E distance = loop::variable("distance", DType::int32), other = let("before", type, loop::make(Expr::Kind::shuffle_up, type, {scan, distance}));
          store(scan, combined(instr.op, type, other, scan), lane >= distance);
        });
    if (warps() == 1) {
      const E last = let(instr.name + "_last", type, loop::make(Expr::Kind::shuffle, type, {scan, kWarp - 1}));
      store(scan, loop::cast(carry(instr, before, scan), type));
      store(before, carry(instr, before, last));
      return scan;
    }
    const Memory parts{instr.name + "_parts", type};
    store(parts.at({thread_ / kWarp}), scan, lane == kWarp - 1);
    barrier(loop::Scope::block);
    within({.kind = Stmt::Kind::branch}, [&] {
      const E own = var("before", carried(instr), before);
      each(Binding::serial, DType::int32, "warp", 0, thread_ / kWarp, 1, [&](const E& warp) { store(own, carry(instr, own, parts.at({warp}))); });
      store(scan, loop::cast(carry(instr, own, scan), type));
    });
    each(Binding::serial, DType::int32, "warp", 0, warps(), 1, [&](const E& warp) { store(before, carry(instr, before, parts.at({warp}))); });
    barrier(loop::Scope::block, "before the next iteration writes its parts");
    return scan;
  }

  /// Combines each thread's parts of a row into one value that all threads of the row have.
  void combine_row(const Stage& stage) {
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      const Memory parts = part(reduction);
      E own = loop::variable(parts.name, parts.type);
      if (width_ > 1) {
        own = parts.at({0});
        unrolled("lane", 1, width_, [&](const E& lane) { store(own, combined(reduction, own, parts.at({lane}))); });
      }
      // The tree over a warp's lanes: with the lane 16 away, then 8, 4, 2, 1. All lanes have the same tree.
      const int lanes = std::min(form_.row_threads, kWarp);
      within({.kind = Stmt::Kind::loop, .type = DType::int32, .name = "distance", .binding = Binding::unrolled, .change = Change::half, .first = lanes / 2},
             [&] {
               const E other = let("other", r.dtype, loop::make(Expr::Kind::shuffle_xor, r.dtype, {own, loop::variable("distance", DType::int32)}));
               store(own, combined(reduction, own, other));
             });
      // If equal values can have different bits (-0 and +0, NaNs), the first lane's result is used. From sm_80 on, the instructions for min and max of float32
      // order -0 before +0 and always give the same NaN, so this is not needed.
      const bool same_bits =
          !is_floating(r.dtype) || reduction.op == Op::reduce_sum || reduction.op == Op::reduce_prod || (r.dtype == DType::float32 && sm_ >= 80);
      const E first_lane = lanes == kWarp ? E(0) : loop::thread_x() & (kWarp - lanes);
      const E all = same_bits ? own : loop::make(Expr::Kind::shuffle, r.dtype, {own, first_lane});
      if (warps() <= 1) value_[reduction.result] = let(r.name, r.dtype, all);
      else store(Memory{r.name + "_parts", r.dtype}.at({loop::thread_x() / kWarp}), let(r.name + "_warp", r.dtype, all), (loop::thread_x() & (kWarp - 1)) == 0);
    }
    if (warps() <= 1 || stage.reductions.empty()) return;
    barrier(loop::Scope::block);
    for (const Reduction& reduction : stage.reductions) {
      const Instr& r = result(reduction);
      const Memory parts{r.name + "_parts", r.dtype};
      const E all = value_[reduction.result] = var(r.name, r.dtype, parts.at({0}));
      unrolled("warp", 1, warps(), [&](const E& warp) { store(all, combined(reduction, all, parts.at({warp}))); });
    }
    if (cluster() > 1) combine_cluster(stage);
  }

  /// Combines the blocks' parts of a row. Every block reads the parts of all blocks from their shared memory and combines them in the same order.
  void combine_cluster(const Stage& stage) {
    for (const Reduction& reduction : stage.reductions)
      store(loop::variable(result(reduction).name + "_own", result(reduction).dtype), value_[reduction.result], thread_ == 0);
    barrier(loop::Scope::cluster_arrive);
    barrier(loop::Scope::cluster_wait);
    for (const Reduction& reduction : stage.reductions) {
      const E& all = value_[reduction.result];
      const auto of = [&](const E& block) {
        return E(Expr{.kind = Expr::Kind::remote, .type = all->type, .name = result(reduction).name + "_own", .args = {block}});
      };
      store(all, of(0));
      unrolled("member", 1, cluster(), [&](const E& member) { store(all, combined(reduction, all, of(member))); });
    }
    if (&stage == last_reducing_stage()) barrier(loop::Scope::cluster_arrive, "this block has read the parts of the others");
  }
  const Stage* last_reducing_stage() const {
    const Stage* last = nullptr;
    for (const Stage& stage : nest_.stages)
      if (!stage.reductions.empty()) last = &stage;
    return last;
  }
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const RowsForm& form, int sm) {
  return Rows(nest, sm).write(form.cluster > 1            ? fmt::format("a cluster of {} blocks per row", form.cluster)
                              : form.row_threads > kWarp  ? "a block per row"
                              : form.row_threads == kWarp ? "a warp per row"
                                                          : fmt::format("{} threads per row", form.row_threads));
}

}  // namespace sinter::jit::forms
