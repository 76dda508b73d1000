#include "engine/planned.hpp"

#include <fmt/format.h>

#include "engine/tuned.hpp"
#include "trace/log.hpp"

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

struct Scheduled {
  jit::Lowered lowered;
  PlannedStep::From from = PlannedStep::From::chosen;
};

Scheduled scheduled(const Planned& planned, const fuse::Step& step, const Target& target, const PlanOptions& how, Kernels& kernels) {
  const auto lower = [&](const jit::LowerOptions& options) { return jit::lower(planned.plan.graph, step.kernel, target.limits, options); };
  Scheduled result{lower(how.lowering)};
  const std::string name = result.lowered.nest.name;
  if (how.tuned && target.device && kernels.any_tuned())
    if (const auto wish = tuned_wish(*kernels.disk(), result.lowered, {target.device->model(), target.interpret})) {
      result.lowered = lower({how.lowering.fast_math, how.lowering.wish.with(*wish)});
      if (result.lowered.nest.name != name) result.from = PlannedStep::From::tuned;
    }
  if (!how.lowering.wish.empty() && result.from == PlannedStep::From::chosen && lower({how.lowering.fast_math, {}}).nest.name != name)
    result.from = PlannedStep::From::asked;
  return result;
}

}  // namespace

std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, const PlanOptions& how, Kernels& kernels) {
  const fuse::Graph prepared = fuse::prepare(graph, target.limits);
  fuse::Forced forced;
  for (int recuts = 0;; ++recuts) {
    auto planned = std::make_shared<Planned>();
    planned->limits = target.limits;
    planned->plan = fuse::schedule(prepared, target.limits, forced);
    planned->ordinals = ordinals_of(planned->plan.graph);
    for (const auto& node : planned->plan.graph.nodes)
      if (node.made) planned->made.push_back(node.scalar);
    bool cut_again = false;
    fuse::Sizes numbers;
    const auto add = [&](const fuse::Sizes& sizes) { numbers.insert(numbers.end(), sizes.begin(), sizes.end()); };
    for (auto& step : planned->plan.steps) {
      PlannedStep made;
      const std::size_t first_number = numbers.size();
      if (step.kind == fuse::Step::Kind::kernel) {
        const auto [lowered, from] = scheduled(*planned, step, target, how, kernels);
        planned->plan.bytes_moved += lowered.bytes_moved - step.bytes_moved;
        step.bytes_moved = lowered.bytes_moved;
        add(lowered.ints);
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
      if (step.kind == fuse::Step::Kind::library) add(fuse::numbers_of(step.call));
      made.numbers = first_number;
      planned->steps.push_back(std::move(made));
    }
    if (cut_again) continue;
    planned->bytes.assign(planned->plan.graph.nodes.size(), -1);
    for (const auto& step : planned->plan.steps)
      for (int node : step.writes()) {
        const auto& n = planned->plan.graph.nodes[node];
        planned->bytes[node] = static_cast<int>(numbers.size());
        numbers.push_back(fuse::element_count(n.shape) * static_cast<std::int64_t>(itemsize(n.dtype)));
      }
    const auto& plan = planned->plan;
    for (std::size_t at = 0; at < plan.steps.size(); ++at) {
      auto& step = planned->steps[at];
      step.reads = plan.steps[at].reads();
      step.writes = plan.steps[at].writes();
      for (int node : step.reads)
        if (plan.last_use[node] == static_cast<int>(at)) step.last_reads.push_back(node);
    }
    for (int output : plan.graph.outputs) {
      const auto alias = plan.aliases.find(output);
      planned->outputs.push_back(alias == plan.aliases.end() ? output : alias->second);
    }
    prepared.space->close();
    planned->program = fuse::SizeProgram(*prepared.space, numbers);
    return planned;
  }
}

}  // namespace sinter::engine
