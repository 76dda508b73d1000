#include "engine/frozen.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/engine.hpp"
#include "engine/retry.hpp"
#include "sinter/errors.hpp"
#include "trace/host_access.hpp"

namespace sinter::engine {

std::shared_ptr<const Bound> bind_plan(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values, const Target& target,
                                       Kernels& kernels) {
  auto bound = std::make_shared<Bound>();
  bound->shapes = values.shapes;
  bound->constants = values.literals;
  for (const auto& constant : planned->made) bound->constants.push_back(constant.bits());
  bound->gathers = leaves->gathers;
  for (std::size_t k = 0; k < bound->gathers.size(); ++k) bound->gathers[k].size = values.gathered[k];
  bound->executable = bound_executable(std::move(planned), values.symbols, target, kernels);
  prepare_repeats(bound->executable, target, kernels);
  const auto sites = std::shared_ptr<const std::vector<trace::NodeSite>>(leaves, &leaves->sites);
  bound->history = std::make_shared<History>(bound->executable.planned, false, target.device->name(), bound->executable.symbols, sites);
  bound->leaves = std::move(leaves);
  return bound;
}

Frozen Engine::frozen_target() {
  const Setup& now = setup();
  Frozen frozen{now.target, now.how};
  frozen.target.wait = true;
  return frozen;
}

std::shared_ptr<const Planned> Engine::plan_to_keep(const trace::Graph& graph, std::span<const std::uint64_t> structure, const Values& values,
                                                    const Leaves& leaves, const Frozen& at) {
  const ForkGate::Inside inside(fork_gate());
  return with_less_if_it_fails(at.target, [&](const Target& target) -> std::shared_ptr<const Planned> {
    const StoredPlanKey key{structure, &target, &at.how, kernels_.tuning_mark()};
    const PlanTerms terms{leaves.inputs.size(), values.literals.size(), leaves.gathers.size(),
                          leaves.calls.size(),  values.symbols.size(),  leaves.results.size()};
    const auto plans = engine::load_plans(key, terms, kernels_, [&](const Planned& plan) { return plan.holds(values.symbols); });
    totals_.plans_from_disk += plans.size();
    if (!plans.empty() && plans.back()->holds(values.symbols)) return plans.back();
    std::shared_ptr<const Planned> planned = make_plan(graph, target, at.how, kernels_);
    ++totals_.plans_made;
    keep_on_disk(key, plans.size(), planned);
    return planned;
  });
}

void Engine::expect_calls(const Bound& bound, const Target& target) {
  const ForkGate::Inside inside(fork_gate());
  for (std::size_t s = 0; s < bound.executable.library.size(); ++s)
    if (bound.executable.planned->steps[s].library) {
      const fuse::LibraryCall& call = bound.executable.library[s];
      // A plan that this process made has only library calls that the device or the host supports. A plan from a file may have others.
      if (!fuse::stays_on_host(call.op) && !fuse::has_library(target.limits, call.op, call.dtype))
        throw runtime::NoAlgorithm(fmt::format("there is no library here for {}", fuse::to_string(call)), false);
      target.device->expect(call);
    }
}

std::vector<StoragePtr> Engine::call(const Bound& bound, const Frozen& at, std::span<const trace::RecordedPtr> inputs, const trace::Site& site) {
  const ForkGate::Inside inside(fork_gate());
  const Planned& planned = *bound.executable.planned;
  const runtime::DevicePtr& device = at.target.device;
  const auto input_of = [&](int value) { return bound.leaves->inputs[static_cast<std::size_t>(planned.value(value).leaf)]; };
  const auto is_result = [&](int input) {
    return std::any_of(planned.outputs.begin(), planned.outputs.end(),
                       [&](int output) { return planned.value(output).is_leaf() && input_of(output) == input; });
  };
  std::vector<trace::HostPart> parts(inputs.size());  // rows of an evaluated array are read where they are
  std::vector<trace::RecordedPtr> pending;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (inputs[k]->evaluated()) continue;
    if (device->reads_host() && !is_result(static_cast<int>(k))) parts[k] = trace::part_of_evaluated(inputs[k]);
    if (!parts[k].held) pending.push_back(inputs[k]);
  }
  if (!pending.empty()) evaluate(pending, site);
  Borrowed borrowed;
  Workspace& work = *borrowed;
  const auto contents = [&](int value) -> const StoragePtr& {
    const int input = input_of(value);
    return input >= 0 ? inputs[static_cast<std::size_t>(input)]->storage : bound.leaves->storages[static_cast<std::size_t>(planned.value(value).leaf)];
  };
  const auto elements = [&](int value) -> Elements {
    const int input = input_of(value);
    const trace::HostPart* const part = input >= 0 ? &parts[static_cast<std::size_t>(input)] : nullptr;
    if (part && part->held) return {const_cast<std::byte*>(part->elements), nullptr};  // leaves are only read
    return elements_of(contents(value), device);
  };
  try {
    work.constants = bound.constants;
    work.gathers = bound.gathers;
    work.calls = bound.leaves->calls;
    work.sites = &bound.leaves->sites;
    work.elements.resize(planned.values.size());
    for (const int value : bound.executable.data) work.elements[static_cast<std::size_t>(value)] = elements(value);
    run(bound.executable, at.target, work);
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, error.what());
  } catch (const std::bad_alloc&) {
    trace::fail<MemoryError>(site, "the host has no memory left for the intermediate values of this call");
  }
  std::vector<StoragePtr> results;
  results.reserve(planned.outputs.size());
  std::vector<std::pair<const runtime::Buffer*, StoragePtr>> made;  // two outputs that are the same node share one storage
  for (const int output : planned.outputs) {
    if (planned.value(output).is_leaf()) {
      results.push_back(contents(output));
      continue;
    }
    const runtime::BufferPtr& buffer = work.elements[static_cast<std::size_t>(output)].buffer;
    auto known = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == buffer.get(); });
    if (known == made.end())
      known = made.emplace(known, buffer.get(), contents_of(device, buffer, buffer ? planned.bytes_of(output, bound.executable.numbers) : 0));
    results.push_back(known->second);
  }
  return results;
}

}  // namespace sinter::engine
