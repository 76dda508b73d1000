// Contractions: one block for each tile of two parallel axes. Each thread holds a part of the tile in registers (jit/contraction.hpp). The row points come in
// steps of `depth`. While one step is combined, the next one is loaded to registers, and written to the other half of shared memory before the barrier.
#include "jit/contraction.hpp"

#include <algorithm>

#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {
namespace {

class Pairs : public Lowering {
 public:
  Pairs(const LoopNest& nest, const ContractionForm& form, int sm)
      : Lowering(nest, sm),
        side_(form.side),
        each_(side_ / kContractionSide),
        depth_(contraction_depth(side_)),
        group_(contraction_group(side_)),
        brought_(depth_ * side_ / kContractionThreads),
        left_(form.left),
        right_(form.right) {}

 private:
  void check() const override {
    if (schedule_.threads != kContractionThreads) fail(fmt::format("tiles of side {} for {} threads", side_, schedule_.threads));
    if (width_ != 1 && width_ != group_) fail("a thread stores all its neighbouring points at once, or one by one");
  }

  void body() override {
    parts_ = *jit::contraction(nest_, left_, right_);
    pass_ = &*std::find_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row; });
    // A multiprocessor holds two blocks of the largest tiles if a thread takes at most 128 registers. One sum of products needs at most 128. (For sm_120 with
    // batches ptxas takes more, and would spill.)
    if (side_ == 128 && !(sm_ >= 120 && nest_.parallel > 2) && parts_.of_products && parts_.pairs.size() == 1) residents_ = 2;
    const E wide = let("squares_across", count_, (count_of(right_) + (side_ - 1)) / side_),
            high = let("squares_down", count_, (count_of(left_) + (side_ - 1)) / side_);
    std::vector<int> outer;
    E product = wide * high;
    for (int a = 0; a < nest_.parallel; ++a) {
      if (a == left_ || a == right_) continue;
      outer.push_back(a);
      product = product * count_of(a);
    }
    const E tiles = let("squares", count_, product);
    let("across", DType::uint32, loop::thread_x() % kContractionSide);
    let("down", DType::uint32, loop::thread_x() / kContractionSide);
    for (const auto* values : {&parts_.left, &parts_.right})
      for (const int value : *values) shared(shared_of(value).name, shared_of(value).type.dtype, {2, depth_, side_ + 4}, true);
    each(Binding::grid, count_, "square", loop::block(), tiles, loop::blocks(), [&](const E& tile) {
      let("first_across", count_, tile % wide * side_);
      const E line = let("line_of_squares", count_, tile / wide);
      let("first_down", count_, line % high * side_);
      if (!outer.empty()) unflatten(let("outer", count_, line / high), outer, [&](int a) { return is_used(a); });
      count_row_points();
      for (const Reduction& reduction : pass_->reductions) registers(result(reduction).name + "_part", result(reduction).dtype, each_ * each_);
      for_each_pair([&] {
        for (const Reduction& reduction : pass_->reductions) store(part(reduction), loop::neutral(reduction.op, result(reduction).dtype));
      });
      const E stretches = let("stretches", count_, (counted("row_points") + (depth_ - 1)) / depth_);
      each(Binding::serial, count_, "stretch", 0, stretches + 1, 1, [&](const E& stretch) {
        for (const auto* values : {&parts_.left, &parts_.right})
          for (const int value : *values) registers(next_of(value).name, next_of(value).type, brought_);
        const auto when = [&](const E& condition, auto inside) { within({.kind = Stmt::Kind::branch, .guard = condition}, inside); };
        when(stretch < stretches, [&] {
          bring(parts_.left, left_, counted("first_down"));
          bring(parts_.right, right_, counted("first_across"));
        });
        when(stretch > 0, [&] { combine_pairs(); });
        when(stretch < stretches, [&] {
          put(parts_.left, left_);
          put(parts_.right, right_);
        });
        barrier(loop::Scope::block);
      });
      finish_pairs();
    });
  }

  Memory shared_of(int value) const { return {nest_.instrs[value].name + "_shared", nest_.instrs[value].dtype}; }
  Memory next_of(int value) const { return {nest_.instrs[value].name + "_next", nest_.instrs[value].dtype}; }
  static E x() { return loop::variable("x", DType::int32); }
  static E y() { return loop::variable("y", DType::int32); }
  E part(const Reduction& reduction, bool at_lane = false) const {
    return Memory{result(reduction).name + "_part", result(reduction).dtype}.at({y() * each_ + (at_lane ? x() + lane() : x())});
  }
  /// Returns the position in the tile of a thread's point `number`. A thread has groups of neighbouring points; the next group is the next thread's.
  E place(const char* thread, const E& number) const {
    return loop::variable(thread, DType::uint32) * group_ + number / group_ * (group_ * kContractionSide) + number % group_;
  }
  template <class Inside> void for_each_pair(Inside inside) {
    unrolled("y", 0, each_, [&](const E&) { unrolled("x", 0, each_, [&](const E&) { inside(); }); });
  }

  /// Returns whether the inputs of the values are contiguous along the rows, and not along the axis.
  bool lies_along_rows(const std::vector<int>& values, int a) const {
    for (const int id : computed_from(nest_, values)) {
      if (nest_.instrs[id].kind != Instr::Kind::load) continue;
      const int index = nest_.inputs[nest_.instrs[id].input].index;
      if (coefficient(nest_, index, nest_.axes() - 1) == kOne) return true;
      if (coefficient(nest_, index, a) == kOne) return false;
    }
    return true;
  }
  /// Writes a loop over the elements of one side's step that this thread loads. Neighbouring threads load adjacent elements.
  template <class Inside> void each_brought(const std::vector<int>& values, int a, Inside inside) {
    const bool rows = lies_along_rows(values, a);
    unrolled("piece", 0, brought_, [&](const E& piece) {
      const E number = let("number", DType::uint32, loop::thread_x() + piece * kContractionThreads);
      const E at = let("at", DType::uint32, rows ? number / depth_ : number % side_),
              deep = let("deep", DType::uint32, rows ? number % depth_ : number / side_);
      inside(piece, at, deep);
    });
  }
  void bring(const std::vector<int>& values, int a, const E& first) {
    Stage needed;
    needed.row = true;
    needed.body = computed_from(nest_, values);
    std::vector<int> named;
    each_brought(values, a, [&](const E& piece, const E& at, const E& deep) {
      let(axis_name(a), index_, loop::cast(first + at, index_));
      const E row = let("row", count_, loop::variable("stretch", count_) * depth_ + deep);
      for (const int value : values) store(next_of(value).at({piece}), 0);
      within({.kind = Stmt::Kind::branch, .guard = axis(a) < number(a) && row < counted("row_points")}, [&] {
        unflatten_row(needed);
        for (const bool of_row : {false, true}) each_index(needed, [&](int index) { name_inner(index, of_row, named); });
        compute(needed, false);
        for (const int value : values) store(next_of(value).at({piece}), value_[value]);
      });
    });
    for (const int index : named) forget_index(index);
    for (const int id : needed.body) value_[id] = {};
  }
  void put(const std::vector<int>& values, int a) {
    each_brought(values, a, [&](const E& piece, const E& at, const E& deep) {
      for (const int value : values) store(shared_of(value).at({loop::variable("stretch", count_) & 1, deep, at}), next_of(value).at({piece}));
    });
  }

  /// Combines the points of one step: at each point, all pairs of the thread's left and right values.
  void combine_pairs() {
    const E stretch = loop::variable("stretch", count_);
    unrolled("deep", 0, depth_, [&](const E& deep) {
      if (!parts_.of_products) add({.kind = Stmt::Kind::last, .guard = (stretch - 1) * depth_ + deep >= counted("row_points")});
      const auto take = [&](const std::vector<int>& values, const char* thread, const E& number) {
        for (const int value : values) {
          const Instr& instr = nest_.instrs[value];
          const Memory taken = registers(instr.name + "_at", {instr.dtype, group_}, each_ / group_);
          unrolled("k", 0, each_ / group_, [&](const E& k) {
            const std::vector<E> from{(stretch & 1) ^ E(1), deep, loop::variable(thread, DType::uint32) * group_ + k * (group_ * kContractionSide)};
            store(taken.at({k}), group_ > 1 ? shared_of(value).vector_at(from, group_) : shared_of(value).at(from));
          });
          const E vector = taken.at({number / group_});
          value_[value] = group_ > 1 ? loop::lane_of(vector, number % group_) : vector;
        }
      };
      take(parts_.left, "down", y());
      take(parts_.right, "across", x());
      for (std::size_t id = 0; id < nest_.instrs.size(); ++id)  // including the scalars of the stage before the pass over the row
        if (nest_.instrs[id].kind == Instr::Kind::scalar) value_[id] = loop::variable(fmt::format("c{}", nest_.instrs[id].input), nest_.instrs[id].dtype);
      // A product that is only summed is multiplied and added in one operation.
      const auto adds_product = [&](const Reduction& reduction) {
        const Instr& value = nest_.instrs[reduction.value];
        int uses = 0;
        for (const int other : parts_.pairs) each_operand(nest_, nest_.instrs[other], [&](int operand) { uses += operand == reduction.value; });
        for (const Reduction& other : pass_->reductions) uses += other.value == reduction.value;
        return reduction.op == Op::reduce_sum && value.kind == Instr::Kind::op && value.op == Op::multiply &&
               (value.dtype == DType::float32 || value.dtype == DType::float64) && uses == 1;
      };
      std::vector<int> added;
      for (const Reduction& reduction : pass_->reductions)
        if (adds_product(reduction)) added.push_back(reduction.value);
      const auto is_added = [&](int id) { return std::find(added.begin(), added.end(), id) != added.end(); };
      Stage pairs;
      pairs.row = true;
      std::copy_if(parts_.pairs.begin(), parts_.pairs.end(), std::back_inserter(pairs.body), [&](int id) { return !is_added(id); });
      for_each_pair([&] {
        compute(pairs, false);
        for (const Reduction& reduction : pass_->reductions) {
          const Instr& value = nest_.instrs[reduction.value];
          const E own = part(reduction);
          store(own, is_added(reduction.value) ? loop::make(Expr::Kind::multiply_add, value.dtype, {value_[value.args[0]], value_[value.args[1]], own})
                                               : combined(reduction, own, value_[reduction.value]));
        }
      });
    });
    for (const int id : pass_->body) value_[id] = {};
    for (const auto* values : {&parts_.left, &parts_.right})
      for (const int value : *values) value_[value] = {};
  }

  /// Writes the stages after the rows, for each point or for vectors of a thread's neighbouring points.
  void finish_pairs() {
    const Stage all = all_stages();
    unrolled("y", 0, each_, [&](const E& y) {
      next(let(axis_name(left_), index_, loop::cast(counted("first_down") + place("down", y), index_)) >= number(left_));
      unrolled(
          "x", 0, each_,
          [&](const E& x) {
            next(let(axis_name(right_), index_, loop::cast(counted("first_across") + place("across", x), index_)) >= number(right_));
            for (const Reduction& reduction : pass_->reductions) value_[reduction.result] = part(reduction, width_ > 1);
            name_point_indices(all);
            stage_body(all, {});
          },
          width_);
    });
  }

  const int side_, each_, depth_, group_, brought_, left_, right_;
  Contraction parts_;
  const Stage* pass_ = nullptr;
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const ContractionForm& form, int sm) {
  return Pairs(nest, form, sm).write(fmt::format("a block per {0} x {0} points, of which a thread has {1} x {1}", form.side, form.side / kContractionSide));
}

}  // namespace sinter::jit::forms
