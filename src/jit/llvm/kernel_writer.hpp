// Writes the one function of a kernel: the loops of a nest around its body, for vectors of W lanes along the vector axis, then for narrower vectors, then for
// single elements. All of these run the same operations in the same order on each element, so a result does not depend on where a thread's range begins.
// Reductions follow jit/reduction_order.hpp, as in the interpreter.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "jit/llvm/ir_writer.hpp"
#include "jit/llvm/one_sided.hpp"
#include "jit/loop_nest.hpp"

namespace sinter::jit::llvm {

class KernelWriter {
 public:
  KernelWriter(const LoopNest& nest, const CpuTarget& cpu);
  /// Returns the text of the whole module.
  std::string write();

 private:
  // Loops (kernel_writer.cpp).
  void write_parameters();
  void write_outer_loop();
  void hoist_invariants();
  void write_lanes_of_parallel_axis(const Value& points);
  void write_tile(const Value& points, int lanes);
  void write_panel(const Value& begin, const Value& end, int lanes);
  Value outer_points_at_once(const Value& first, const Value& end);
  void advance_outer_axes(const Value& step);
  void write_point(int lanes);
  void write_row_stage(const Stage& stage, int lanes);
  void write_rows(const Stage& stage, int axis, int lanes);
  void write_body(const Stage& stage, int lanes);
  void write_side(const Stage& stage, const OneSided& sided, int side, int lanes);
  void write_row_lanes(const Stage& stage, int axis);
  /// Returns whether the rest of a row after whole vectors can be one more vector, in which only some lanes are row points.
  bool maskable(const Stage& stage) const;
  void write_masked(const Stage& stage, int axis, const Value& first, int lanes);
  void clip_rows();

  // Reductions, in the order of jit/reduction_order.hpp (kernel_reductions.cpp).
  void start_reductions(const Stage& stage, int lanes, int width);
  /// Returns how many points of a row are computed at once: a whole step, or, if a longer body needs the registers, a slice of a step. The accumulators of a
  /// sliced step are in memory.
  int row_width(const Stage& stage) const;
  void combine_values(const Stage& stage, int lanes);
  void end_step(const Stage& stage);
  void end_block(const Stage& stage);
  void end_run(const Stage& stage);
  void move_part(const Reduction& reduction, const std::string& from, const std::string& to);
  void finish_reductions(const Stage& stage);
  void start_rest(const Stage& stage);
  void combine_rest(const Stage& stage, const Value& count);
  Value decided(const Stage& stage);
  Value combine(const Reduction& reduction, const Value& a, const Value& b);
  Value neutral(const Reduction& reduction);
  Value horizontal(const Reduction& reduction, Value v);
  void start_scans(const Stage& stage, int lanes);
  Value scan(int number, int lanes);

  // Values and memory (kernel_memory.cpp).
  Value value_of(const Instr& instr, int lanes);
  Value apply(const Instr& instr);
  /// Returns whether each lane's number is less than `count`, which is one number.
  Value lanes_below(const Value& count, int lanes);
  /// Compares the index along the vector axis with one number. Returns an empty value for any other instruction.
  Value compare_lanes(const Instr& instr);
  Value load_access(const Access& access, int lanes);
  Value load_guarded(const Access& access, const Value& guard, const Value& fill, int lanes);
  void store_access(const Access& access, const Value& value, int lanes);
  void store_guarded(const Access& access, const Value& value, const Value& guard, int lanes);
  void raise(const Check& check);
  /// Returns the guard, restricted to row points in a vector that ends an axis.
  Value masked(const Value& guard);
  /// Returns the address if the guard holds, else an address that any access may use.
  Value or_nowhere(const Value& pointer, const Value& guard);
  /// Returns the address if any lane is in the mask, else an address that any access may use.
  Value unless_masked(const Value& pointer, const Value& mask);
  /// Returns the address of the access for every lane.
  Value lane_pointers(const Value& base, const Access& access, int lanes);
  /// Returns the index for the first lane, or for every lane.
  Value index_value(int index, int lanes);
  Value divide_index(const Value& a, const Value& b);
  Value persistent_pointer(int buffer, int lanes);
  Value element_pointer(const Value& base, DType dtype, const Value& index);
  Value load_memory(const Value& pointer, DType dtype, int lanes);
  void store_memory(const Value& pointer, const Value& value);
  Value lane_offsets(int coefficient, int lanes);
  /// Reads a square tile of an input that has a stride along the lanes, and transposes it in place.
  bool transposable(const Access& access, int lanes) const;
  void load_transposed(const Access& access, const std::string& place, int lanes);
  /// Does the same for an output that is contiguous along the last row axis, in a kernel that is vectorised along a parallel axis.
  bool stored_by_tiles(const Access& access, int lanes) const;
  void store_transposed(const Access& access, const std::string& tile, int lanes);
  std::vector<Value> transposed(std::vector<Value> rows);
  void store_wide(const Value& pointer, const Value& value);
  Value load_masked(const Value& pointer, const Value& mask, const Value& fill);
  void store_masked(const Value& pointer, const Value& value, const Value& mask);
  std::string in_memory(const Value& value);
  Value load_irregular(const Access& access, int lanes);
  Value load_strided(const Value& first, DType dtype, const Value& stride, int lanes);
  Value load_lanes(const Value& pointers, DType dtype);
  void store_lanes(const Value& pointers, const Value& value);
  Value as_value(const Value& loaded);

  /// Returns whether lanes have a stride somewhere. Neighbouring points of the axis outside are then computed together, in blocks, so that all elements of a
  /// cache line are used while it is in the cache (a transpose in tiles).
  bool tiled() const { return nest_.schedule.is<TilesForm>(); }
  /// Returns whether several rows are read at once along the lanes' axis, into a panel of accumulators in the first-level cache. The kernel is vectorised along
  /// a parallel axis, and memory is fast only along that axis.
  bool panelled() const { return nest_.schedule.is<PanelsForm>(); }
  bool rows_are_lanes() const { return nest_.schedule.lanes_along_rows(); }
  /// Returns the vector widths to loop over, widest first, ending with 1.
  std::vector<int> widths(int vectors) const;
  /// Returns whether the last points, too few for a vector, are one masked vector: each access is contiguous, and the processor can mask it.
  bool masks_the_rest() const;

  const LoopNest& nest_;
  const CpuTarget& cpu_;
  Module module_;
  Ir ir_;
  int native_lanes_ = 1;     // elements of the widest type in a vector register
  std::vector<Value> ints_;  // parameters
  std::vector<Value> scalars_;
  std::vector<Value> inputs_, outputs_;           // base pointers (ref only)
  Value flags_;                                   // base pointer of the flags of failed checks (ref only)
  std::string nowhere_;                           // see or_nowhere
  std::vector<char> guarded_;                     // by input: it has a guard, so it must not be read ahead
  std::vector<Value> sizes_;                      // size of each axis; the first row axis is limited to the chunk
  std::vector<std::string> counters_;             // the counters of the outer axes
  std::vector<Value> axes_;                       // current value of each axis, for the first lane
  std::map<std::pair<int, int>, Value> indices_;  // values already computed in this block, by (index, lanes)
  Value row_points_, persistent_stride_;
  std::map<int, Value> transposed_;  // by input: memory of the current point's lanes
  struct Tile {
    std::string memory;
    Value row;  // memory for the lanes of the current row point
  };
  std::map<int, Tile> tiles_;  // by output, while a tile is filled
  Value stream_mask_;          // a store to an address with none of these bits set bypasses the cache
  std::vector<Value> values_;  // by instruction
  std::map<const Stage*, OneSided> one_sided_;
  std::vector<char> hoisted_;  // by instruction: computed before the loops over lanes

  /// The parts of a reduction: allocas of vectors, which become registers.
  struct Parts {
    int lanes = 1;
    bool sliced = false;           // bodies compute slices of a step
    std::string step, block, run;  // `step` has the values that are not yet in the block
    std::string memory;            // values of the last step of an axis, which narrower vectors compute
  };
  std::map<int, Parts> parts_;         // by the reduction's result
  std::map<int, std::string> so_far_;  // by scan: alloca of the row's running value
  std::string steps_;                  // alloca: number of completed steps
  Value mask_;                         // lanes that are points, in a vector that ends an axis; no ref: all lanes are
  Value first_lane_;                   // first lane of a narrower vector; no ref: all lanes are computed at once
  Value slice_;                        // first lane of a slice, in a sliced step
};

}  // namespace sinter::jit::llvm
