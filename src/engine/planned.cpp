#include "engine/planned.hpp"

#include <fmt/format.h>

#include "jit/lower.hpp"
#include "trace/log.hpp"

namespace sinter::engine {
namespace {

constexpr int kMaxRecuts = 16;

// Nodes of an op keep their order when a graph is rewritten, so an ordinal names the same one before and after. Constants that
// rewriting put in come after all others.
std::vector<int> ordinals_of(const fuse::Graph& graph, trace::Op op) {
  std::vector<int> ordinals(graph.nodes.size(), -1);
  int next = 0;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id)
    if (graph.nodes[id].op == op && !graph.nodes[id].made) ordinals[id] = next++;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id)
    if (graph.nodes[id].op == op && graph.nodes[id].made) ordinals[id] = next++;
  return ordinals;
}

}  // namespace

std::vector<trace::Scalar> constants_of(const trace::Graph& graph) {
  std::vector<trace::Scalar> constants;
  for (const auto& node : graph.nodes)
    if (node.op == trace::Op::constant) constants.push_back(node.scalar);
  return constants;
}

std::vector<const trace::Node*> gathers_of(const trace::Graph& graph) {
  std::vector<const trace::Node*> gathers;
  for (const auto& node : graph.nodes)
    if (node.op == trace::Op::gather) gathers.push_back(&node);
  return gathers;
}

std::shared_ptr<const Planned> make_plan(const trace::Graph& graph, const Target& target, bool fast_math, Kernels& kernels) {
  const fuse::Graph prepared = fuse::prepare(graph, target.limits);
  fuse::Forced forced;
  for (int recuts = 0;; ++recuts) {
    auto planned = std::make_shared<Planned>();
    planned->limits = target.limits;
    planned->plan = fuse::schedule(prepared, target.limits, forced);
    const auto ordinals = ordinals_of(planned->plan.graph, trace::Op::constant), gathers = ordinals_of(planned->plan.graph, trace::Op::gather);
    for (const auto& node : planned->plan.graph.nodes)
      if (node.made) planned->made.push_back(node.scalar);
    bool cut_again = false;
    fuse::Sizes numbers;
    const auto add = [&](const fuse::Sizes& sizes) { numbers.insert(numbers.end(), sizes.begin(), sizes.end()); };
    for (const auto& step : planned->plan.steps) {
      PlannedStep made;
      made.numbers = numbers.size();
      if (step.kind == fuse::Step::Kind::kernel) {
        auto lowered = jit::lower(planned->plan.graph, step.kernel, target.limits, {fast_math});
        made.nest = std::move(lowered.nest);
        add(lowered.ints);
        add(lowered.input_offsets);
        add(lowered.output_offsets);
        for (const auto& scalar : made.nest.scalars) made.constants.push_back(ordinals[scalar.node]);
        for (const auto& check : step.kernel.checks) made.gathers.push_back(gathers[check.node]);
        made.made = kernels.make(made.nest, target, fuse::to_string(step.cut()));
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
    prepared.space->close();
    planned->program = fuse::SizeProgram(*prepared.space, numbers);
    return planned;
  }
}

}  // namespace sinter::engine
