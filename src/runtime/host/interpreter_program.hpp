// What the interpreter knows of a loop nest from its structure alone: which values are tiles, where they lie, which loop computes
// each.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/primitives/interpreter_kernels.hpp"
#include "runtime/host/interpreter.hpp"

namespace sinter::runtime {

using namespace kernels;

/// Bytes of a workspace tile: kTile elements of the widest type. The padding keeps tiles at different low address bits, of which
/// equal ones would make loads wait for unrelated stores.
inline constexpr std::int64_t kTileBytes = kTile * 8 + 128;

struct Interpreter::Program {
  enum class Walk : std::uint8_t { constant, linear, irregular };  // of an index, along the vector axis

  struct Value {
    bool varying = false;  // a tile of lanes; otherwise one element
    int place = -1;        // number of a workspace tile, or of a single cell
    int bytes = 8;
  };
  struct Step {
    int instr = -1;          // computes this instruction, or
    int index = -1;          // the index, which has computed values among its terms
    std::vector<int> reads;  // the values it needs
    TileFn kernel = nullptr;
    int args[3] = {-1, -1, -1};
    bool expand[3] = {};    // the operand is a single value that the kernel needs as a tile
    bool in_place = false;  // load: the tile is the input's own memory when the elements are neighbours there
  };
  struct Fold {
    ReductionKernels kernels;
    int value, result;
    int bound;                       // jit::bound_of_first_place
    int step, block = -1, run = -1;  // tiles of parts (jit/reduction_order.hpp); no blocks and runs where nothing rounds
  };
  struct Scan {
    ScanKernels kernels;
    int instr, place;  // place: of what the row has come to
  };
  struct StageProgram {
    bool row = false;
    std::vector<int> indices;  // those the stage needs that are made of axes alone, inner ones first
    std::vector<Step> steps;
    std::vector<Fold> folds;
    std::vector<Scan> scans;
    std::int64_t row_lanes = 1, scan_lanes = 1;  // of a step, where lanes are rows
    bool may_end_early = false;                  // folds lie in the order of the stage's reductions
  };

  explicit Program(const jit::LoopNest& nest);
  void classify(int index);
  void need_index(StageProgram& stage, int index);
  void plan_stage(int number);
  void plan_load(StageProgram& program, const jit::Instr& instr, Value& value, bool has_lanes);
  void plan_op(const jit::Instr& instr, Value& value, Step& step) const;
  void place_values();
  int place_of(bool varying) { return varying ? tiles++ : cells++; }

  jit::LoopNest nest;
  bool lanes_are_rows;  // the vector axis is a row axis: a reduction folds the lanes of a tile
  std::vector<Walk> walks;
  std::vector<int> irregular_tile;  // index -> workspace tile of its lanes' values
  std::vector<Value> values;
  std::vector<StageProgram> stages;
  int tiles = 0, cells = 0;  // workspace used
  int scratch_tile = -1;     // three tiles for expanded operands
  std::int64_t lanes = kTile;
  std::int64_t persistent_bytes = 0;  // all persistent buffers of one row point
};

}  // namespace sinter::runtime
