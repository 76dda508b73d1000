#include "engine/frozen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/engine.hpp"
#include "engine/retry.hpp"
#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

/// A node's part of the arena, for who wants a buffer for each.
class PartOfBuffer final : public device::Buffer {
 public:
  PartOfBuffer(device::BufferPtr whole, std::size_t offset, std::size_t bytes) : whole_(std::move(whole)), offset_(offset), bytes_(bytes) {}
  void* data() override { return static_cast<char*>(whole_->data()) + offset_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  device::BufferPtr whole_;
  std::size_t offset_, bytes_;
};

}  // namespace

std::shared_ptr<const Bound> bind(std::shared_ptr<const Planned> planned, std::shared_ptr<const Leaves> leaves, const Values& values) {
  auto bound = std::make_shared<Bound>();
  bound->shapes = values.shapes;
  planned->program.evaluate(values.symbols, bound->numbers);
  bound->constants = values.literals;
  for (const auto& constant : planned->made) bound->constants.push_back(constant.bits());
  bound->gathers = leaves->gathers;
  for (std::size_t k = 0; k < bound->gathers.size(); ++k) bound->gathers[k].size = values.gathered[k];

  // A library call and what runs on the pieces of its result are one moment.
  const auto& steps = planned->steps;
  const std::size_t nodes = planned->plan.graph.nodes.size();
  std::vector<int> memory(nodes), first(nodes, -1), last(nodes, -1);
  std::iota(memory.begin(), memory.end(), 0);
  int moment = -1;
  std::set<int> read;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (!steps[s].follows) ++moment;
    for (const int node : steps[s].reads) {
      if (planned->plan.graph.nodes[static_cast<std::size_t>(node)].op == trace::Op::data) read.insert(node);
      last[static_cast<std::size_t>(memory[static_cast<std::size_t>(node)])] = moment;
    }
    for (const int node : steps[s].writes) {
      const auto at = static_cast<std::size_t>(node);
      if (steps[s].in_place >= 0) {
        memory[at] = memory[static_cast<std::size_t>(steps[s].in_place)];
        bound->shared.emplace_back(node, memory[at]);
      } else {
        first[at] = moment;
      }
      last[static_cast<std::size_t>(memory[at])] = moment;
    }
    const bool library = planned->plan.steps[s].kind == fuse::Step::Kind::library;
    bound->library.push_back(library ? fuse::bound(planned->plan.steps[s].call, bound->numbers.data() + steps[s].numbers) : fuse::LibraryCall{});
  }
  std::set<int> wanted;
  for (const int output : planned->outputs) {
    if (planned->plan.graph.nodes[static_cast<std::size_t>(output)].op == trace::Op::data) read.insert(output);
    else wanted.insert(memory[static_cast<std::size_t>(output)]);
  }
  bound->data.assign(read.begin(), read.end());
  bound->outputs.assign(wanted.begin(), wanted.end());
  std::vector<Lifetime> lives;
  for (std::size_t node = 0; node < nodes; ++node) {
    if (first[node] < 0 || wanted.contains(static_cast<int>(node))) continue;
    lives.push_back({planned->bytes_of(static_cast<int>(node), bound->numbers), first[node], last[node]});
    bound->places.push_back({static_cast<int>(node), 0, lives.back().bytes});
  }
  bound->arena = lay_out(lives);
  for (std::size_t k = 0; k < lives.size(); ++k) bound->places[k].offset = bound->arena.offsets[k];
  bound->planned = std::move(planned);
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
  auto planned = without_fusion_if_it_fails(at.target, [&](const Target& target) { return make_plan(graph, target, at.how, kernels_); });
  ++totals_.plans_made;
  return planned;
}

std::vector<trace::StoragePtr> Engine::call(const Bound& bound, const Frozen& at, std::span<const trace::RecordedPtr> inputs, const trace::Site& site) {
  const ForkGate::Inside inside(fork_gate());
  if (std::any_of(inputs.begin(), inputs.end(), [](const auto& input) { return !input->evaluated(); })) evaluate(inputs, site);
  Borrowed borrowed;
  Workspace& work = *borrowed;
  const Planned& planned = *bound.planned;
  const device::DevicePtr& device = at.target.device;
  const auto& graph = planned.plan.graph;
  const auto contents = [&](int node) -> const trace::StoragePtr& {
    const auto leaf = static_cast<std::size_t>(graph.nodes[static_cast<std::size_t>(node)].leaf);
    const int input = bound.leaves->inputs[leaf];
    return input >= 0 ? inputs[static_cast<std::size_t>(input)]->storage : bound.leaves->storages[leaf];
  };
  const auto elements = [&](int node) -> Elements& { return work.elements[static_cast<std::size_t>(node)]; };
  device::BufferPtr block;
  try {
    work.numbers = bound.numbers;
    work.constants = bound.constants;
    work.gathers = bound.gathers;
    work.calls = bound.leaves->calls;
    work.elements.resize(graph.nodes.size());
    for (const int node : bound.data) elements(node) = elements_of(contents(node), device);
    if (bound.arena.bytes > 0) {
      block = device->allocate(bound.arena.bytes);
      for (const Bound::Place& place : bound.places) {
        Elements& here = elements(place.node);
        // Where the host reads the device's memory nobody asks for a buffer.
        here.buffer = device->reads_host() ? nullptr : std::make_shared<PartOfBuffer>(block, place.offset, std::max<std::size_t>(place.bytes, 1));
        here.data = static_cast<char*>(block->data()) + place.offset;
      }
    }
    for (const int node : bound.outputs) {
      if (planned.bytes[static_cast<std::size_t>(node)] < 0) continue;  // it has no elements, and no step
      Elements& here = elements(node);
      here.buffer = device->allocate(std::max<std::size_t>(planned.bytes_of(node, bound.numbers), 1));
      here.data = here.buffer->data();
    }
    for (const auto& [node, with] : bound.shared) elements(node) = elements(with);
    run_bound(bound, at.target, work);
  } catch (const DeviceError& error) {
    trace::fail<DeviceError>(site, error.what());
  }
  std::vector<trace::StoragePtr> results;
  results.reserve(planned.outputs.size());
  std::vector<std::pair<const device::Buffer*, trace::StoragePtr>> made;  // outputs that are one node are one storage
  for (const int output : planned.outputs) {
    if (graph.nodes[static_cast<std::size_t>(output)].op == trace::Op::data) {
      results.push_back(contents(output));
      continue;
    }
    const device::BufferPtr& buffer = elements(output).buffer;
    auto known = std::find_if(made.begin(), made.end(), [&](const auto& one) { return one.first == buffer.get(); });
    if (known == made.end()) known = made.emplace(known, buffer.get(), contents_of(device, buffer, buffer ? planned.bytes_of(output, bound.numbers) : 0));
    results.push_back(known->second);
  }
  return results;
}

}  // namespace sinter::engine
