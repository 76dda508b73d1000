// Panels: columns whose rows are read several at once along the lanes' axis, into a panel of accumulators in the first-level cache, because memory is fast only
// along that axis.
#include <algorithm>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {
namespace {

class Panels : public Across {
  using Across::Across;

  /// The accumulators of a reduction: the steps since the last block, the blocks since the last run, the runs.
  struct Panel {
    const Reduction* reduction;
    std::vector<Memory> levels;
  };

  bool masks_the_rest() const override { return false; }

  void vectors(const E& begin, const E& stop, int lanes) override {
    const int panel = lanes * form_.panel;
    loop(fmt::format("panel{}", lanes), begin, stop, panel,
         [&](const E& first) { write_panel(first, int_let("panel_end", minimum(first + panel, stop)), lanes); });
  }

  /// Computes the points [begin, end) of the lanes' axis over all rows. Values before the row stage are computed again at each use.
  void write_panel(const E& begin, const E& end, int lanes) {
    const auto row_stage = std::find_if(nest_.stages.begin(), nest_.stages.end(), [](const Stage& stage) { return stage.row; });
    std::vector<Panel> panels;
    for (const Reduction& reduction : row_stage->reductions) {
      Panel& panel = panels.emplace_back(Panel{&reduction, {}});
      for (const char* level : {"steps", "block", "run"}) {
        panel.levels.push_back(registers(fmt::format("{}_{}", result(reduction).name, level), result(reduction).dtype, lanes * form_.panel));
        if (!rounds(reduction.op, result(reduction).dtype)) break;
      }
    }
    const auto at = [&](const Memory& level) { return level.vector_at({axis(nest_.lane_axis()) - begin}, lanes); };
    const auto each_lane = [&](auto inside) { loop_over(nest_.lane_axis(), begin, end, lanes, inside); };
    const auto fold = [&](std::size_t level) {  // combines a level into the next
      if (std::none_of(panels.begin(), panels.end(), [](const Panel& panel) { return panel.levels.size() > 1; })) return;
      each_lane([&] {
        for (const auto& [reduction, levels] : panels) {
          if (levels.size() == 1) continue;
          store(at(levels[level + 1]), combined(*reduction, at(levels[level + 1]), at(levels[level])));
          store(at(levels[level]), neutral(*reduction));
        }
      });
    };
    const auto rows = [&](const E& first, const E& last, int at_once) {
      loop(fmt::format("rows{}", at_once), first, last, at_once, [&](const E& row) {
        each_lane([&] {
          for (const auto& [reduction, levels] : panels) {
            const Type type(result(*reduction).dtype, lanes);
            parts_[reduction->result] = {lanes, var(result(*reduction).name + "_step", type, at(levels[0])), {}, {}, {}, {}};
          }
          for (auto stage = nest_.stages.begin(); stage != row_stage; ++stage) body(*stage, lanes);
          for (int k = 0; k < at_once; ++k)
            branch({}, [&] {
              set_axis(nest_.parallel, row + k);
              body(*row_stage, lanes);
            });
          for (const auto& [reduction, levels] : panels) store(at(levels[0]), parts_[reduction->result].step);
        });
      });
    };
    const auto blocks = [&](const char* name, const E& first, const E& last, int rows_each, const auto& inside) {
      loop(name, first, last, rows_each, [&](const E& row) { inside(row, let(fmt::format("{}_end", name), DType::int64, minimum(row + rows_each, last))); });
    };

    if (nest_.chunk_axis >= 0) clip_rows();
    each_lane([&] {
      for (const auto& [reduction, levels] : panels)
        for (const Memory& level : levels) store(at(level), neutral(*reduction));
    });
    blocks("run_of_rows", 0, sizes_[nest_.parallel], kRunSteps, [&](const E& run, const E& run_end) {
      blocks("block_of_rows", run, run_end, kBlockSteps, [&](const E& block, const E& block_end) {
        const E first_rest = int_let("whole_rows", whole(block_end, form_.panel_rows));
        rows(block, first_rest, form_.panel_rows);
        rows(first_rest, block_end, 1);
        fold(0);
      });
      fold(1);
    });
    each_lane([&] {
      for (const auto& [reduction, levels] : panels)
        value_[reduction->result] = let(result(*reduction).name, {result(*reduction).dtype, lanes}, at(levels.back()));
      for (auto stage = nest_.stages.begin(); stage != nest_.stages.end(); ++stage)
        if (stage != row_stage) body(*stage, lanes);
    });
  }

  const PanelsForm& form_ = nest_.schedule.as<PanelsForm>();
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const PanelsForm&, const CpuTarget& cpu) { return Panels(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
