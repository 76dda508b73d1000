// Planned: a graph's structure, scheduled, generated and compiled for a target: the first level of the cache.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/kernels.hpp"
#include "fuse/schedule.hpp"
#include "jit/lower.hpp"

namespace sinter::engine {

struct PlannedStep {
  jit::LoopNest nest;  // kernels, with the schedule they run by
  enum class From : std::uint8_t { chosen, asked, tuned };
  From schedule_from = From::chosen;  // asked: Options::schedule is part of it; tuned: measured here before
  Made made;
  std::vector<int> constants;      // scalar k of the nest is bound from this one of the graph's constants followed by Planned::made
  std::vector<int> gathers;        // check k of the nest is of the gather with this ordinal
  std::size_t numbers = 0;         // where its numbers begin: nest.ints, then the offsets of inputs and outputs
  std::vector<int> reads, writes;  // nodes in memory
  std::vector<int> last_reads;     // of what no later step reads and nobody wants
  bool follows = false;            // runs on the pieces of the step before (fuse::Step::follows), in the order that the nest walks
  int in_place = -1;               // follows: the node whose memory takes this step's result, because nobody else needs it
};

struct Planned {
  fuse::Plan plan;
  std::vector<PlannedStep> steps;   // one per plan step; library calls hold no nest
  std::vector<trace::Scalar> made;  // constants that rewriting put in
  std::vector<int> ordinals;        // of a constant or a gather among those of its op
  std::vector<int> bytes;           // node -> the number that is its size in bytes, for nodes that some step writes; -1
  std::vector<int> outputs;         // the nodes whose memory holds the outputs
  fuse::Limits limits;              // what it was planned for
  fuse::SizeProgram program;        // the plan's guards, and its numbers from the symbols' values

  /// Whether the plan serves these values of the symbols: is the one that would be made for them (`estimates`), or is right for them at least.
  bool holds(const std::vector<std::int64_t>& symbols, bool estimates = true) const { return program.holds(symbols, estimates); }
  /// Of a node that some step writes, among the program's numbers.
  std::size_t bytes_of(int node, std::span<const std::int64_t> numbers) const {
    return static_cast<std::size_t>(numbers[static_cast<std::size_t>(bytes[node])]);
  }
};

struct PlanOptions {
  jit::LowerOptions lowering;
  bool tuned = true;  // schedules that were measured to be faster are taken
};

/// Schedules and makes every kernel. A kernel whose compiler reports spills is cut again, at most a few times; the report
/// that says so is in the cache, so a warm run decides the same without a compiler.
/// The plan holds for every size that meets the guards that its decisions left.
std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels);

/// One kernel of a plan, lowered: its source made, and compiled.
PlannedStep make_step(const Planned& planned, const fuse::Step& step, const jit::Lowered& lowered, const Target& target, Kernels& kernels);

}  // namespace sinter::engine
