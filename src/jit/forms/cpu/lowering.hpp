// Lowering has the code that a CPU's forms share: the loop over the outer axes, indices, the bodies of stages for some lanes, and reductions. A form writes its
// loops for vectors of W lanes along the vector axis, then for narrower vectors, then for single elements or a vector with a mask. All of these run the same
// operations in the same order on each element, so a result does not depend on where a thread's range begins. Reductions follow jit/reduction_order.hpp, as in
// the interpreter.
#pragma once
#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "jit/compiler.hpp"
#include "jit/forms/cpu/one_sided.hpp"
#include "jit/forms/statements.hpp"
#include "jit/reduction_order.hpp"

namespace sinter::jit::forms::cpu {

loop::Kernel lower(const LoopNest& nest, const PointwiseForm& form, const CpuTarget& cpu);
loop::Kernel lower(const LoopNest& nest, const TilesForm& form, const CpuTarget& cpu);
loop::Kernel lower(const LoopNest& nest, const RowsForm& form, const CpuTarget& cpu);
loop::Kernel lower(const LoopNest& nest, const ColumnsForm& form, const CpuTarget& cpu);
loop::Kernel lower(const LoopNest& nest, const PanelsForm& form, const CpuTarget& cpu);
[[noreturn]] loop::Kernel lower(const LoopNest& nest, const ContractionForm& form, const CpuTarget& cpu);  // only a GPU has contractions

class Lowering : protected Statements {
 public:
  Lowering(const LoopNest& nest, const CpuTarget& cpu);
  virtual ~Lowering() = default;
  loop::Kernel write();

 protected:
  // The form's part.
  /// Returns the number of outer axes: the parallel axes without the axis of the lanes.
  virtual int outer_axes() const { return nest_.parallel - 1; }
  /// Returns the number of points of the last outer axis that are computed at once.
  virtual E outer_step() { return 1; }
  /// Returns the largest number of rows whose persistent values exist at a time, and the number of the present one among them.
  virtual E rows_at_once() { return 1; }
  virtual E row_at_once() { return 0; }
  /// Writes all points of the axis of the lanes at a point of the outer axes.
  virtual void outer_point() = 0;
  virtual void row_stage(const Stage& stage, int lanes);
  /// Writes the store of all lanes, with no guard and no mask.
  virtual void store_lanes(const Store& store, int lanes);
  /// Returns a persistent buffer's values at the present row point.
  virtual E persistent_place(int buffer, int lanes);

  // Statements.
  /// Writes for (name = first; name < end; name += step). Indices are computed anew inside.
  template <class Inside> void loop(const std::string& name, const E& first, const E& end, const E& step, Inside inside) {
    const auto known = std::exchange(indices_, {});
    each(Binding::serial, DType::int64, name, first, end, step, inside);
    indices_ = known;
  }
  /// Writes the statements for name = 0, 1, ... count - 1 one after the other.
  template <class Inside> void unrolled(const std::string& name, int count, Inside inside) {
    const auto known = indices_;
    each(Binding::unrolled, DType::int64, name, 0, count, 1, inside);
    indices_ = known;
  }
  template <class Inside> void loop_over(int axis, const E& first, const E& end, const E& step, Inside inside) {
    loop(axis_name(axis), first, end, step, [&](const E&) { inside(); });
  }
  template <class Inside> void branch(const E& when, Inside inside) {
    const auto known = indices_;  // values computed in a branch are not available after it
    within({.kind = Stmt::Kind::branch, .guard = when}, inside);
    indices_ = known;
  }
  template <class Inside, class Otherwise> void branch(const E& when, Inside inside, Otherwise otherwise) {
    const auto known = indices_;
    Stmt choice{.kind = Stmt::Kind::branch, .guard = when, .body = collected(inside)};
    indices_ = known;
    choice.otherwise = collected(otherwise);
    indices_ = known;
    add(std::move(choice));
  }
  E int_let(const char* name, const E& value) { return let(name, DType::int64, value); }
  static E minimum(const E& a, const E& b) { return loop::primitive(Op::minimum, DType::int64, {a, b}); }
  static E maximum(const E& a, const E& b) { return loop::primitive(Op::maximum, DType::int64, {a, b}); }
  /// Returns the number, rounded down to a multiple of `lanes`, a power of two.
  static E whole(const E& number, int lanes) { return number & E(-lanes); }

  // Axes and indices.
  std::string axis_name(int a) const { return a < nest_.parallel ? fmt::format("p{}", a) : fmt::format("r{}", a - nest_.parallel); }
  /// Returns the axis' value for the first lane.
  E axis(int a) const { return loop::variable(axis_name(a), DType::int64); }
  void set_axis(int a, const E& value) {
    let(axis_name(a), DType::int64, value);
    indices_.clear();
  }
  /// Returns a number of LoopNest::ints, or 1.
  static E number(int parameter) { return parameter == kOne ? loop::literal(1, DType::int64) : loop::variable(fmt::format("s{}", parameter), DType::int64); }
  int along(const Access& access) const { return coefficient(nest_, access.index, lane_axis_); }
  /// Returns the index for the first lane, or for every lane.
  E index(int number, int lanes);

  // Bodies.
  void point(int lanes);
  void clip_rows();
  void body(const Stage& stage, int lanes);
  E value_of(const Instr& instr, int lanes);
  /// Returns the value under the instruction's name, or the variable that it is.
  E named(const Instr& instr, const E& value) { return value->kind == Expr::Kind::variable ? value : let(instr.name, value->type, value); }
  /// Returns the guard, restricted to points in a vector that ends an axis.
  E masked(const E& guard) const { return mask_.empty() ? guard : guard && mask_; }
  /// Returns the mask of the lanes that are points, as a guard; no expression if all are.
  E points() const { return mask_.empty() ? E() : loop::make(Expr::Kind::some, mask_->type, {mask_}); }
  void start_mask(const E& count, int lanes) {
    mask_ = let("in_axis", {DType::bool_, lanes}, loop::make(Expr::Kind::lanes_below, {DType::bool_, lanes}, {count}));
  }
  /// Returns the element or elements of an access. `apart`: one for each lane, even if all lanes have the same.
  E place(const Access& access, int lanes, bool apart = false);
  /// Stores the lanes. If all have the same place, the last lane's value stays.
  void store_last(const E& target, const E& value, const E& guard = {}) {
    store(target, target->type.width == 1 && value->type.width > 1 ? loop::lane_of(value, value->type.width - 1) : value, guard);
  }
  /// Stores to neighbouring elements. If the kernel writes much and the address is aligned, the store bypasses the cache.
  void store_wide(const E& target, const E& value);
  /// Returns whether the processor can load and store some lanes of each access, with one instruction for a vector.
  bool has_masked_accesses() const;
  /// Returns whether masks have registers of their own, so that a masked vector takes no longer than a whole one (AVX-512).
  bool has_mask_registers() const { return cpu_.vector_bytes == 64; }
  static Memory memory(const Access& access) { return {access.name, access.dtype}; }
  /// Transposes squares of as many neighbouring lanes as there are vectors.
  Memory transposed(const std::string& name, const Memory& vectors, int count) {
    return registers(name, vectors.type, count, Expr{.kind = Expr::Kind::transposed, .type = vectors.type, .name = vectors.name});
  }

  // Reductions, in the order of jit/reduction_order.hpp (reductions.cpp).
  const Instr& result(const Reduction& reduction) const { return nest_.instrs[reduction.result]; }
  E combined(const Reduction& reduction, const E& a, const E& b) const { return Statements::combined(reduction.op, result(reduction).dtype, a, b); }
  E neutral(const Reduction& reduction) const { return loop::neutral(reduction.op, result(reduction).dtype); }
  /// Declares the parts. `width` lanes are computed at once; a reduction that does not round has only these lanes. `in_slices`: masked bodies compute fewer.
  void start_reductions(const Stage& stage, int lanes, int width, bool in_slices = false);
  void combine_values(const Stage& stage, int lanes);
  void end_step(const Stage& stage);
  void finish_reductions(const Stage& stage);
  /// Combines lanes of a reduction's part, until tree_lanes_ are left.
  E tree(const Reduction& reduction, const E& lanes) const;
  void start_scans(const Stage& stage, int lanes);
  E scan(int number, int lanes);

  const LoopNest& nest_;
  const CpuTarget& cpu_;
  const bool along_rows_;      // the lanes are points of a row
  int lane_axis_;              // the axis of the lanes of the present statement
  int native_lanes_ = 1;       // elements of the widest type in a vector register
  int whole_vector_;           // the fewest bytes of a store that may bypass the cache
  std::vector<E> sizes_;       // of each axis; the first row axis is limited to the chunk
  E row_points_ = 1;           // the number of points of a row
  std::vector<E> value_;       // by instruction
  std::vector<char> hoisted_;  // by instruction: computed before the loops over lanes
  std::map<int, E> loaded_;    // by input: its element, read before
  E mask_;                     // lanes that are points, in a vector that ends an axis; empty: all lanes are
  E first_lane_;               // first lane of a narrower vector; empty: all lanes are computed at once
  E slice_ = 0;                // first lane of a slice, in a sliced step
  bool by_divisor_ = false;    // a loop over whole vectors is written, so that preparing a divisor pays
  int tree_lanes_ = 1;         // the lanes of a reduction's result, if lanes are points of a row

  /// The parts of a reduction. The values that are not yet in the block are in `step`.
  struct Parts {
    int lanes = 1;
    E step, block, run;
    Memory sliced;  // the array of `step`, if bodies compute slices of a step
    Memory rest;    // values of the last step of an axis, which narrower vectors compute
  };
  std::map<int, Parts> parts_;  // by the reduction's result

 private:
  void outer_loop();
  void advance_outer_axes(const E& step);
  void side(const Stage& stage, const OneSided& sided, int side, int lanes);
  E load(const Instr& instr, int lanes);
  E load_irregular(const Instr& instr, int lanes);
  E compare_lanes(const Instr& instr);
  void move_parts(const Stage& stage, E Parts::*from, E Parts::*to);

  std::map<std::pair<int, int>, E> indices_;  // named in this scope or an outer one, by (index, lanes)
  std::map<const Stage*, OneSided> one_sided_;
  std::map<int, E> so_far_;  // by scan: the row's running value
  E steps_;                  // number of completed steps
};

/// Lanes along a parallel axis: vectors of the form's width, then of a register's width, then single points or one vector with a mask.
class Across : public Lowering {
 public:
  using Lowering::Lowering;

 protected:
  void outer_point() override;
  /// Writes the points [begin, stop) of the axis of the lanes, in vectors of `lanes`.
  virtual void vectors(const E& begin, const E& stop, int lanes);
  /// Returns whether the loops inside change the index.
  virtual bool moves(int index) const { return depends_on(nest_, index, lane_axis_); }
  /// Returns whether the last points, too few for a vector, are one masked vector: each access is contiguous, and the processor can mask it.
  virtual bool masks_the_rest() const;
  /// Returns whether vectors() writes this masked vector itself; `stop` is then the end.
  virtual bool ends_masked() const { return false; }
  void store_lanes(const Store& s, int lanes) override;

  // A short axis whose points are neighbours in memory, while the lanes are as far apart as the axis is long: the vectors of some lanes' points are read and
  // written whole, and taken apart in registers.
  struct Thin {
    int axis, points;
    std::vector<int> inputs, outputs;
  };
  /// Returns the accesses of these stages that may be read or written so.
  Thin thin_accesses(const std::vector<const Stage*>& stages, int axis, int points) const;
  /// Returns whether the axis and the strides are as long as the schedule says.
  E is_thin(const Thin& thin) const;
  /// Calls inside() for each point of the axis.
  template <class Inside> void each_thin(const Thin& thin, int lanes, Inside inside) {
    const auto known = std::exchange(loaded_, {});
    set_axis(thin.axis, 0);
    const std::map<int, Memory> read = read_apart(thin, lanes);
    for (const int output : thin.outputs)
      columns_[output] = registers(nest_.outputs[output].name + "_columns", {nest_.outputs[output].dtype, lanes}, thin.points);
    unrolled("thin_point", thin.points, [&](const E& at) {
      for (const auto& [input, columns] : read) loaded_[input] = columns.at({at});
      column_ = at;
      set_axis(thin.axis, at);
      inside();
    });
    column_ = {};
    loaded_ = known;
    write_together(thin, lanes);
    columns_.clear();
  }

 private:
  std::map<int, Memory> read_apart(const Thin& thin, int lanes);
  void write_together(const Thin& thin, int lanes);
  /// Returns the vector widths to loop over, widest first, ending with 1.
  std::vector<int> widths(int vectors) const;
  void hoist_invariants();

  std::map<int, Memory> columns_;  // by output, while the points of a short axis are computed
  E column_;                       // the point
};

}  // namespace sinter::jit::forms::cpu
