// Tiles: lanes have a stride somewhere. Neighbouring points of the axis outside are computed together, in blocks, so that all elements of a cache line are used
// while it is in the cache. Inputs with a stride along the lanes that are contiguous along the axis outside are read in square tiles along it and transposed
// in registers. Points outside of whole squares are gathered.
#include <algorithm>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {
namespace {

class Tiles : public Across {
 public:
  Tiles(const LoopNest& nest, const CpuTarget& cpu) : Across(nest, cpu) {
    whole_vector_ = std::max(64, cpu.vector_bytes);  // neighbouring vectors are not written one after the other, so each must be a whole cache line
  }

 private:
  bool masks_the_rest() const override { return false; }
  bool moves(int index) const override { return Across::moves(index) || depends_on(nest_, index, down()); }
  int down() const { return nest_.parallel - 2; }

  E outer_step() override { return points_ = var("points", DType::int64); }
  /// Takes at most a tile, up to the end of the last outer axis and of this call's range.
  void outer_point() override {
    const E left = minimum(sizes_[down()] - axis(down()), loop::bound("outer_end") - loop::variable("outer", DType::int64));
    store(points_, minimum(left, nest_.schedule.as<TilesForm>().tile));
    Across::outer_point();
  }

  void vectors(const E& begin, const E& stop, int lanes) override {
    loop_over(nest_.lane_axis(), begin, stop, lanes, [&] { tile(lanes); });
  }

  bool transposable(std::size_t input, int lanes) const {
    const Access& access = nest_.inputs[input];
    const auto guards = [&](const Instr& instr) { return instr.kind == Instr::Kind::load && instr.input == static_cast<int>(input) && instr.guard >= 0; };
    return lanes > 1 && lanes == native_lanes_ && itemsize(access.dtype) >= 4 && along(access) >= 0 && coefficient(nest_, access.index, down()) == kOne &&
           std::none_of(nest_.instrs.begin(), nest_.instrs.end(), guards);  // a guarded input must not be read ahead
  }

  void tile(int lanes) {
    const int points = nest_.schedule.as<TilesForm>().thin;
    if (points == 0 || lanes == 1 || lanes != native_lanes_) return square_tile(lanes);
    std::vector<const Stage*> stages;
    for (const Stage& stage : nest_.stages) stages.push_back(&stage);
    const Thin thin = thin_accesses(stages, down(), points);
    branch(is_thin(thin) && points_ == E(points), [&] { each_thin(thin, lanes, [&] { point(lanes); }); }, [&] { square_tile(lanes); });
  }

  void square_tile(int lanes) {
    const E corner = int_let("corner", axis(down()));
    E first_rest = 0;
    std::vector<int> inputs;
    for (std::size_t k = 0; k < nest_.inputs.size(); ++k)
      if (transposable(k, lanes)) inputs.push_back(static_cast<int>(k));
    if (!inputs.empty()) {
      first_rest = int_let("whole", whole(points_, lanes));
      loop("square", 0, first_rest, lanes, [&](const E& first) {
        set_axis(down(), corner + first);
        std::map<int, Memory> squares;
        for (const int input : inputs) squares[input] = read_square(nest_.inputs[input], lanes);
        loop("point", first, first + lanes, 1, [&](const E& at) {
          for (const auto& [input, square] : squares) loaded_[input] = square.at({at - first});
          set_axis(down(), corner + at);
          point(lanes);
        });
        loaded_.clear();
      });
    }
    loop("point", first_rest, points_, 1, [&](const E& at) {
      set_axis(down(), corner + at);
      point(lanes);
    });
  }

  /// Reads as many vectors as lanes along the axis outside, from neighbouring lanes, and transposes them.
  Memory read_square(const Access& access, int lanes) {
    const Memory lines = registers(access.name + "_lines", {access.dtype, lanes}, lanes);
    const E first = index(access.index, 1);
    each(Binding::unrolled, DType::int64, "line", 0, lanes, 1,
         [&](const E& line) { store(lines.at({line}), memory(access).vector_at({first + number(along(access)) * line}, lanes)); });
    return transposed(access.name + "_square", lines, lanes);
  }

  E points_;  // of the last outer axis, at once
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const TilesForm&, const CpuTarget& cpu) { return Tiles(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
