// LoopNest: the computation of a kernel. The forms (jit/forms) and the interpreter read it. Its numbers (sizes, strides, literals) are parameters: two nests
// that differ only in the values of `ints` and `scalars` give the same source.
//
// Meaning:
//   for every point of the parallel axes (any order, any thread):
//     for each stage in order:
//       a row stage runs its body for every point of the row axes (reductions combine over them),
//       any other stage runs its body once.
//
// A body is straight-line SSA: the instruction numbers in `body`, each defined before its use. Every later stage may use a value of a non-row stage or the
// result of a reduction. A value of a row stage exists only in that stage. A later stage can read it only from a persistent buffer (PersistentStore, then
// Instr::Kind::persistent at the same row point).
//
// Values of a type that is only stored (bfloat16, float8) are loaded, stored, cached, cast from float32 and float64, and cast to float32. Other ops have no
// operands or results of these types (see storage_types.hpp).
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/schedule.hpp"
#include "sinter/dtype.hpp"
#include "trace/primitives.hpp"

namespace sinter::jit {

using trace::Op;

/// Parameter numbers are indices of LoopNest::ints. These two structural constants need no parameter.
inline constexpr int kOne = -1;
inline constexpr int kNone = -2;

/// value = sum of terms (+ ints[constant]). A term is coeff * axis value, coeff * ((indices[inner] / div) % mod), or coeff * a computed value; coeff is kOne or
/// a parameter, div is kOne (no division) or a parameter, mod is kNone (no remainder) or a parameter. Inner indices are never negative, except where a guard
/// prevents the access.
struct Index {
  struct Term {
    int coeff = kOne;
    int axis = -1;   // >= 0: an axis (parallel axes first, then row axes)
    int inner = -1;  // >= 0: a number in LoopNest::indices, smaller than this index's own
    int div = kOne;
    int mod = kNone;
    int value = -1;  // >= 0: an int64 instruction, defined before the index is used (a gather)
  };
  int constant = kNone;
  std::vector<Term> terms;
};

/// An access to a buffer: element (index) of a pointer that includes the constant offset. An empty index (no terms) is one element for all points.
struct Access {
  DType dtype{};
  int index = -1;           // number in LoopNest::indices
  int buffer = -1;          // the plan's buffer; not part of the nest's structure
  std::int64_t offset = 0;  // elements from the buffer's start; not part of the nest's structure
  std::string name;         // "in0", "out1"
};

struct Instr {
  enum class Kind : std::uint8_t {
    load,        // inputs[input] at its index
    scalar,      // literal number `input` of LoopNest::scalars
    index,       // indices[input] as int64
    op,          // an elementwise op on args
    persistent,  // persistent buffer `input` at this row point
    reduced,     // the result of a reduction of an earlier row stage
    scan,  // row stage: args[0] combined by `op` (a reduction) over all row points up to this one, in row order; starts from args[1] if there is one: a value
           // of trace::scan_carry's type, once for each parallel point
  };
  Kind kind{};
  Op op{};
  DType dtype{};    // type of the value
  DType operand{};  // op: dtype of the operands (for where: of args[1] and args[2])
  std::array<int, 3> args{-1, -1, -1};
  int input = -1;
  int guard = -1;    // load: a bool value; if it is false, nothing is read and the value is `fill`
  int fill = -1;     // load with a guard: a value of its dtype; -1 is zero
  bool row = false;  // computed at every row point (false: once for each parallel point)
  std::string name;  // unique, a C identifier that names the op: "exp_12"
};

/// Combines `value` (a value of this row stage) over all row points; `result` is an Instr of Kind::reduced. The reduction starts from the op's neutral element
/// (for min and max it may start from the first element; an empty row of min or max never reaches a kernel). The structure fixes the order of combination; the
/// number of threads does not change it.
struct Reduction {
  Op op{};  // reduce_sum, reduce_prod, reduce_min, reduce_max
  int value = -1;
  int result = -1;
};
struct PersistentStore {
  int buffer = -1, value = -1;
};
struct Store {
  int output = -1, value = -1;
  int guard = -1;  // a bool value; if it is false, nothing is written
};
/// If `condition` is false, the launch's flags get {1, value} at [2 * number]; if several points fail, the value of any of them. The engine reads the
/// flags and throws. Accesses that a check protects are guarded by the same condition.
struct Check {
  int condition = -1, value = -1, number = -1;
};

struct Stage {
  bool row = false;
  std::vector<int> body;  // instruction numbers, in order (reduced ones are not in a body)
  std::vector<Reduction> reductions;
  std::vector<PersistentStore> keeps;
  std::vector<Store> stores;
  std::vector<Check> checks;
  int lanes = 0;  // lanes in which its reductions combine if vectorised along the row; 0: reduction_order.hpp decides
  // The stage's reductions combine neutral elements outside of the row points [first, end), two int64 values of the parallel point, so that a loop may skip
  // these. -1: there are no such values. A stage with them has one row axis, and does nothing else for a row point.
  int first = -1, end = -1;
};

struct Scalar {
  DType dtype{};
  int node = -1;
};  // node: the constant of the graph that gives the value

struct LoopNest {
  std::string name;              // name of the kernel's entry point, a C identifier
  std::vector<std::string> ops;  // the fused ops, for the comment: "gelu: multiply erf add ..."
  int parallel = 0;              // number of parallel axes; at least 1
  int rows = 0;                  // number of row axes; axis numbers parallel .. parallel+rows-1
  // ints[a] is the size of axis a, for all axes; then follow the numbers that indices use.
  std::vector<std::int64_t> ints;
  std::vector<Index> indices;
  std::vector<Access> inputs, outputs;
  std::vector<Scalar> scalars;
  std::vector<Instr> instrs;
  std::vector<Stage> stages;
  int checks = 0;                 // flags of a launch, two int64 each, as one more pointer after the outputs
  std::vector<DType> persistent;  // buffers: one value for each row point, private to a parallel point
  // Two-stage reductions: the rows of chunk c (the value of axis chunk_axis) are limited so that c * (size of row axis chunk_row) + row < ints[chunk_total].
  // kNone: there is no such limit.
  int chunk_axis = -1;
  int chunk_row = -1;  // always the first row axis
  int chunk_total = kNone;
  bool fast_math = false;
  Schedule schedule;  // how the nest runs; of the members above, only `persistent` depends on it

  int axes() const { return parallel + rows; }
  /// Returns the axis along which the nest is vectorised: the last row axis, or the last parallel axis; for a contraction, its right axis.
  int lane_axis() const { return schedule.is<ContractionForm>() ? schedule.as<ContractionForm>().right : (schedule.is<RowsForm>() ? axes() : parallel) - 1; }
};

/// Returns the nest in readable form. The text is deterministic and contains no parameter value.
std::string to_string(const LoopNest& nest);
/// Throws InternalError unless every reference is in range, defined before use and of the right stage.
void verify(const LoopNest& nest);
/// Returns whether the value of the index depends on the axis, directly or through a computed value.
bool depends_on(const LoopNest& nest, int index, int axis);
/// Returns the coefficient of the axis in the index: kNone when it does not occur, kOne, a parameter, or kIrregular when it occurs under a division or
/// remainder (or twice).
inline constexpr int kIrregular = -3;
int coefficient(const LoopNest& nest, int index, int axis);
/// Returns whether neighbouring lanes access elements that are not adjacent.
bool walks_apart(const LoopNest& nest, const Access& access);
/// Returns the inputs with a stride along the lanes that are contiguous along the axis before: tiles of the two axes can be transposed.
std::vector<int> turnable_inputs(const LoopNest& nest);
/// Returns the outputs of the same kind that every point stores.
std::vector<int> turnable_outputs(const LoopNest& nest);
/// Returns whether an output is contiguous along the last row axis and strided along the parallel axis of the lanes: tiles of the two axes can be transposed
/// and stored along the row.
bool lies_along_rows(const LoopNest& nest, const Access& output);
/// Returns whether the index, or an inner index, has a computed value among its terms.
bool uses_values(const LoopNest& nest, int index);
bool has_scan(const LoopNest& nest, const Stage& stage);
/// Calls visit(value) for each computed value that the index uses.
template <class Visit> void each_index_value(const LoopNest& nest, int index, Visit visit) {
  for (const Index::Term& term : nest.indices[index].terms) {
    if (term.value >= 0) visit(term.value);
    if (term.inner >= 0) each_index_value(nest, term.inner, visit);
  }
}
/// Calls visit(value) for each value from which the instruction is computed.
template <class Visit> void each_operand(const LoopNest& nest, const Instr& instr, Visit visit) {
  for (const int arg : instr.args)
    if (arg >= 0) visit(arg);
  if (instr.kind == Instr::Kind::index) each_index_value(nest, instr.input, visit);
  if (instr.kind != Instr::Kind::load) return;
  each_index_value(nest, nest.inputs[instr.input].index, visit);
  if (instr.guard >= 0) visit(instr.guard);
  if (instr.fill >= 0) visit(instr.fill);
}
/// Calls visit(value) for each value that the stage reduces, keeps, stores or checks, and for those that say where.
template <class Visit> void each_wanted(const LoopNest& nest, const Stage& stage, Visit visit) {
  const auto if_any = [&](int value) {
    if (value >= 0) visit(value);
  };
  for (const Reduction& reduction : stage.reductions) visit(reduction.value);
  for (const PersistentStore& keep : stage.keeps) visit(keep.value);
  for (const Store& store : stage.stores) {
    visit(store.value);
    if_any(store.guard);
    each_index_value(nest, nest.outputs[store.output].index, visit);
  }
  for (const Check& check : stage.checks) visit(check.condition), visit(check.value);
  if_any(stage.first);
  if_any(stage.end);
}
/// Calls visit(value) for each value that the stage reads, from itself or from an earlier stage.
template <class Visit> void each_read(const LoopNest& nest, const Stage& stage, Visit visit) {
  for (const int number : stage.body) each_operand(nest, nest.instrs[number], visit);
  each_wanted(nest, stage, visit);
}

}  // namespace sinter::jit
