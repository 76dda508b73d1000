// Lowering has the code that all forms share: statements, indices, the bodies of stages. RowLowering adds the code that rows and columns share: passes over a
// row, its reductions, and the values that are cached between passes.
#pragma once
#include <fmt/format.h>

#include <map>
#include <set>

#include "jit/cuda/geometry.hpp"
#include "jit/forms/forms.hpp"
#include "jit/forms/statements.hpp"
#include "jit/reduction_order.hpp"

namespace sinter::jit::forms {

using cuda::kWarp;

class Lowering : protected Statements {
 public:
  Lowering(const LoopNest& nest, int sm);
  virtual ~Lowering() = default;
  /// Writes the kernel: checks the nest, then the form's own body.
  loop::Kernel write(std::string note);

 protected:
  virtual void check() const {}
  virtual void body() = 0;
  /// Returns whether the stage's values differ from lane to lane.
  virtual bool has_lanes(const Stage&) const { return true; }
  /// Returns whether the stage's values are arrays, because another stage uses their lanes.
  virtual bool keeps_arrays(const Stage&) const { return false; }
  virtual E scanned(const Instr& instr);
  [[noreturn]] void fail(std::string_view what) const;

  // Statements.
  Memory shared(std::string name, DType dtype, std::vector<int> extents, bool aligned = false);
  void next(E when) { add({.kind = Stmt::Kind::next, .guard = std::move(when)}); }
  void barrier(loop::Scope scope, std::string note = {}) { add({.kind = Stmt::Kind::barrier, .scope = scope, .note = std::move(note)}); }
  template <class Inside> void unrolled(const std::string& name, int first, int end, Inside inside, int step = 1) {
    each(Binding::unrolled, DType::int32, name, first, end, step, inside);
  }
  /// Writes `inside` once for each element of a vector, or once if there is no vector.
  template <class Inside> void lanes(bool wanted, Inside inside) {
    if (!wanted) return inside();
    each(Binding::lanes, DType::int32, "lane", 0, width_, 1, [&](const E&) { inside(); });
  }
  static E lane() { return loop::variable("lane", DType::int32); }

  // Axes and indices.
  std::string axis_name(int a) const { return a < nest_.parallel ? fmt::format("p{}", a) : fmt::format("r{}", a - nest_.parallel); }
  E axis(int a) const { return loop::variable(axis_name(a), index_); }
  /// Returns a number of LoopNest::ints, or 1.
  E number(int parameter) const { return parameter == kOne ? as(1, index_) : loop::variable(fmt::format("s{}", parameter), index_); }
  E count_of(int a) const { return loop::cast(number(a), count_); }
  E counted(const char* name) const { return loop::variable(name, count_); }
  /// Returns the index at lane 0 of a vector, or (per_lane) at the current lane.
  E index(int number, bool per_lane) const;
  bool moves_along_rows(int number) const;
  /// Names the inner indices of `number` before their first use: those that depend on the row axes, or (not `row`) those that do not.
  void name_inner(int number, bool row, std::vector<int>& named);
  /// Names indices that do not depend on the row axes, once for each point, before the stage's loop.
  void name_point_indices(const Stage& stage);
  template <class Visit> void each_index(const Stage& stage, Visit visit) const {
    for (int id : stage.body) {
      const Instr& instr = nest_.instrs[id];
      if (instr.kind == Instr::Kind::load) visit(nest_.inputs[instr.input].index);
      if (instr.kind == Instr::Kind::index) visit(instr.input);
    }
    for (const Store& store : stage.stores) visit(nest_.outputs[store.output].index);
  }
  bool is_used(int a, const Stage& stage) const;
  bool is_used(int a) const;
  /// Computes the values of axes from a flat count, the last axis innermost. Axes that nothing uses get no name.
  template <class IsUsed> void unflatten(E rest, const std::vector<int>& axes, IsUsed is_wanted) {
    for (auto at = axes.rbegin(); at != axes.rend(); ++at) {
      if (is_wanted(*at)) let(axis_name(*at), index_, loop::cast(at + 1 == axes.rend() ? rest : rest % number(*at), index_));
      if (std::none_of(at + 1, axes.rend(), is_wanted)) return;
      rest = let(axis_name(*at) + "_rest", count_, rest / number(*at));
    }
  }
  static std::vector<int> axes_between(int first, int end);
  void unflatten_point();
  void unflatten_row(const Stage& stage);
  void count_points();
  /// Names the number of row points of this parallel point. If rows are divided into chunks, it is the number in this chunk.
  void count_row_points();

  // Bodies.
  /// Prepares divisors that many quotients share, before the loop of `stage`: literals, or (not `literals`) values that are computed once for a point.
  void name_divisors(const Stage& stage, bool literals);
  void name_literal_divisors(bool of_points);
  /// Joins all stages into one. Without rows a vector's values stay in its lanes.
  Stage all_stages() const;
  void compute(const Stage& stage, bool per_lane);
  /// Writes one stage at one row point (or one parallel point). `owner`: the condition under which a thread stores, if there is one.
  void stage_body(const Stage& stage, const E& owner);
  const Instr& result(const Reduction& reduction) const { return nest_.instrs[reduction.result]; }
  E combined(const Reduction& reduction, const E& a, const E& b) const { return combined(reduction.op, result(reduction).dtype, a, b); }
  using Statements::combined;

  bool in_registers() const { return schedule_.steps().count > 0; }
  int cluster() const { return schedule_.cluster(); }
  Memory persistent(int buffer) const { return {fmt::format("persistent{}", buffer), nest_.persistent[buffer]}; }

  const LoopNest& nest_;
  const Schedule& schedule_;
  const int width_;
  const DType index_, count_;  // types of axis values and of flat counts
  const int sm_;
  std::vector<E> value_;            // by instruction; empty without a value
  std::map<int, E> loaded_;         // by input: an element that was loaded before
  std::map<int, E> stored_;         // by output: the variable that receives its element instead of memory
  E row_owner_;                     // the condition under which a row's threads store
  E counts_;                        // if threads past the row's end take part: the condition that a point belongs to the row
  bool scanning_ = false;           // threads past the row's end take part in a scan
  bool by_lanes_ = true;            // false: the elements after the last whole vector, of a row or of all points, are written
  bool lanes_of_divisors_ = false;  // each lane has separate divisors
  int residents_ = 0;
  int across_;

 private:
  bool stage_has_lanes(const Stage& stage) const { return width_ > 1 && by_lanes_ && has_lanes(stage); }
  bool is_vector(int index) const { return coefficient(nest_, index, nest_.lane_axis()) == kOne; }
  bool is_vector(const Store& store) const;
  void load_ahead(const Stage& stage);
  /// Returns the index of a row point in a persistent buffer. If a cluster shares a row, a block has only its part.
  E staged_place(bool per_lane) const;
  E expression(const Instr& instr, bool per_lane);

  std::set<int> index_names_;  // inner indices that have a name in this scope
  std::map<int, E> divisors_;  // prepared divisors by the values that divide others
 protected:
  void forget_indices() { index_names_.clear(); }
  void forget_index(int number) { index_names_.erase(number); }
};

class RowLowering : public Lowering {
 public:
  using Lowering::Lowering;

 protected:
  Memory part(const Reduction& reduction) const { return {result(reduction).name + "_part", result(reduction).dtype}; }
  void declare_accumulators(const Stage& stage);
  /// Declares an array in shared memory for each reduction's parts.
  void declare_parts(const std::vector<int>& extents);
  void declare_persistent_registers();
  /// Writes a loop over this thread's points of a row. If the results may be known early, the loop tests for that at intervals, because a test at every point
  /// would delay the next reads.
  void thread_loop(const Stage& stage, const E& end);
  /// Writes as many unrolled steps as the longest row needs, so that the thread's cached value of each step has its own register.
  void steps_loop(const Stage& stage);
  /// Returns the condition that no later element can change this thread's parts.
  E decided(const Stage& stage) const;

  /// Returns the type of a scan's running value between iterations.
  static DType carried(const Instr& scan) { return trace::scan_carry(scan.op, scan.dtype); }
  static E so_far(const Instr& scan) { return loop::variable(scan.name + "_so_far", carried(scan)); }
  /// Combines a running value with another element.
  static E carry(const Instr& scan, const E& a, const E& b) { return combined(scan.op, carried(scan), a, loop::cast(b, carried(scan))); }
  template <class Visit> void each_scan(const Stage& stage, Visit visit) const {
    for (int id : stage.body)
      if (nest_.instrs[id].kind == Instr::Kind::scan) visit(nest_.instrs[id]);
  }
  void start_scans(const Stage& stage);
  /// Writes a barrier before parts in shared memory are written again at the next point. With two or more reducing stages, another stage's barrier is in
  /// between; a single stage needs this barrier.
  void guard_reuse(bool shared_parts);

  const Steps steps_ = schedule_.steps();
  // The form decides how the threads share a row.
  int sharing_ = 1;           // threads of a row
  int along_ = 1;             // neighbouring points of a row that a thread takes at once
  E thread_;                  // the thread's number among those of its row
  E first_, end_;             // the range of the row's points that this block has; without first_ it begins at 0
  bool lanes_share_ = false;  // a vector's lanes share a row's result
  bool clamps_ = false;       // a thread past the end of a row reads the last point again, which saves a branch
};

}  // namespace sinter::jit::forms
