#include "engine/frozen.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "engine/retry.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {

std::shared_ptr<const Bound> bind_plan(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values, const Target& target,
                                       Kernels& kernels) {
  auto bound = std::make_shared<Bound>();
  bound->shapes = values.shapes;
  bound->constants = values.literals;
  for (const auto& constant : planned->made) bound->constants.push_back(constant.bits());
  bound->gathers = leaves->gathers;
  for (std::size_t k = 0; k < bound->gathers.size(); ++k) bound->gathers[k].size = values.gathered[k];
  place(*bound, std::move(planned), values.symbols, target);
  repeat(*bound, target, kernels);
  bound->leaves = std::move(leaves);
  return bound;
}

Frozen Engine::frozen_target() {
  const Setup& now = setup();
  Frozen frozen{now.target, now.how};
  frozen.target.wait = true;
  return frozen;
}

std::shared_ptr<const Planned> Engine::plan_to_keep(const trace::Graph& graph, const Frozen& at) {
  const ForkGate::Inside inside(fork_gate());
  auto planned = with_less_if_it_fails(at.target, [&](const Target& target) { return make_plan(graph, target, at.how, kernels_); });
  ++totals_.plans_made;
  return planned;
}

void Engine::expect_calls(const Bound& bound, const Target& target) {
  const ForkGate::Inside inside(fork_gate());
  for (std::size_t s = 0; s < bound.library.size(); ++s)
    if (bound.planned->plan.steps[s].kind == fuse::Step::Kind::library) {
      const fuse::LibraryCall& call = bound.library[s];
      // Without a library no plan that is made here calls one for a product; a file's may, and the host would compute it.
      if (call.op == trace::Op::matmul && !fuse::has_library(target.limits, call.op, call.dtype))
        throw runtime::NoAlgorithm(fmt::format("there is no library here for {}", fuse::to_string(call)), false);
      target.device->expect(call);
    }
}

std::vector<StoragePtr> Engine::call(const Bound& bound, const Frozen& at, std::span<const trace::RecordedPtr> inputs, const trace::Site& site) {
  const ForkGate::Inside inside(fork_gate());
  if (std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return !input->evaluated(); })) evaluate(inputs, site);
  Borrowed borrowed;
  Workspace& work = *borrowed;
  const Planned& planned = *bound.planned;
  const runtime::DevicePtr& device = at.target.device;
  const auto& graph = planned.plan.graph;
  const auto contents = [&](int node) -> const StoragePtr& {
    const auto leaf = static_cast<std::size_t>(graph.nodes[static_cast<std::size_t>(node)].leaf);
    const int input = bound.leaves->inputs[leaf];
    return input >= 0 ? inputs[static_cast<std::size_t>(input)]->storage : bound.leaves->storages[leaf];
  };
  try {
    work.constants = bound.constants;
    work.gathers = bound.gathers;
    work.calls = bound.leaves->calls;
    work.elements.resize(graph.nodes.size());
    for (const int node : bound.data) work.elements[static_cast<std::size_t>(node)] = elements_of(contents(node), device);
    run(bound, at.target, work);
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, error.what());
  } catch (const std::bad_alloc&) {
    trace::fail<MemoryError>(site, "the host has no memory left for what this call needs on the way");
  }
  std::vector<StoragePtr> results;
  results.reserve(planned.outputs.size());
  std::vector<std::pair<const runtime::Buffer*, StoragePtr>> made;  // outputs that are one node are one storage
  for (const int output : planned.outputs) {
    if (graph.nodes[static_cast<std::size_t>(output)].op == trace::Op::data) {
      results.push_back(contents(output));
      continue;
    }
    const runtime::BufferPtr& buffer = work.elements[static_cast<std::size_t>(output)].buffer;
    auto known = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == buffer.get(); });
    if (known == made.end()) known = made.emplace(known, buffer.get(), contents_of(device, buffer, buffer ? planned.bytes_of(output, bound.numbers) : 0));
    results.push_back(known->second);
  }
  return results;
}

}  // namespace sinter::engine
