// Planned: a graph's structure, scheduled, generated and compiled for a target, for all sizes that meet its guards. It is the first level of the cache. It is a
// plain value without references to the graph or the scheduler, so a file can store it unchanged.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/kernels.hpp"
#include "fuse/schedule.hpp"
#include "jit/lower.hpp"

namespace sinter::engine {

/// A node of the recording from which the plan was made. Its line comes from the recording that is explained, because a plan serves other lines too.
struct PlannedNode {
  trace::Op op{};
  DType dtype{};
  Shape shape;  // with the sizes for which the plan was made
  std::vector<int> inputs;
  int leaf = -1;
  int figure = -1;  // number of its first figure, its sizes; -1 for a node that the scheduler has dropped
};

/// A value in memory.
struct PlannedValue {
  trace::Op op{};  // the op that gives it
  DType dtype{};
  Shape shape;      // with the sizes for which the plan was made
  int leaf = -1;    // for a leaf of the graph: its number
  int bytes = -1;   // for a value that a step writes: the program's number for its size in bytes
  int node = -1;    // the node whose value or partial result this is
  int figure = -1;  // number of its first figure, its sizes

  bool is_leaf() const { return leaf >= 0; }
};

/// Bytes that a step moves for each element; the number of elements is a figure. The next `others` entries are another sum for the same memory, of which the
/// smaller one counts.
struct PlannedTraffic {
  double bytes = 0;
  int elements = 0;
  int others = 0;
};

struct PlannedStep {
  bool library = false;
  jit::LoopNest nest;      // kernels: the nest with its schedule; buffers are values
  fuse::LibraryCall call;  // library calls: with the sizes for which the plan was made; nodes are values
  enum class From : std::uint8_t { chosen, asked, tuned };
  From schedule_from = From::chosen;  // asked: Options::schedule changed it; tuned: it was measured on this machine earlier
  Made made;
  std::vector<Made> call_kernels;  // library calls: the kernels by which the device computes it (runtime::Kind::call_sources)
  std::vector<int> constants;      // scalar k of the nest is the constant with this number, counting the graph's constants, then Planned::made
  std::vector<int> gathers;        // check k of the nest belongs to the gather with this ordinal
  std::size_t numbers = 0;         // position of the step's numbers: nest.ints followed by the offsets of inputs and outputs, or the numbers of the call
  std::vector<int> reads, writes;  // values
  std::vector<int> last_reads;     // values that no later step reads and that are not results
  bool is_epilogue = false;        // runs on the pieces of the previous step, in the order of the nest's loops
  int in_place = -1;               // an epilogue: the value whose memory this step's result takes, because no other step needs it

  // For inspection of the plan.
  std::vector<int> computes;       // recorded nodes, ascending
  fuse::Boundary boundary;         // split reason
  std::vector<std::string> notes;  // decisions within it
  std::string alone;               // library calls: why there is no epilogue
  std::vector<Shape> parts;        // kernels: for each of `reads` the part that is read; empty if it is the whole value, or depends on values
  int part_figure = 0;             // the sizes of `parts` are the figures from this one on
  int staged = 0;                  // kernels: number of values staged between passes over a row
  double bytes_moved = 0, bytes_unfused = 0, operations = 0;  // operations: the arithmetic, in cheap operations; 0: not known
  std::vector<PlannedTraffic> moved, unfused, arithmetic;     // the same for any sizes
};

/// Returns whether the target's device computes the library call of a step; otherwise the host computes it for the device.
bool runs_on_device(const PlannedStep& call, const Target& target);

struct Planned {
  std::vector<PlannedValue> values;
  std::vector<PlannedStep> steps;
  std::vector<trace::Scalar> made;       // constants of rewrites
  std::vector<int> outputs;              // the values of the outputs
  fuse::Limits limits;                   // the device model for which it was planned
  fuse::SizeProgram program;             // the plan's guards, and its numbers as functions of the symbols
  std::vector<std::string> symbols;      // names: sizes are n0, n1, .., starts of slices o0, ..
  std::vector<std::int64_t> sizes;       // values of the symbols for which it was made
  std::vector<trace::PassCount> passes;  // passes that changed the recording
  fuse::SizeProgram figures;             // shapes and numbers of elements, which explain() shows for other sizes
  double bytes_moved = 0, bytes_unfused = 0;
  std::vector<PlannedNode> recorded;   // the recorded graph from which it was made
  std::vector<fuse::Refusal> refused;  // pairs of numbers of steps that were tried as one kernel
  bool loaded = false;                 // read from a file, so the accesses of its steps are checked for each set of sizes

  const PlannedValue& value(int number) const { return values[static_cast<std::size_t>(number)]; }
  /// Returns whether the plan is valid for these values of the symbols. With `estimates`, its cost estimates must hold, too.
  bool holds(const std::vector<std::int64_t>& today, bool estimates = true) const { return program.holds(today, estimates); }
  /// Returns the size in bytes of a value that a step writes, from the program's numbers.
  std::size_t bytes_of(int number, std::span<const std::int64_t> numbers) const {
    return static_cast<std::size_t>(numbers[static_cast<std::size_t>(value(number).bytes)]);
  }
};

/// Returns the plan with its shapes, launches and bytes for other values of the symbols, to be described; `sizes` stay those for which it was made.
Planned described_at(const Planned& planned, const std::vector<std::int64_t>& symbols);
/// Returns the estimated arithmetic of a product or convolution; 0 for other calls, whose arithmetic is not known.
double operations_of(const fuse::LibraryCall& call);
/// Returns the bytes of this traffic, from the plan's figures.
double bytes_of(const std::vector<PlannedTraffic>& traffic, std::span<const std::int64_t> figures);
/// Bytes that a plan moves, and that it would move with one kernel for each op.
struct PlannedBytes {
  double moved = 0, unfused = 0;
};
PlannedBytes bytes_at(const Planned& planned, const std::vector<std::int64_t>& symbols);

struct PlanOptions {
  jit::LowerOptions lowering;
  bool tuned = true;       // use tuned schedules
  bool keep_plans = true;  // store plans in the disk cache, and read them from there
};

/// A plan together with its origin: the same steps over the nodes of a graph.
struct Scheduled {
  std::shared_ptr<Planned> planned;
  fuse::Plan plan;
  std::vector<int> ordinals;  // ordinal of a constant or gather of the graph among those of its op
  std::map<int, int> values;  // node in memory -> value
};

/// Schedules a graph and makes every kernel. A kernel whose compiler reports spills is split again, at most a few times. That report is in the cache, so a warm
/// run decides the same without a compiler. The plan is valid for every size that meets the guards of its decisions.
Scheduled schedule_and_make(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels);
std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels);

/// Makes one lowered kernel of a plan: generates its source and compiles it. Its buffers are nodes of the graph.
PlannedStep make_step(const std::vector<int>& ordinals, const fuse::Step& step, const jit::Lowered& lowered, const Target& target, Kernels& kernels);

}  // namespace sinter::engine
