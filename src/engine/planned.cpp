#include "engine/planned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/log.hpp"
#include "base/timeline.hpp"
#include "engine/tuned.hpp"
#include "sinter/counted.hpp"

namespace sinter::engine {
namespace {

constexpr int kMaxSplits = 16;

// Nodes of one op keep their order when a graph is rewritten, so an ordinal names the same node before and after. Constants that rewriting adds come after all
// others.
std::vector<int> ordinals_of(const fuse::Graph& graph) {
  std::vector<int> ordinals(graph.nodes.size(), -1);
  for (const trace::Op op : {trace::Op::constant, trace::Op::gather}) {
    int next = 0;
    for (const bool made : {false, true})
      for (std::size_t id = 0; id < graph.nodes.size(); ++id)
        if (graph.nodes[id].op == op && graph.nodes[id].made == made) ordinals[id] = next++;
  }
  return ordinals;
}

/// The operations of a recording as kernels of their own, each of which reads its operands once and writes its result once. An operation that a rewrite expands
/// into several nodes of the plan is one operation.
class Operations {
 public:
  /// `elements`: of the recorded nodes.
  Operations(const std::vector<PlannedNode>& nodes, const std::vector<fuse::Size>& elements)
      : nodes_(nodes), elements_(elements), memory_(nodes.size()), computed_(nodes.size()), counted_(nodes.size()) {
    for (int id = 0; id < static_cast<int>(nodes.size()); ++id) {
      Memory& memory = memory_[static_cast<std::size_t>(id)] = {id, id};
      if (!trace::is_view(at(id).op)) continue;
      memory = memory_[static_cast<std::size_t>(at(id).inputs[0])];
      if (size_of(id) < size_of(memory.part)) memory.part = id;
    }
  }

  void computed(const std::vector<int>& nodes) {
    for (const int id : nodes) computed_[static_cast<std::size_t>(id)] = 1;
  }
  bool any(const std::vector<int>& nodes) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int id) { return is_operation(id); });
  }
  /// Adds the bytes of the operation of a node, unless they are counted already, and of the operations below it that no step computes, because a rewrite
  /// replaced them.
  void count(int node, fuse::Traffic& bytes) {
    std::vector<int> stack{node};
    while (!stack.empty()) {
      const int id = stack.back();
      stack.pop_back();
      if (std::exchange(counted_[static_cast<std::size_t>(id)], 1)) continue;
      std::vector<int> read;
      for (const int input : at(id).inputs) {
        const auto [value, part] = memory_[static_cast<std::size_t>(input)];
        if (at(value).op == trace::Op::constant || at(value).op == trace::Op::iota) continue;
        if (std::find(read.begin(), read.end(), part) == read.end()) read.push_back(part);
        if (!computed_[static_cast<std::size_t>(value)]) stack.push_back(value);
      }
      if (!is_operation(id)) continue;
      for (const int part : read) add(part, bytes);
      add(id, bytes);
    }
  }

 private:
  const PlannedNode& at(int id) const { return nodes_[static_cast<std::size_t>(id)]; }
  bool is_operation(int id) const {
    const trace::Op op = at(id).op;
    return trace::is_elementwise(op) || trace::is_reduction(op) || trace::is_library(op) || op == trace::Op::scan;
  }
  std::int64_t size_of(int id) const { return elements_[static_cast<std::size_t>(id)].hint() * static_cast<std::int64_t>(itemsize(at(id).dtype)); }
  void add(int id, fuse::Traffic& bytes) const { bytes.add(static_cast<double>(itemsize(at(id).dtype)), elements_[static_cast<std::size_t>(id)]); }

  /// The value that a node is or is a view of, and the view on the way to it that has the fewest bytes.
  struct Memory {
    int value = -1, part = -1;
  };
  const std::vector<PlannedNode>& nodes_;
  const std::vector<fuse::Size>& elements_;
  std::vector<Memory> memory_;
  std::vector<char> computed_, counted_;
};

}  // namespace

PlannedStep make_step(const std::vector<int>& ordinals, const fuse::Step& step, const jit::Lowered& lowered, const Target& target, Kernels& kernels) {
  PlannedStep made;
  made.nest = lowered.nest;
  for (const auto& scalar : made.nest.scalars) made.constants.push_back(ordinals[static_cast<std::size_t>(scalar.node)]);
  for (const auto& check : step.kernel.checks) made.gathers.push_back(ordinals[static_cast<std::size_t>(check.node)]);
  made.made = kernels.make(made.nest, target, fuse::to_string(step.boundary()));
  return made;
}

bool runs_on_device(const PlannedStep& step, const Target& target) {
  if (!fuse::has_library(target.limits, step.call.op, step.call.dtype)) return false;
  // A library computes calls without kernels, unless kernels were not compiled at all.
  const bool by_kernels = !target.limits.library_calls && fuse::by_digits(step.call.op);
  return !by_kernels || (!step.call_kernels.empty() &&
                         std::all_of(step.call_kernels.begin(), step.call_kernels.end(), [](const Made& made) { return made.kernel != nullptr; }));
}

namespace {

struct LoweredStep {
  jit::Lowered lowered;
  PlannedStep::From from = PlannedStep::From::chosen;
};

LoweredStep lowered_step(const fuse::Graph& graph, const fuse::Step& step, const Target& target, const PlanOptions& how, Kernels& kernels) {
  const auto lower = [&](const jit::LowerOptions& options) { return jit::lower(graph, step.kernel, target.limits, options); };
  LoweredStep result{lower(how.lowering)};
  // Two schedules are equal if their texts are equal, because a text has only the fields that matter for the form.
  const auto runs = [&](const jit::Lowered& lowered) { return jit::to_string(lowered.nest.schedule, target.limits.backend); };
  const std::string chosen = runs(result.lowered);
  if (how.tuned && target.device && !kernels.tuning_mark().empty())
    if (const auto overrides = tuned_override(*kernels.disk(), result.lowered, {target.device->model(), target.kind().generator, target.interpret})) {
      result.lowered = lower({how.lowering.fast_math, how.lowering.overrides.with(*overrides)});
      if (runs(result.lowered) != chosen) {
        result.from = PlannedStep::From::tuned;
        log().debug("{}: runs by the schedule that was tuned here, {}, instead of {}", result.lowered.nest.name, runs(result.lowered), chosen);
      }
    }
  if (!how.lowering.overrides.empty() && result.from == PlannedStep::From::chosen && runs(lower({how.lowering.fast_math, {}})) != chosen)
    result.from = PlannedStep::From::asked;
  return result;
}

/// Returns whether the index numbers the nest's points consecutively, in the order of its axes, whose sizes are `ints`. Leaves the condition for this as a
/// guard.
bool counts_points(const jit::LoopNest& nest, const fuse::Sizes& ints, int index) {
  const auto equal = [](const fuse::Size& a, const fuse::Size& b) { return a.hint() == b.hint() && a == b; };
  const auto& terms = nest.indices[static_cast<std::size_t>(index)].terms;
  fuse::Size step = 1;
  std::size_t found = 0, axes = 0;
  for (int axis = nest.parallel; axis-- > 0; step *= ints[static_cast<std::size_t>(axis)]) {
    if (equal(ints[static_cast<std::size_t>(axis)], 1)) continue;
    ++axes;
    for (const auto& term : terms)
      found += term.axis == axis && equal(term.coeff == jit::kOne ? fuse::Size(1) : ints[static_cast<std::size_t>(term.coeff)], step);
  }
  std::size_t walked = 0;  // axes of size 1 do not count
  for (const auto& term : terms) walked += term.axis < 0 || !equal(ints[static_cast<std::size_t>(term.axis)], 1);
  return found == walked && found == axes && nest.indices[static_cast<std::size_t>(index)].constant == jit::kNone;
}

/// Returns, for each node that the kernel reads, the shape of the part that it reads; empty if it reads the whole node, or if guards or computed values decide.
std::vector<fuse::Sizes> parts_read(const fuse::Graph& graph, const fuse::Kernel& kernel, const std::vector<int>& reads) {
  std::vector<fuse::Sizes> parts;
  for (const int node : reads) {
    fuse::Sizes& part = parts.emplace_back();
    for (const auto& value : kernel.values) {
      if (value.kind != fuse::Value::Kind::load || value.node != node) continue;
      fuse::Sizes walked;
      for (std::size_t axis = 0; axis < kernel.sizes.size(); ++axis)
        if (value.index.axes() >> axis & 1) walked.push_back(kernel.sizes[axis]);
      const bool known = !value.index.has_values() && value.args[fuse::Value::kGuard] < 0;
      if (!known || (!part.empty() && fuse::hints(walked) != fuse::hints(part))) {
        part.clear();
        break;
      }
      part = std::move(walked);
    }
    if (element_count(fuse::hints(part)) >= element_count(fuse::hints(graph.nodes[static_cast<std::size_t>(node)].shape))) part.clear();
  }
  return parts;
}

PlannedStep planned_kernel(const fuse::Step& step, LoweredStep& lowered, const std::vector<int>& ordinals, const Target& target, Kernels& kernels) {
  PlannedStep made = make_step(ordinals, step, lowered.lowered, target, kernels);
  made.schedule_from = lowered.from;
  made.notes = step.kernel.notes;
  made.staged = static_cast<int>(step.kernel.staged.size());
  return made;
}

/// A plan while it is made: its steps read and write nodes of the graph, and their numbers are still symbolic sizes.
class Making {
 public:
  Making(fuse::Plan& plan, Planned& planned) : plan_(plan), planned_(planned) {}

  void add(const fuse::Step& from, PlannedStep step) {
    step.library = from.kind == fuse::Step::Kind::library;
    step.reads = from.reads();
    step.writes = from.writes();
    step.boundary = from.boundary();
    for (const int id : from.computes)
      if (const fuse::Node& computed = node(id); computed.op != trace::Op::constant) step.computes.push_back(computed.from);
    if (step.computes.empty())  // a copy, or a fill
      for (const int id : step.writes) step.computes.push_back(node(id).from);
    std::sort(step.computes.begin(), step.computes.end());
    step.computes.erase(std::unique(step.computes.begin(), step.computes.end()), step.computes.end());
    step.bytes_unfused = add_traffic(step.unfused, from.passes);
    planned_.steps.push_back(std::move(step));
  }

  /// Adds the traffic and the arithmetic of the last step, and the parts of values that it reads.
  void add_figures(const fuse::Traffic& moved, const fuse::Traffic& arithmetic, const std::vector<fuse::Sizes>& parts) {
    PlannedStep& step = planned_.steps.back();
    step.operations = step.library ? operations_of(step.call) : add_traffic(step.arithmetic, arithmetic);
    step.bytes_moved = add_traffic(step.moved, moved);
    step.part_figure = static_cast<int>(figures_.size());
    for (const fuse::Sizes& part : parts) {
      step.parts.emplace_back(fuse::hints(part));
      figures_.insert(figures_.end(), part.begin(), part.end());
    }
  }

  /// Adds numbers of the last step.
  void add_numbers(const fuse::Sizes& sizes) { numbers_.insert(numbers_.end(), sizes.begin(), sizes.end()); }
  std::size_t numbers() const { return numbers_.size(); }

  /// Finishes the plan. Returns the value numbers of the nodes in memory.
  std::map<int, int> finish() {
    for (const auto& node : plan_.graph.nodes)
      if (node.made) planned_.made.push_back(node.scalar);
    find_epilogues();
    find_last_reads();
    count_unfused();
    for (PlannedStep& step : planned_.steps) {
      if (step.is_epilogue) work_in_place(step);
      planned_.bytes_moved += step.bytes_moved;
      planned_.bytes_unfused += step.bytes_unfused;
    }
    keep_refusals();
    for (const auto& node : plan_.graph.nodes) {
      if (node.from < 0) continue;
      PlannedNode& recorded = planned_.recorded[static_cast<std::size_t>(node.from)];
      if (recorded.figure < 0 && fuse::hints(node.shape) == recorded.shape) recorded.figure = add_shape(node.shape);
    }
    std::map<int, int> values = number_values();
    plan_.graph.space->close();
    planned_.program = fuse::SizeProgram(*plan_.graph.space, numbers_);
    planned_.figures = fuse::SizeProgram(*plan_.graph.space, figures_, false);
    planned_.symbols = plan_.graph.space->symbol_names();
    planned_.sizes = plan_.graph.space->symbol_values();
    return values;
  }

 private:
  const fuse::Node& node(int id) const { return plan_.graph.nodes[static_cast<std::size_t>(id)]; }
  fuse::Sizes ints_of(const PlannedStep& step) const {
    const auto first = numbers_.begin() + static_cast<std::ptrdiff_t>(step.numbers);
    return {first, first + static_cast<std::ptrdiff_t>(step.nest.ints.size())};
  }
  int add_shape(const fuse::Sizes& shape) {
    figures_.insert(figures_.end(), shape.begin(), shape.end());
    return static_cast<int>(figures_.size() - shape.size());
  }
  double add_traffic(std::vector<PlannedTraffic>& to, const fuse::Traffic& traffic) {
    const auto add = [&](const fuse::Traffic::Term& term, std::size_t others) {
      to.push_back({term.bytes, static_cast<int>(figures_.size()), static_cast<int>(others)});
      figures_.push_back(term.elements);
    };
    for (const auto& term : traffic.terms) add(term, 0);
    for (const auto& reading : traffic.readings) {
      add(reading.whole, reading.some.size());
      for (const auto& term : reading.some) add(term, 0);
    }
    return traffic.now();
  }
  /// Counts the bytes that one kernel for each recorded operation would move. Each operation belongs to the first step that computes a part of it.
  void count_unfused() {
    Operations operations(planned_.recorded, plan_.graph.recorded);
    for (const PlannedStep& step : planned_.steps) operations.computed(step.computes);
    for (PlannedStep& step : planned_.steps) {
      const bool exchanges = step.library && (fuse::starts_exchange(step.call.op) || fuse::finishes_exchange(step.call.op));
      // A step without an operation (a copy, an exchange) moves its own bytes also without fusion.
      if (exchanges || !operations.any(step.computes)) {
        step.unfused = step.moved;
        step.bytes_unfused = step.bytes_moved;
        continue;
      }
      fuse::Traffic alone;
      for (const int id : step.computes) operations.count(id, alone);
      step.bytes_unfused += add_traffic(step.unfused, alone);
    }
  }
  /// The result stays in the cache between its call and its epilogue.
  void save_traffic(PlannedStep& step, int result) {
    fuse::Traffic saved;
    saved.add(-static_cast<double>(itemsize(node(result).dtype)), node(result).elements);
    step.bytes_moved += add_traffic(step.moved, saved);
  }
  int result_of_output(int output) const {
    const auto alias = plan_.aliases.find(output);
    return alias == plan_.aliases.end() ? output : alias->second;
  }

  /// Finds library calls that produce their result in pieces. If the first kernel that reads the result does so element by element in the order of memory, it
  /// becomes the epilogue and runs on each piece. The call moves to just before it; no step between them needs the result.
  void find_epilogues() {
    auto& steps = planned_.steps;
    if (!planned_.limits.fuse || !planned_.limits.library_calls) return;
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::map<int, std::size_t> first_reader;
    for (std::size_t s = steps.size(); s-- > 0;)
      for (const int id : steps[s].reads) first_reader[id] = s;
    std::vector<std::size_t> call_before(steps.size(), kNone);
    std::vector<char> moves(steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (!steps[s].library) continue;
      const auto reader = first_reader.find(steps[s].call.node);
      if (reader == first_reader.end()) continue;
      PlannedStep& epilogue = steps[reader->second];
      if (fuse::pieces_of(steps[s].call.op) == fuse::Pieces::whole) {
        if (!epilogue.library && !fuse::starts_exchange(steps[s].call.op) && !fuse::finishes_exchange(steps[s].call.op))
          steps[s].alone = "this call gives its result as a whole, not in pieces";
        continue;
      }
      const auto waits = [&](const PlannedStep& step) { return step.library && fuse::finishes_exchange(step.call.op); };
      if (epilogue.is_epilogue) steps[s].alone = "its first reader is the epilogue of another call";
      else if (planned_.limits.overlap && std::any_of(&steps[s], &epilogue, waits)) steps[s].alone = "it runs while its first reader waits for other ranks";
      else steps[s].alone = why_no_epilogue(epilogue, steps[s].call.node);
      if (!steps[s].alone.empty()) continue;
      epilogue.is_epilogue = true;
      save_traffic(epilogue, steps[s].call.node);  // the epilogue reads a piece that is still in the cache
      call_before[reader->second] = s;
      moves[s] = 1;
    }
    std::vector<PlannedStep> together;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (call_before[s] != kNone) together.push_back(std::move(steps[call_before[s]]));
      if (!moves[s]) together.push_back(std::move(steps[s]));
    }
    steps = std::move(together);
  }

  std::string why_no_epilogue(const PlannedStep& step, int result) const {
    if (step.library) return "its first reader is a library call";
    const jit::LoopNest& nest = step.nest;
    if (nest.rows > 0) return "its first reader is a kernel with row axes";
    if (nest.checks > 0) return "its first reader takes elements at computed places";
    const fuse::Sizes ints = ints_of(step);
    if (fuse::element_count({ints.begin(), ints.begin() + nest.parallel}) != node(result).elements) return "its first reader reads only a part of it";
    const auto as_it_lies = [&](const jit::Instr& instr) {
      if (instr.kind != jit::Instr::Kind::load) return true;
      const auto& input = nest.inputs[static_cast<std::size_t>(instr.input)];
      return input.buffer != result ||
             (instr.guard < 0 && offset_of(step, static_cast<std::size_t>(instr.input)) == 0 && counts_points(nest, ints, input.index));
    };
    if (!nest.schedule.is<jit::PointwiseForm>() || !std::all_of(nest.instrs.begin(), nest.instrs.end(), as_it_lies))
      return "its first reader does not read it element by element in the order of memory";
    return {};
  }

  /// The offset of an access: the inputs are counted first, then the outputs.
  const fuse::Size& offset_of(const PlannedStep& step, std::size_t access) const { return numbers_[step.numbers + step.nest.ints.size() + access]; }

  void find_last_reads() {
    std::map<int, PlannedStep*> last;
    for (PlannedStep& step : planned_.steps)
      for (const int id : step.reads) last[id] = &step;
    for (const int output : plan_.graph.outputs) last.erase(result_of_output(output));
    for (const auto& [id, step] : last) step->last_reads.push_back(id);
  }

  /// If no later step needs the call's result and the epilogue has one result, the epilogue writes over the pieces.
  void work_in_place(PlannedStep& step) {
    PlannedStep& call = *(&step - 1);
    const int result = call.call.node;
    const jit::LoopNest& nest = step.nest;
    const bool last = std::find(step.last_reads.begin(), step.last_reads.end(), result) != step.last_reads.end();
    if (!last || nest.outputs.size() != 1 || !(offset_of(step, nest.inputs.size()) == 0) || !counts_points(nest, ints_of(step), nest.outputs[0].index)) return;
    const auto &from = node(result), &to = node(nest.outputs[0].buffer);
    if (itemsize(from.dtype) != itemsize(to.dtype) || !from.elements.same(to.elements)) return;
    step.in_place = result;
    const double before = call.bytes_moved;
    save_traffic(call, result);  // the epilogue overwrites the call's result
    planned_.bytes_moved += call.bytes_moved - before;
  }

  /// Stores the refused merges with the steps' present numbers, because find_epilogues() has moved calls.
  void keep_refusals() {
    std::map<int, int> writer;
    for (std::size_t s = 0; s < planned_.steps.size(); ++s) writer[planned_.steps[s].writes.front()] = static_cast<int>(s);
    const auto moved = [&](int s) { return writer.at(plan_.steps[static_cast<std::size_t>(s)].writes().front()); };
    for (const fuse::Refusal& refusal : plan_.refused) planned_.refused.push_back({moved(refusal.a), moved(refusal.b), refusal.why});
  }

  /// Numbers the nodes in memory, in the order in which the steps read and write them.
  std::map<int, int> number_values() {
    std::map<int, int> numbers;
    const auto value_of = [&](int id) {
      const auto [known, fresh] = numbers.try_emplace(id, static_cast<int>(planned_.values.size()));
      if (fresh)
        planned_.values.push_back({node(id).op, node(id).dtype, fuse::hints(node(id).shape), node(id).op == trace::Op::data ? node(id).leaf : -1, -1,
                                   node(id).from, add_shape(node(id).shape)});
      return known->second;
    };
    for (PlannedStep& step : planned_.steps) {
      for (auto* list : {&step.reads, &step.writes, &step.last_reads})
        for (int& id : *list) id = value_of(id);
      for (auto* accesses : {&step.nest.inputs, &step.nest.outputs})
        for (auto& access : *accesses) access.buffer = value_of(access.buffer);
      if (step.library) step.call.node = value_of(step.call.node);
      for (auto& operand : step.call.operands) operand.node = value_of(operand.node);
      if (step.in_place >= 0) step.in_place = value_of(step.in_place);
    }
    for (const int output : plan_.graph.outputs) planned_.outputs.push_back(value_of(result_of_output(output)));
    for (const auto& step : plan_.steps)
      for (const int id : step.writes()) {
        planned_.values[static_cast<std::size_t>(value_of(id))].bytes = static_cast<int>(numbers_.size());
        numbers_.push_back(fuse::element_count(node(id).shape) * static_cast<std::int64_t>(itemsize(node(id).dtype)));
      }
    return numbers;
  }

  fuse::Plan& plan_;
  Planned& planned_;
  fuse::Sizes numbers_, figures_;
};

Scheduled schedule_within(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  fuse::Graph prepared = fuse::prepare(graph, target.limits);
  fuse::Forced forced;
  for (int splits = 0;; ++splits) {
    Scheduled made{std::make_shared<Planned>(), fuse::schedule(std::move(prepared), target.limits, forced), {}, {}};
    kernels.totals().steps_planned += made.plan.steps.size();
    made.planned->limits = target.limits;
    for (const trace::Node& node : graph.nodes) made.planned->recorded.push_back({node.op, node.dtype, trace::hints(node.shape), node.inputs, node.leaf});
    made.planned->passes = graph.passes;
    made.ordinals = ordinals_of(made.plan.graph);
    Making making(made.plan, *made.planned);
    bool split_again = false;
    for (const fuse::Step& step : made.plan.steps) {
      const std::size_t first_number = making.numbers();
      ++kernels.totals().steps_made;
      if (step.kind == fuse::Step::Kind::library) {
        if (!fuse::has_library(target.limits, step.call.op, step.call.dtype))
          log().debug("{}: computed by the host, because {} has no library for it", fuse::to_string(fuse::todays(step.call)), target.limits.target);
        PlannedStep call;
        call.call = fuse::todays(step.call);
        call.call.fast_math = how.lowering.fast_math;
        call.numbers = first_number;
        call.call_kernels = kernels.make_for(call.call, target);
        making.add(step, std::move(call));
        making.add_figures(step.moved, {}, {});
        making.add_numbers(fuse::numbers_of(step.call));
        continue;
      }
      timeline::Span span("lower");
      LoweredStep lowered = lowered_step(made.plan.graph, step, target, how, kernels);
      span.rename("lower", lowered.lowered.nest.name);
      span.stop();
      PlannedStep kernel = planned_kernel(step, lowered, made.ordinals, target, kernels);
      const auto& report = kernel.made.report;
      const int node = report.spill_bytes > 0 && splits < kMaxSplits ? fuse::halving_node(step.kernel) : -1;
      if (node >= 0) {
        forced[node] = {fuse::SplitReason::measured_spill, fmt::format("as one kernel, {} used {} and spilled {}", kernel.nest.name,
                                                                       counted(report.registers, "register"), counted(report.spill_bytes, "byte"))};
        log().info("{} spills {} and is split again", kernel.nest.name, counted(report.spill_bytes, "byte"));
        split_again = true;
        break;
      }
      kernel.numbers = first_number;
      making.add(step, std::move(kernel));
      making.add_figures(lowered.lowered.moved, fuse::arithmetic(step.kernel, target.limits), parts_read(made.plan.graph, step.kernel, step.reads()));
      for (const fuse::Sizes* sizes : {&lowered.lowered.ints, &lowered.lowered.input_offsets, &lowered.lowered.output_offsets}) making.add_numbers(*sizes);
    }
    if (split_again) {
      prepared = std::move(made.plan.graph);
      continue;
    }
    made.values = making.finish();
    log().debug("planned: {}, {}", counted(made.plan.graph.nodes.size(), "node"), counted(made.planned->steps.size(), "step"));
    return made;
  }
}

}  // namespace

Scheduled schedule_and_make(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  try {
    return schedule_within(graph, target, how, kernels);
  } catch (const runtime::NoClusterSpace& error) {
    Target less = target;
    less.limits.cluster = target.device->limits().cluster;
    if (less.limits.cluster >= target.limits.cluster) throw;
    log().debug("{}; planned again with clusters of {}", error.what(), less.limits.cluster);
    return schedule_and_make(graph, less, how, kernels);
  }
}

std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  return schedule_and_make(graph, target, how, kernels).planned;
}

double operations_of(const fuse::LibraryCall& call) {
  using trace::Op;
  const auto product = [](const Shape& shape) {
    double all = 1;
    for (const std::int64_t size : shape) all *= static_cast<double>(size);
    return all;
  };
  if (call.op == Op::matmul || call.op == Op::matmul_panels) return 2 * product(call.shape) * static_cast<double>(call.operands[0].shape.back());
  if (call.op != Op::conv && call.op != Op::conv_blocked && call.op != Op::conv_bytes && call.op != Op::conv_bytes_scaled) return 0;
  const auto& filters = call.operands[1].shape;
  const double channels = static_cast<double>(call.shape[1]) * (call.op == Op::conv ? 1 : static_cast<double>(call.shape.back()));
  // Filters with 5 axes are packed for minimal filtering: they have one number for each element of a tile, and not for each of 3 x 3 taps.
  const double taps = call.op == Op::conv_blocked && filters.size() == 5 ? 9 / static_cast<double>(filters[0]) : 1;
  return 2 * product(call.shape) * product(filters) * taps / std::max(channels, 1.0);
}

double bytes_of(const std::vector<PlannedTraffic>& traffic, std::span<const std::int64_t> figures) {
  const auto count = [&](const PlannedTraffic& term) { return term.bytes * static_cast<double>(figures[static_cast<std::size_t>(term.elements)]); };
  double bytes = 0;
  for (auto term = traffic.begin(); term != traffic.end(); ++term) {
    const double whole = count(*term);
    double some = 0;
    const auto last = term + term->others;
    const bool either = term != last;
    while (term != last) some += count(*++term);
    bytes += either ? std::min(whole, some) : whole;
  }
  return bytes;
}

PlannedBytes bytes_at(const Planned& planned, const std::vector<std::int64_t>& symbols) {
  std::vector<std::int64_t> figures;
  planned.figures.evaluate(symbols, figures);
  PlannedBytes bytes;
  for (const PlannedStep& step : planned.steps) {
    bytes.moved += bytes_of(step.moved, figures);
    bytes.unfused += bytes_of(step.unfused, figures);
  }
  return bytes;
}

Planned described_at(const Planned& planned, const std::vector<std::int64_t>& symbols) {
  Planned here = planned;
  std::vector<std::int64_t> numbers, figures;
  planned.program.evaluate(symbols, numbers);
  planned.figures.evaluate(symbols, figures);
  const auto take = [&](std::vector<std::int64_t>& sizes, int from) { std::copy_n(figures.begin() + from, sizes.size(), sizes.begin()); };
  for (PlannedValue& value : here.values) take(value.shape, value.figure);
  for (PlannedNode& node : here.recorded)
    if (node.figure >= 0) take(node.shape, node.figure);
  here.bytes_moved = here.bytes_unfused = 0;
  for (PlannedStep& step : here.steps) {
    if (step.library) step.call = fuse::bound(step.call, numbers.data() + step.numbers);
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(step.numbers), step.nest.ints.size(), step.nest.ints.begin());
    int figure = step.part_figure;
    for (Shape& part : step.parts) {
      take(part, figure);
      figure += static_cast<int>(part.size());
    }
    here.bytes_moved += step.bytes_moved = bytes_of(step.moved, figures);
    here.bytes_unfused += step.bytes_unfused = bytes_of(step.unfused, figures);
    step.operations = step.library ? operations_of(step.call) : bytes_of(step.arithmetic, figures);
  }
  return here;
}

}  // namespace sinter::engine
