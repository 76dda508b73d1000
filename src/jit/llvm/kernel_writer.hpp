// Writes the one function of a kernel: the loops of a nest around its body, for vectors of W lanes along the vector axis, then
// narrower vectors, then single elements for what is left over. All of them run the same operations in the same order on each
// element, so that a result does not depend on where a thread's share begins; reductions follow jit/reduction_order.hpp, as the
// interpreter does.
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
  /// The whole module's text.
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
  /// Whether what is left of a row after whole vectors can be one vector more, of which only some lanes are row points.
  bool maskable(const Stage& stage) const;
  void write_masked(const Stage& stage, int axis, const Value& first, int lanes);
  void cut_rows();

  // Reductions, in the order of jit/reduction_order.hpp (kernel_reductions.cpp).
  void start_reductions(const Stage& stage, int lanes, int width);
  /// Points of a row that are computed at once: a whole step, or, where a longer body needs the registers, a slice of one, whose
  /// accumulators lie in memory.
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
  /// Whether lane numbers are less than `count`, one number; bytes tell, whatever the element type.
  Value lanes_below(const Value& count, int lanes);
  /// A comparison of the lanes' own axis with one number; none, if it is not that.
  Value compare_lanes(const Instr& instr);
  Value load_access(const Access& access, int lanes);
  Value load_guarded(const Access& access, const Value& guard, const Value& fill, int lanes);
  void store_access(const Access& access, const Value& value, int lanes);
  void store_guarded(const Access& access, const Value& value, const Value& guard, int lanes);
  void raise(const Check& check);
  /// The guard, in a vector that ends an axis only for its points.
  Value masked(const Value& guard);
  /// The address where the guard holds, else one where anything may be read and written.
  Value or_nowhere(const Value& pointer, const Value& guard);
  /// The address where any lane is in the mask, likewise.
  Value unless_masked(const Value& pointer, const Value& mask);
  /// The address of the access for every lane.
  Value lane_pointers(const Value& base, const Access& access, int lanes);
  /// The index for the first lane, or for every lane.
  Value index_value(int index, int lanes);
  Value divide_index(const Value& a, const Value& b);
  Value persistent_pointer(int buffer, int lanes);
  Value element_pointer(const Value& base, DType dtype, const Value& index);
  Value load_memory(const Value& pointer, DType dtype, int lanes);
  void store_memory(const Value& pointer, const Value& value);
  Value lane_offsets(int coefficient, int lanes);
  /// Reads a square of an input whose strided axis the lanes walk, and leaves it transposed in place.
  bool transposable(const Access& access, int lanes) const;
  void load_transposed(const Access& access, const std::string& place, int lanes);
  /// The same for an output that lies along the last row axis, while lanes walk a parallel one.
  bool stored_by_squares(const Access& access, int lanes) const;
  void store_transposed(const Access& access, const std::string& square, int lanes);
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

  /// Lanes walk with a stride somewhere: neighbouring points of the axis outside are then done together, block by block, so
  /// that what a strided access brings to the cache is used up (a transpose in tiles).
  bool tiled() const { return nest_.schedule.form == Form::tiles; }
  /// Rows are walked across lanes: several at once are then read along the lanes' axis, through a panel of accumulators in the
  /// first cache, because memory is fast along that axis only.
  bool panelled() const { return nest_.schedule.form == Form::panels; }
  bool rows_are_lanes() const { return nest_.schedule.lanes_along_rows(); }
  /// Vector widths to loop over, widest first, ending in 1.
  std::vector<int> widths(int vectors) const;
  /// Whether the points that fill no vector go in one with a mask: where each access is to neighbours, and the processor masks them.
  bool masks_the_rest() const;

  const LoopNest& nest_;
  const CpuTarget& cpu_;
  Module module_;
  Ir ir_;
  int native_lanes_ = 1;     // elements of the widest type in one vector register
  std::vector<Value> ints_;  // parameters
  std::vector<Value> scalars_;
  std::vector<Value> inputs_, outputs_;           // base pointers (ref only)
  Value flags_;                                   // where failed checks are told, likewise
  std::string nowhere_;                           // see or_nowhere
  std::vector<char> guarded_;                     // by input: not to be read ahead
  std::vector<Value> sizes_;                      // of each axis, the first row axis cut to the chunk
  std::vector<std::string> counters_;             // of the outer axes
  std::vector<Value> axes_;                       // current value of each axis: of the first lane
  std::map<std::pair<int, int>, Value> indices_;  // already computed in this block, by (index, lanes)
  Value row_points_, persistent_stride_;
  std::map<int, Value> transposed_;  // by input: where the current point's lanes lie
  struct Square {
    std::string memory;
    Value row;  // where the current row point's lanes go
  };
  std::map<int, Square> squares_;  // by output, while a square is filled
  Value stream_mask_;              // an address with none of these bits set is stored past the cache
  std::vector<Value> values_;      // by instruction
  std::map<const Stage*, OneSided> one_sided_;
  std::vector<char> hoisted_;  // by instruction: computed before the loops over lanes

  /// Where a reduction's parts lie: allocas of vectors, which become registers.
  struct Parts {
    int lanes = 1;
    bool sliced = false;           // bodies compute slices of a step
    std::string step, block, run;  // `step` holds what is not yet in the block
    std::string memory;            // values of the last step of an axis, which narrower vectors compute
  };
  std::map<int, Parts> parts_;         // by the reduction's result
  std::map<int, std::string> so_far_;  // by scan: alloca of what the row has come to
  std::string steps_;                  // alloca: steps done
  Value mask_;                         // of a vector that ends an axis: the lanes that are points; none: all are
  Value first_lane_;                   // of a narrower vector (no ref: all lanes are walked at once)
  Value slice_;                        // of a sliced step: its first lane
};

}  // namespace sinter::jit::llvm
