// Tiles: one block for each 32 x 32 points of the last two axes. Inputs that are contiguous along the axis before the last are read along that axis into shared
// memory, one line to a warp, and read back along the other axis. Lines of 33 elements let a warp read a column in one access. Outputs do the reverse.
#include "jit/forms/lowering.hpp"

namespace sinter::jit::forms {
namespace {

class Tiles : public Lowering {
  using Lowering::Lowering;

  void check() const override {
    if (kWarp * kWarp % schedule_.threads != 0) fail(fmt::format("tiles of side {} for {} threads", kWarp, schedule_.threads));
    if (nest_.rows > 0 || nest_.parallel < 2 || width_ > 1) fail("tiles need two parallel axes, no rows and no vectors");
  }

  void body() override {
    across_ = kWarp;
    const int across = nest_.parallel - 1, down = across - 1;
    const E wide = let("tiles_across", count_, (count_of(across) + (kWarp - 1)) / kWarp),
            high = let("tiles_down", count_, (count_of(down) + (kWarp - 1)) / kWarp);
    E product = wide * high;
    for (int a = 0; a < down; ++a) product = product * count_of(a);
    const E tiles = let("tiles", count_, product), x = loop::thread_x();
    std::map<int, Memory> turned, turned_back;
    for (int input : turnable_inputs(nest_)) turned[input] = shared(fmt::format("turned{}", input), nest_.inputs[input].dtype, {kWarp, kWarp + 1});
    for (int output : turnable_outputs(nest_))
      turned_back[output] = shared(fmt::format("turned_back{}", output), nest_.outputs[output].dtype, {kWarp, kWarp + 1});
    each(Binding::grid, count_, "tile", loop::block(), tiles, loop::blocks(), [&](const E& tile) {
      let("first_across", count_, tile % wide * kWarp);
      const E line = let("line_of_tiles", count_, tile / wide);
      let("first_down", count_, line % high * kWarp);
      if (down > 0) unflatten(let("outer", count_, line / high), axes_between(0, down), [&](int a) { return is_used(a); });
      if (!turned.empty()) {
        points(true, [&](const E& y) {
          for (const auto& [input, memory] : turned) {
            const Access& access = nest_.inputs[input];
            store(memory.at({y, x}), Memory{access.name, access.dtype}.at({index(access.index, false)}));
          }
        });
        barrier(loop::Scope::block);
      }
      points(false, [&](const E& y) {
        for (const auto& [input, memory] : turned) loaded_[input] = memory.at({x, y});
        for (const auto& [output, memory] : turned_back) stored_[output] = memory.at({y, x});
        const Stage all = all_stages();
        name_point_indices(all);
        stage_body(all, inside());
      });
      if (!turned_back.empty()) {
        forget_indices();
        barrier(loop::Scope::block);
        points(true, [&](const E& y) {
          for (const auto& [output, memory] : turned_back) {
            const Access& access = nest_.outputs[output];
            store(Memory{access.name, access.dtype}.at({index(access.index, false)}), memory.at({x, y}), inside());
          }
        });
      }
      if (!turned.empty() || !turned_back.empty()) barrier(loop::Scope::block, "before the next tile is read");
    });
  }

  static E inside() { return loop::variable("x_inside", DType::bool_) && loop::variable("y_inside", DType::bool_); }

  /// Loops over the points of a tile. A warp computes a line of the tile, or with `turned` a column. Past the end of an axis the last point is read again and
  /// not stored: without branches, all reads of a tile are in flight at once.
  template <class Inside> void points(bool turned, Inside inside) {
    const int across = nest_.parallel - 1, rows = schedule_.threads / kWarp;
    unrolled("step", 0, kWarp / rows, [&](const E& step) {
      const E y = let("y", DType::uint32, loop::thread_y() + step * rows), x = loop::thread_x();
      const E x_at = counted("first_across") + (turned ? y : x), y_at = counted("first_down") + (turned ? x : y);
      const E x_inside = let("x_inside", DType::bool_, x_at < number(across)), y_inside = let("y_inside", DType::bool_, y_at < number(across - 1));
      let(axis_name(across), index_, select(x_inside, loop::cast(x_at, index_), number(across) - 1));
      let(axis_name(across - 1), index_, select(y_inside, loop::cast(y_at, index_), number(across - 1) - 1));
      inside(y);
    });
  }
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const TilesForm&, int sm) {
  return Tiles(nest, sm).write("a block per 32 x 32 points; what lies the other way round is turned in shared memory");
}

}  // namespace sinter::jit::forms
