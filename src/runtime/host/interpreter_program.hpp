// The properties of a loop nest that the interpreter derives from its structure: which values are tiles, where each value is stored, and which loop computes
// it.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/primitives/interpreter_kernels.hpp"
#include "runtime/host/interpreter.hpp"

namespace sinter::runtime {

using namespace kernels;

/// The bytes of a workspace tile: kTile elements of the widest type, and padding. The padding gives tiles different low address bits, because with equal low
/// bits, loads wait for unrelated stores.
inline constexpr std::int64_t kTileBytes = kTile * 8 + 128;

struct Interpreter::Program {
  enum class Walk : std::uint8_t { constant, linear, irregular };  // how an index changes along the vector axis

  struct Value {
    bool varying = false;  // a tile of lanes; otherwise one element
    int place = -1;        // number of a workspace tile, or of a single cell
    int bytes = 8;
  };
  struct Step {
    int instr = -1;          // computes this instruction, or
    int index = -1;          // computes this index, which has computed values among its terms
    std::vector<int> reads;  // its operands
    TileFn kernel = nullptr;
    int args[3] = {-1, -1, -1};
    bool expand[3] = {};    // the operand is a single value, but the kernel needs a tile
    bool in_place = false;  // load: if neighbours are adjacent, the tile is the input's memory
  };
  struct Fold {
    ReductionKernels kernels;
    int value, result;
    int bound;                       // jit::bound_of_first_place
    int step, block = -1, run = -1;  // tiles of parts (jit/reduction_order.hpp); no block and run if the op does not round
  };
  struct Scan {
    ScanKernels kernels;
    int instr, place;  // position of the row's running value
  };
  struct StageProgram {
    bool row = false;
    std::vector<int> indices;  // the stage's indices that depend only on axes, inner ones first
    std::vector<Step> steps;
    std::vector<Fold> folds;
    std::vector<Scan> scans;
    std::int64_t row_lanes = 1, scan_lanes = 1;  // lanes of one step, if lanes are rows
    bool may_end_early = false;                  // folds are in the order of the stage's reductions
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
  bool lanes_are_rows;  // the vector axis is a row axis: a reduction combines the lanes of a tile
  std::vector<Walk> walks;
  std::vector<int> irregular_tile;  // index -> workspace tile of its lanes' values
  std::vector<Value> values;
  std::vector<StageProgram> stages;
  int tiles = 0, cells = 0;  // size of the workspace
  int scratch_tile = -1;     // the first of three tiles for expanded operands
  std::int64_t lanes = kTile;
  std::int64_t persistent_bytes = 0;  // bytes of all persistent buffers at one row point
};

}  // namespace sinter::runtime
