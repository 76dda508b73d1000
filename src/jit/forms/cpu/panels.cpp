// Panels: columns whose rows are read several at once along the lanes' axis, into a panel of accumulators in the first-level cache, because memory is fast only
// along that axis.
#include <algorithm>
#include <map>
#include <set>

#include "jit/forms/cpu/lowering.hpp"

namespace sinter::jit::forms::cpu {
namespace {

/// The bytes of a row from which several rows are read at once: a page, within which a processor fetches the next elements of one row by itself.
constexpr int kLongRow = 4096;

class Panels : public Across {
 public:
  Panels(const LoopNest& nest, const CpuTarget& cpu) : Across(nest, cpu), read_elsewhere_(nest.instrs.size()) {
    for (const Stage& stage : nest.stages) {
      const std::set<int> own(stage.body.begin(), stage.body.end());
      each_read(nest, stage, [&](int value) { read_elsewhere_[value] |= own.count(value) == 0; });
    }
  }

 private:
  bool ends_masked() const override { return masks_the_rest(); }

  void vectors(const E& begin, const E& stop, int lanes) override {
    const int panel = lanes * form_.panel;
    if (apart_.empty()) {
      const E& size = sizes_[nest_.lane_axis()];
      apart_ = let("apart", DType::bool_, E(kLongRow / widest_element(nest_)) <= size || loop::bound("inner_end") - loop::bound("inner_begin") < size);
    }
    loop(fmt::format("panel{}", lanes), begin, stop, panel,
         [&](const E& first) { write_panel(first, int_let("panel_end", minimum(first + panel, stop)), lanes); });
  }

  /// Computes the points [begin, end) of the lanes' axis, one stage after the other. Values that other stages read are kept in arrays.
  void write_panel(const E& begin, const E& end, int lanes) {
    const E whole_end = ends_masked() ? int_let("whole_end", begin + whole(end - begin, lanes)) : end;
    const auto each_lane = [&](auto inside) {
      loop_over(nest_.lane_axis(), begin, whole_end, lanes, inside);
      if (!ends_masked()) return;
      branch(whole_end < end, [&] {
        set_axis(nest_.lane_axis(), whole_end);
        start_mask(end - whole_end, lanes);
        inside();
        mask_ = {};
      });
    };
    const auto array = [&](const Instr& instr, const char* what) {
      return registers(fmt::format("{}_{}", instr.name, what), instr.dtype, lanes * form_.panel);
    };
    const auto at = [&](const Memory& array) { return array.vector_at({axis(nest_.lane_axis()) - begin}, lanes); };
    std::map<int, Memory> kept;  // by instruction
    const auto read_kept = [&](const Stage& stage) {
      std::set<int> values;
      each_read(nest_, stage, [&](int value) { values.insert(value); });
      for (const int value : values)
        if (const auto found = kept.find(value); found != kept.end())
          value_[value] = let(nest_.instrs[value].name, {nest_.instrs[value].dtype, lanes}, at(found->second));
    };

    if (nest_.chunk_axis >= 0) clip_rows();
    for (const Stage& stage : nest_.stages) {
      if (stage.row) {
        reduce(stage, lanes, each_lane, array, at, [&] { read_kept(stage); });
        for (const Reduction& reduction : stage.reductions) kept[reduction.result] = panels_.at(reduction.result).back();
        continue;
      }
      std::map<int, Memory> made;
      for (const int value : stage.body)
        if (read_elsewhere_[value] && !hoisted_[value] && nest_.instrs[value].kind != Instr::Kind::scalar) made[value] = array(nest_.instrs[value], "kept");
      each_lane([&] {
        read_kept(stage);
        body(stage, lanes);
        for (const auto& [value, memory] : made) store(at(memory), value_[value]);
      });
      kept.merge(made);
    }
  }

  /// Computes a row stage: several rows for each vector of the panel, then the next rows.
  template <class EachLane, class Array, class At, class Read>
  void reduce(const Stage& stage, int lanes, const EachLane& each_lane, const Array& array, const At& at, const Read& read_kept) {
    for (const Reduction& reduction : stage.reductions) {
      std::vector<Memory>& levels = panels_[reduction.result] = {};
      for (const char* level : {"steps", "block", "run"}) {
        levels.push_back(array(result(reduction), level));
        if (!rounds(reduction.op, result(reduction).dtype)) break;
      }
    }
    const auto fold = [&](std::size_t level) {  // combines a level into the next
      if (std::none_of(stage.reductions.begin(), stage.reductions.end(), [&](const Reduction& reduction) { return panels_[reduction.result].size() > 1; }))
        return;
      each_lane([&] {
        for (const Reduction& reduction : stage.reductions) {
          const std::vector<Memory>& levels = panels_[reduction.result];
          if (levels.size() == 1) continue;
          store(at(levels[level + 1]), combined(reduction, at(levels[level + 1]), at(levels[level])));
          store(at(levels[level]), neutral(reduction));
        }
      });
    };
    const auto rows = [&](const E& first, const E& last, int at_once) {
      loop(fmt::format("rows{}", at_once), first, last, at_once, [&](const E& row) {
        each_lane([&] {
          read_kept();
          for (const Reduction& reduction : stage.reductions) {
            const Type type(result(reduction).dtype, lanes);
            parts_[reduction.result] = {lanes, var(result(reduction).name + "_step", type, at(panels_[reduction.result][0])), {}, {}, {}, {}};
          }
          for (int k = 0; k < at_once; ++k)
            branch({}, [&] {
              set_axis(nest_.parallel, row + k);
              body(stage, lanes);
            });
          for (const Reduction& reduction : stage.reductions) store(at(panels_[reduction.result][0]), parts_[reduction.result].step);
        });
      });
    };
    const auto blocks = [&](const char* name, const E& first, const E& last, int rows_each, const auto& inside) {
      loop(name, first, last, rows_each, [&](const E& row) { inside(row, let(fmt::format("{}_end", name), DType::int64, minimum(row + rows_each, last))); });
    };

    if (!stage.reductions.empty())
      each_lane([&] {
        for (const Reduction& reduction : stage.reductions)
          for (const Memory& level : panels_[reduction.result]) store(at(level), neutral(reduction));
      });
    blocks("run_of_rows", 0, sizes_[nest_.parallel], kRunSteps, [&](const E& run, const E& run_end) {
      blocks("block_of_rows", run, run_end, kBlockSteps, [&](const E& block, const E& block_end) {
        const E first_rest = int_let("whole_rows", loop::select(apart_, whole(block_end, form_.panel_rows), block));
        rows(block, first_rest, form_.panel_rows);
        rows(first_rest, block_end, 1);
        fold(0);
      });
      fold(1);
    });
  }

  const PanelsForm& form_ = nest_.schedule.as<PanelsForm>();
  std::vector<char> read_elsewhere_;  // by instruction: another stage reads it
  std::map<int, std::vector<Memory>>
      panels_;  // by a reduction's result, its accumulators: the steps since the last block, the blocks since the last run, the runs
  E apart_;     // whether the rows of a call are long, or only parts of rows: several are then read at once
};

}  // namespace

loop::Kernel lower(const LoopNest& nest, const PanelsForm&, const CpuTarget& cpu) { return Panels(nest, cpu).write(); }

}  // namespace sinter::jit::forms::cpu
