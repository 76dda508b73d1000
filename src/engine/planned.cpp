#include "engine/planned.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "engine/tuned.hpp"

namespace sinter::engine {
namespace {

constexpr int kMaxRecuts = 16;

// Nodes of an op keep their order when a graph is rewritten, so an ordinal names the same one before and after. Constants that
// rewriting put in come after all others.
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

}  // namespace

PlannedStep make_step(const Planned& planned, const fuse::Step& step, const jit::Lowered& lowered, const Target& target, Kernels& kernels) {
  PlannedStep made;
  made.nest = lowered.nest;
  for (const auto& scalar : made.nest.scalars) made.constants.push_back(planned.ordinals[scalar.node]);
  for (const auto& check : step.kernel.checks) made.gathers.push_back(planned.ordinals[check.node]);
  made.made = kernels.make(made.nest, target, fuse::to_string(step.cut()));
  return made;
}

namespace {

/// Whether the index counts the nest's points one after the other, as ordered by its axes, of which `ints` are the sizes: today, and as a condition on the
/// sizes for later.
bool counts_points(const jit::LoopNest& nest, const fuse::Sizes& ints, int index) {
  const auto equal = [](const fuse::Size& a, const fuse::Size& b) { return a.hint() == b.hint() && a == b; };
  const auto& terms = nest.indices[static_cast<std::size_t>(index)].terms;
  fuse::Size step = 1;
  std::size_t found = 0;
  for (int axis = nest.parallel; axis-- > 0; step *= ints[static_cast<std::size_t>(axis)]) {
    if (equal(ints[static_cast<std::size_t>(axis)], 1)) continue;
    for (const auto& term : terms)
      found += term.axis == axis && equal(term.coeff == jit::kOne ? fuse::Size(1) : ints[static_cast<std::size_t>(term.coeff)], step);
  }
  std::size_t walked = 0;  // axes of size 1 stay where they are
  for (const auto& term : terms) walked += term.axis < 0 || !equal(ints[static_cast<std::size_t>(term.axis)], 1);
  return found == walked;
}

/// What fuse::Step::follows hoped for, where the nest as scheduled keeps the order; the memory of the pieces becomes the result's where
/// nobody needs them afterwards and the kernel has no other result.
void follow(fuse::Plan& plan, std::size_t at, PlannedStep& step, const fuse::Sizes& ints) {
  const int result = plan.steps[at - 1].call.node;
  const jit::LoopNest& nest = step.nest;
  if (nest.rows > 0 || nest.schedule.form != jit::Form::pointwise || nest.checks > 0) return;
  for (const auto& input : nest.inputs)
    if (input.buffer == result && !counts_points(nest, ints, input.index)) return;
  step.follows = true;
  const auto& from = plan.graph.nodes[result];
  const double bytes = static_cast<double>(element_count(fuse::hints(from.shape))) * static_cast<double>(itemsize(from.dtype));
  const auto stays_in_cache = [&](std::size_t moved) {
    plan.steps[moved].bytes_moved -= bytes;
    plan.bytes_moved -= bytes;
  };
  stays_in_cache(at);  // it reads what was just written
  const bool last = std::find(step.last_reads.begin(), step.last_reads.end(), result) != step.last_reads.end();
  if (!last || nest.outputs.size() != 1 || nest.outputs[0].offset != 0 || !counts_points(nest, ints, nest.outputs[0].index)) return;
  const auto& to = plan.graph.nodes[nest.outputs[0].buffer];
  if (itemsize(from.dtype) != itemsize(to.dtype) || !from.elements.same(to.elements)) return;
  step.in_place = result;
  stays_in_cache(at - 1);  // and writes over it
}

struct Scheduled {
  jit::Lowered lowered;
  PlannedStep::From from = PlannedStep::From::chosen;
};

Scheduled scheduled(const Planned& planned, const fuse::Step& step, const Target& target, const PlanOptions& how, Kernels& kernels) {
  const auto lower = [&](const jit::LowerOptions& options) { return jit::lower(planned.plan.graph, step.kernel, target.limits, options); };
  Scheduled result{lower(how.lowering)};
  // Two schedules differ where they differ in what matters for their form.
  const auto runs = [&](const jit::Lowered& lowered) { return jit::to_string(lowered.nest.schedule, target.limits.backend); };
  const std::string chosen = runs(result.lowered);
  if (how.tuned && target.device && kernels.any_tuned())
    if (const auto wish = tuned_wish(*kernels.disk(), result.lowered, {target.device->model(), target.kind().generator, target.interpret})) {
      result.lowered = lower({how.lowering.fast_math, how.lowering.wish.with(*wish)});
      if (runs(result.lowered) != chosen) result.from = PlannedStep::From::tuned;
    }
  if (!how.lowering.wish.empty() && result.from == PlannedStep::From::chosen && runs(lower({how.lowering.fast_math, {}})) != chosen)
    result.from = PlannedStep::From::asked;
  return result;
}

std::shared_ptr<const Planned> plan_within(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  fuse::Graph prepared = fuse::prepare(graph, target.limits);
  fuse::Forced forced;
  for (int recuts = 0;; ++recuts) {
    auto planned = std::make_shared<Planned>();
    planned->limits = target.limits;
    planned->plan = fuse::schedule(std::move(prepared), target.limits, forced);
    planned->ordinals = ordinals_of(planned->plan.graph);
    for (const auto& node : planned->plan.graph.nodes)
      if (node.made) planned->made.push_back(node.scalar);
    bool cut_again = false;
    fuse::Sizes numbers;
    std::vector<fuse::Sizes> ints;  // of each step's nest
    const auto add = [&](const fuse::Sizes& sizes) { numbers.insert(numbers.end(), sizes.begin(), sizes.end()); };
    for (auto& step : planned->plan.steps) {
      PlannedStep made;
      ints.emplace_back();
      const std::size_t first_number = numbers.size();
      if (step.kind == fuse::Step::Kind::kernel) {
        const auto [lowered, from] = scheduled(*planned, step, target, how, kernels);
        planned->plan.bytes_moved += lowered.bytes_moved - step.bytes_moved;
        step.bytes_moved = lowered.bytes_moved;
        add(ints.back() = lowered.ints);
        add(lowered.input_offsets);
        add(lowered.output_offsets);
        made = make_step(*planned, step, lowered, target, kernels);
        made.schedule_from = from;
        const auto& report = made.made.report;
        const int node = report.spill_bytes > 0 && recuts < kMaxRecuts ? fuse::halving_node(step.kernel) : -1;
        if (node >= 0) {
          forced[node] = {fuse::CutReason::measured_spill,
                          fmt::format("{} used {} registers and spilled {} bytes as one kernel", made.nest.name, report.registers, report.spill_bytes)};
          log().info("{} spills {} bytes and is cut again", made.nest.name, report.spill_bytes);
          cut_again = true;
          break;
        }
      }
      if (step.kind == fuse::Step::Kind::library) {
        step.call.fast_math = how.lowering.fast_math;
        add(fuse::numbers_of(step.call));
      }
      made.numbers = first_number;
      planned->steps.push_back(std::move(made));
    }
    if (cut_again) {
      prepared = std::move(planned->plan.graph);
      continue;
    }
    planned->bytes.assign(planned->plan.graph.nodes.size(), -1);
    for (const auto& step : planned->plan.steps)
      for (int node : step.writes()) {
        const auto& n = planned->plan.graph.nodes[node];
        planned->bytes[node] = static_cast<int>(numbers.size());
        numbers.push_back(fuse::element_count(n.shape) * static_cast<std::int64_t>(itemsize(n.dtype)));
      }
    auto& plan = planned->plan;
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
      auto& step = planned->steps[at];
      step.reads = plan.steps[at].reads();
      step.writes = plan.steps[at].writes();
      for (int node : step.reads)
        if (plan.last_use[node] == static_cast<int>(at)) step.last_reads.push_back(node);
      if (plan.steps[at].follows) follow(plan, at, step, ints[at]);
    }
    for (int output : plan.graph.outputs) {
      const auto alias = plan.aliases.find(output);
      planned->outputs.push_back(alias == plan.aliases.end() ? output : alias->second);
    }
    plan.graph.space->close();
    planned->program = fuse::SizeProgram(*plan.graph.space, numbers);
    return planned;
  }
}

}  // namespace

std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  try {
    return plan_within(graph, target, how, kernels);
  } catch (const runtime::NoRoom& error) {
    Target less = target;
    less.limits.cluster = target.device->limits().cluster;
    if (less.limits.cluster >= target.limits.cluster) throw;
    log().debug("{}; planned again with clusters of {}", error.what(), less.limits.cluster);
    return make_plan(graph, less, how, kernels);
  }
}

}  // namespace sinter::engine
