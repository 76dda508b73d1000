// Planned: a graph's structure, scheduled, generated and compiled for a target, for all sizes that meet its guards: the first level of the cache. A plain
// value: nothing of the graph or of the scheduler's work is in it, so that it can be kept in a file as it is.
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

/// A node of the recording that the plan was made from. Its line is in the recording that is explained, never here: a plan serves other lines, too.
struct PlannedNode {
  trace::Op op{};
  DType dtype{};
  Shape shape;  // with the sizes that the plan was made with
  std::vector<int> inputs;
  int leaf = -1;
};

/// A value that lies in memory.
struct PlannedValue {
  trace::Op op{};  // that gives it
  DType dtype{};
  Shape shape;     // with the sizes that the plan was made with
  int leaf = -1;   // it is the contents of this leaf of the graph
  int bytes = -1;  // a value that some step writes: the number that is its size in bytes
  int node = -1;   // that it is the value of, or a partial result of

  bool is_leaf() const { return leaf >= 0; }
};

struct PlannedStep {
  bool library = false;
  jit::LoopNest nest;      // kernels, with the schedule they run by; buffers are values
  fuse::LibraryCall call;  // library calls, with the sizes that the plan was made with; nodes are values
  enum class From : std::uint8_t { chosen, asked, tuned };
  From schedule_from = From::chosen;  // asked: Options::schedule is part of it; tuned: measured here before
  Made made;
  std::vector<int> constants;      // scalar k of the nest is bound from this one of the graph's constants followed by Planned::made
  std::vector<int> gathers;        // check k of the nest is of the gather with this ordinal
  std::size_t numbers = 0;         // where its numbers begin: nest.ints, then the offsets of inputs and outputs; or those of the call
  std::vector<int> reads, writes;  // values
  std::vector<int> last_reads;     // of what no later step reads and nobody wants
  bool follows = false;            // runs on the pieces of the step before (fuse::Step::follows), in the order that the nest walks
  int in_place = -1;               // follows: the value whose memory takes this step's result, because nobody else needs it

  // For who looks at the plan.
  std::vector<int> computes;       // recorded nodes, ascending
  fuse::Cut cut;                   // why the kernel ends here
  std::vector<std::string> notes;  // what was decided within it
  std::string alone;               // library calls: why no kernel follows
  std::vector<Shape> parts;        // kernels: for each of `reads` the part that is read; empty where that is all, or depends on values
  int kept = 0;                    // kernels: values staged between the passes over a row
  double bytes_moved = 0, bytes_unfused = 0;
};

struct Planned {
  std::vector<PlannedValue> values;
  std::vector<PlannedStep> steps;
  std::vector<trace::Scalar> made;       // constants that rewriting put in
  std::vector<int> outputs;              // the values that hold the outputs
  fuse::Limits limits;                   // what it was planned for
  fuse::SizeProgram program;             // the plan's guards, and its numbers from the symbols' values
  std::vector<std::string> symbols;      // names: sizes are n0, n1, .., starts of slices o0, ..
  std::vector<std::int64_t> sizes;       // of the symbols, that it was made with
  std::vector<trace::PassCount> passes;  // that the recording went through
  double bytes_moved = 0, bytes_unfused = 0;
  std::vector<PlannedNode> recorded;   // the graph that it was made from
  std::vector<fuse::Refusal> refused;  // pairs of steps that were tried as one kernel, by number
  bool loaded = false;                 // from a file: where its steps reach is checked for each set of sizes

  const PlannedValue& value(int number) const { return values[static_cast<std::size_t>(number)]; }
  /// Whether the plan serves these values of the symbols: is the one that would be made for them (`estimates`), or is right for them at least.
  bool holds(const std::vector<std::int64_t>& today, bool estimates = true) const { return program.holds(today, estimates); }
  /// The size in bytes of a value that some step writes, among the program's numbers.
  std::size_t bytes_of(int number, std::span<const std::int64_t> numbers) const {
    return static_cast<std::size_t>(numbers[static_cast<std::size_t>(value(number).bytes)]);
  }
};

struct PlanOptions {
  jit::LowerOptions lowering;
  bool tuned = true;       // schedules that were measured to be faster are taken
  bool keep_plans = true;  // plans are kept in the disk cache, and taken from there
};

/// A plan together with what it was made from: the same steps, over the nodes of a graph.
struct Scheduled {
  std::shared_ptr<Planned> planned;
  fuse::Plan plan;
  std::vector<int> ordinals;  // of a constant or a gather of the graph among those of its op
  std::map<int, int> values;  // of nodes that lie in memory
};

/// Schedules and makes every kernel. A kernel whose compiler reports spills is cut again, at most a few times; the report
/// that says so is in the cache, so a warm run decides the same without a compiler.
/// The plan holds for every size that meets the guards that its decisions left.
Scheduled schedule_and_make(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels);
std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels);

/// One kernel of a plan, lowered: its source made, and compiled. Its buffers are nodes of the graph.
PlannedStep make_step(const std::vector<int>& ordinals, const fuse::Step& step, const jit::Lowered& lowered, const Target& target, Kernels& kernels);

}  // namespace sinter::engine
