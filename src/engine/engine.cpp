#include "engine/engine.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "engine/checks.hpp"
#include "engine/fork_gate.hpp"
#include "engine/options.hpp"
#include "engine/retry.hpp"
#include "sinter/errors.hpp"
#include "trace/host_access.hpp"
#include "trace/log.hpp"
#include "trace/loops.hpp"

namespace sinter::engine {
namespace {

// What Storage::device points to.
struct DeviceContents {
  device::DevicePtr device;
  device::BufferPtr buffer;
};

std::string short_place(const Location& where) {
  return *where.file ? fmt::format(" (recorded at {}:{})", where.file, where.line) : std::string();
}

// Whose result a step writes, for the message when there is no memory for it. Lines are those of the roots: a plan may have been made
// for the same formula in another place.
std::string result_name(const fuse::Plan& plan, int node, const std::vector<trace::RecordedPtr>& roots) {
  const fuse::Node& written = plan.graph.nodes[node];
  const std::string what = fmt::format("{} {}", name(written.dtype), fuse::to_string(written.shape));
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const auto alias = plan.aliases.find(plan.graph.outputs[k]);
    if (node == (alias == plan.aliases.end() ? plan.graph.outputs[k] : alias->second))
      return fmt::format("the result of {}, {}{}", roots[k]->called, what, short_place(roots[k]->where));
  }
  return fmt::format("the result of {} on the way to {}, {}{}", name(written.op), roots.front()->called, what, short_place(roots.front()->where));
}

// About what a plan takes in memory: its sources, above all.
std::size_t cost_of(const std::string& key, const Planned& planned) {
  std::size_t cost = 2 * key.size() + planned.plan.graph.nodes.size() * 256;
  for (const auto& step : planned.steps) cost += 4096 + step.made.source.text.size();
  return cost;
}

}  // namespace

namespace {

constinit ForkGate gate;
constinit std::atomic<Engine*> the_engine{nullptr};  // never destroyed: static tensors may outlive any order of destruction

}  // namespace

ForkGate& Engine::fork_gate() { return gate; }

// Made inside the gate: a child of fork would wait for ever for an engine that another thread of its parent was making.
Engine& Engine::get() {
  if (Engine* made = the_engine.load(std::memory_order_acquire)) return *made;
  const ForkGate::Inside inside(gate);
  static std::once_flag once;
  std::call_once(once, [] { the_engine.store(new Engine, std::memory_order_release); });
  return *the_engine.load(std::memory_order_acquire);
}

// A device that the environment names is opened when it is first needed: a process that never evaluates needs none.
Engine::Engine() : kernels_(totals_, gate) { apply(options_from_environment()); }

// A fork waits for evaluations to end and then holds every lock, so that the child finds nothing half done.
struct Engine::AtFork {
  AtFork() {
    pthread_atfork(
        [] {
          gate.close();
          if (Engine* engine = the_engine.load()) engine->before_fork();
        },
        [] {
          if (Engine* engine = the_engine.load()) engine->after_fork(false);
          gate.open();
        },
        [] {
          ++trace::process_generation;
          if (Engine* engine = the_engine.load()) engine->after_fork(true);
          gate.open_in_child();
        });
  }
};
const Engine::AtFork Engine::at_fork;  // from the start: the first evaluation may meet the first fork

void Engine::before_fork() {
  mutex_.lock();
  kernels_.before_fork();
  for (const auto& [place, device] : devices_) device->before_fork();
}

void Engine::after_fork(bool child) {
  for (const auto& [place, device] : devices_) device->after_fork();
  kernels_.after_fork(child);
  mutex_.unlock();
}

void Engine::configure(const Options& options) {
  check(options);
  const device::DevicePtr chosen = device_of(options);
  apply(options);
  // A device that was lost is left behind: what goes on elsewhere is not told of it again.
  std::lock_guard lock(mutex_);
  std::erase_if(devices_, [&](const auto& entry) { return entry.second != chosen && entry.second->lost(); });
}

Options Engine::options() const {
  std::lock_guard lock(mutex_);
  return options_;
}

void Engine::apply(const Options& options) {
  apply_log_level(options.log);
  cache::Settings settings = cache::default_settings();
  if (!options.cache_dir.empty()) settings.directory = options.cache_dir;
  settings.max_bytes = cache::parse_size(options.cache_size);
  if (settings.max_bytes == 0) settings.directory.clear();
  kernels_.configure(settings, options.dump);
  std::lock_guard lock(mutex_);
  options_ = options;
}

device::DevicePtr Engine::device_of(const Options& options) {
  const Place place = place_of(options);
  std::lock_guard lock(mutex_);
  const std::pair key{place.kind->name, place.ordinal};
  auto known = devices_.find(key);
  if (known == devices_.end()) known = devices_.emplace(key, place.kind->open(place.ordinal)).first;
  known->second->set_threads(options.threads);
  return known->second;
}

std::vector<device::DevicePtr> Engine::devices() {
  std::lock_guard lock(mutex_);
  std::vector<device::DevicePtr> result;
  for (const auto& [place, device] : devices_) result.push_back(device);
  return result;
}

Engine::Setup Engine::setup() {
  Setup setup{options(), {}};
  Target& target = setup.target;
  target.device = device_of(setup.options);
  target.limits = target.device->limits();
  target.limits.fuse = setup.options.fuse;
  target.interpret = target.kind().interprets && setup.options.backend == "interpreter";
  target.wait = setup.options.wait;
  return setup;
}

Engine::Found Engine::plan_for(const trace::Graph& graph, const Setup& setup) {
  const Target& target = setup.target;
  fuse::Structure structure = fuse::structure_of(graph);
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|{}|{}|", target.limits.target, target.interpret, target.limits.fuse, setup.options.fast_math,
                  setup.options.schedule, setup.options.tuned ? kernels_.tunings() : -1, target.device ? target.device->name() : "offline") +
      structure.key;
  {
    std::lock_guard lock(mutex_);
    if (const auto* family = plans_.find(key))
      for (auto planned = family->rbegin(); planned != family->rend(); ++planned) {
        ++totals_.guards_checked;
        if (!(*planned)->holds(structure.symbols)) continue;
        ++totals_.plans_reused;
        return {*planned, true, std::move(structure.symbols)};
      }
  }
  const PlanOptions how{{setup.options.fast_math, jit::Wish::parse(setup.options.schedule)}, setup.options.tuned};
  auto planned = make_plan(graph, target, how, kernels_);
  ++totals_.plans_made;
  std::lock_guard lock(mutex_);
  PlanFamily family{planned};
  std::size_t cost = cost_of(key, *planned);
  if (const auto* known = plans_.find(key)) {
    family.insert(family.begin(), known->begin(), known->end());
    if (family.size() > kMaxFamily) family.erase(family.begin());
    for (const auto& other : *known) cost += cost_of({}, *other);
  }
  plans_.replace(key, std::move(family), cost);
  return {planned, false, std::move(structure.symbols)};
}

// Several threads may want the same elements on the same device: each brings them there, what the first one brought counts.
device::BufferPtr Engine::buffer_of(const trace::StoragePtr& storage, const device::DevicePtr& device) {
  std::shared_ptr<DeviceContents> contents;
  std::shared_ptr<void> host;
  {
    std::lock_guard lock(storage->mutex);
    contents = std::static_pointer_cast<DeviceContents>(storage->device);
    host = storage->host;
  }
  if (contents && contents->device == device) return contents->buffer;
  if (!host) host = host_memory_of(*storage);  // it is on another device: through the host
  if (auto wrapped = device->wrap(host, storage->bytes)) return wrapped;
  auto buffer = device->allocate(std::max<std::size_t>(storage->bytes, 1));
  device->upload(*buffer, host.get(), storage->bytes);
  std::lock_guard lock(storage->mutex);
  if (const auto others = std::static_pointer_cast<DeviceContents>(storage->device); others && others->device == device) return others->buffer;
  storage->device = std::make_shared<DeviceContents>(DeviceContents{device, buffer});
  return buffer;
}

std::shared_ptr<void> Engine::host_memory_of(trace::Storage& storage) {
  std::shared_ptr<DeviceContents> contents;
  {
    std::lock_guard lock(storage.mutex);
    if (storage.host) return storage.host;
    contents = std::static_pointer_cast<DeviceContents>(storage.device);
  }
  auto memory = trace::allocate_host(storage.bytes);
  contents->device->download(memory.get(), *contents->buffer, storage.bytes);
  std::lock_guard lock(storage.mutex);
  if (!storage.host) storage.host = std::move(memory);  // addresses that were given out stay
  return storage.host;
}

void Engine::launch(const PlannedStep& step, std::span<const std::int64_t> numbers, const std::vector<trace::Scalar>& constants, const Target& target,
                    std::vector<device::BufferPtr>& buffers, const device::BufferPtr& flags) {
  const auto& device = target.device;
  const jit::LoopNest& nest = step.nest;
  const auto ints = numbers.subspan(step.numbers, nest.ints.size());
  for (int axis = 0; axis < nest.parallel; ++axis)
    if (ints[axis] == 0) return;  // nothing to write
  std::vector<std::uint64_t> scalars;
  for (int ordinal : step.constants) scalars.push_back(constants[ordinal].bits());
  const auto gather = [&](auto address_of) {
    std::vector<void*> pointers;
    const std::int64_t* offset = ints.data() + ints.size();
    for (const auto* accesses : {&nest.inputs, &nest.outputs})
      for (const auto& access : *accesses)
        pointers.push_back(static_cast<char*>(address_of(access.buffer)) + *offset++ * static_cast<std::int64_t>(itemsize(access.dtype)));
    return pointers;
  };
  ++totals_.launched;
  if (const auto kernel = kernels_.current(step.made, nest, target)) {
    auto pointers = gather([&](int node) { return buffers[node]->data(); });
    if (flags) pointers.push_back(flags->data());
    device->launch(*kernel, nest, {pointers, ints, scalars});
    return;
  }
  // No kernel on the device: interpreted where nests are, with the operands brought over and the results taken back.
  const auto host = device::interpreting_kind().open(0);
  std::unordered_map<int, device::BufferPtr> copies;
  const auto bring = [&](const jit::Access& access) {
    auto& copy = copies[access.buffer];
    if (copy) return;
    const std::size_t bytes = buffers[access.buffer]->bytes();
    copy = host->allocate(bytes);
    device->download(copy->data(), *buffers[access.buffer], bytes);
  };
  for (const auto& access : nest.inputs) bring(access);
  for (const auto& access : nest.outputs) bring(access);
  auto pointers = gather([&](int node) { return copies.at(node)->data(); });
  std::vector<std::int64_t> raised(2 * nest.checks);
  if (flags) pointers.push_back(raised.data());
  const auto kernel = host->load(nest, {});
  host->launch(*kernel, nest, {pointers, ints, scalars});
  for (const auto& access : nest.outputs) device->upload(*buffers[access.buffer], copies.at(access.buffer)->data(), buffers[access.buffer]->bytes());
  if (flags) device->upload(*flags, raised.data(), raised.size() * sizeof raised[0]);
}

void Engine::call(const fuse::LibraryCall& call, const device::DevicePtr& device, std::vector<device::BufferPtr>& buffers) {
  std::vector<void*> pointers;
  for (const auto& operand : call.operands) pointers.push_back(buffers[operand.node]->data());
  pointers.push_back(buffers[call.node]->data());
  ++totals_.library_calls;
  device->call(call, pointers);
}

void Engine::run(const Planned& planned, std::span<const std::int64_t> numbers, const trace::Linear& linear, const std::vector<trace::RecordedPtr>& roots,
                 const Setup& setup, std::vector<device::BufferPtr>& buffers, bool keep_all) {
  const auto& plan = planned.plan;
  const auto& device = setup.target.device;
  buffers.assign(plan.graph.nodes.size(), nullptr);
  auto constants = constants_of(linear.graph);
  constants.insert(constants.end(), planned.made.begin(), planned.made.end());
  Checks checks(linear.graph, device);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto& step = plan.steps[s];
    for (int node : step.reads())
      if (!buffers[node]) buffers[node] = buffer_of(linear.leaves.at(plan.graph.nodes[node].leaf), device);
    for (int node : step.writes()) {
      try {
        buffers[node] = device->allocate(std::max<std::size_t>(planned.bytes_of(node, numbers), 1));
      } catch (const DeviceError& error) {
        throw DeviceError(fmt::format("no room for {}: {}", result_name(plan, node, roots), error.what()));
      }
    }
    const auto& made = planned.steps[s];
    if (step.kind == fuse::Step::Kind::library) call(fuse::bound(step.call, numbers.data() + made.numbers), device, buffers);
    else if (made.gathers.empty()) launch(made, numbers, constants, setup.target, buffers, nullptr);
    else checks.launch(made, [&](const device::BufferPtr& flags) { launch(made, numbers, constants, setup.target, buffers, flags); });
    for (int node : step.reads())  // the pool hands a dead intermediate's memory to the next step
      if (!keep_all && plan.last_use[node] == static_cast<int>(s)) buffers[node].reset();
  }
  checks.verify();
}

void Engine::evaluate(const std::vector<trace::RecordedPtr>& roots, const trace::Site& site, bool asked) {
  const ForkGate::Inside inside(gate);
  std::vector<trace::RecordedPtr> pending;
  for (const auto& root : roots) {
    if (!root) trace::fail<ValueError>(site, "the tensor is empty (default-constructed); assign it first");
    if (!root->result()) pending.push_back(root);
  }
  if (pending.empty()) return;
  if (asked) trace::evaluation_asked();
  const trace::Linear linear = trace::linearize_and_keep(pending);
  for (std::size_t leaf = 0; leaf < linear.leaves.size(); ++leaf)
    if (!linear.leaves[leaf])
      trace::fail<ValueError>(site, fmt::format("the value depends on a placeholder, which has a shape but no data{}; explain() and dump_kernels() work on it",
                                                short_place(pending.front()->where)));
  Setup now = setup();
  std::vector<device::BufferPtr> buffers;
  std::vector<std::int64_t> numbers;
  const auto compute = [&] {
    return without_fusion_if_it_fails(now.target, [&](const Target&) {
      Found made = plan_for(linear.graph, now);
      made.planned->program.evaluate(made.symbols, numbers);
      run(*made.planned, numbers, linear, pending, now, buffers);
      return made;
    });
  };
  const Found found = [&] {
    try {
      return compute();
    } catch (const DeviceError& error) {
      trace::fail<DeviceError>(site, error.what());
    }
  }();
  const auto& planned = found.planned;

  const auto& plan = planned->plan;
  const auto history = std::make_shared<History>(planned, found.reused, now.target.device->name());
  for (std::size_t k = 0; k < pending.size(); ++k) {
    const int output = plan.graph.outputs[k];
    const auto alias = plan.aliases.find(output);
    const int base = alias == plan.aliases.end() ? output : alias->second;
    trace::StoragePtr storage;
    if (plan.graph.nodes[base].op == trace::Op::data) {
      storage = linear.leaves[plan.graph.nodes[base].leaf];
    } else {
      storage = std::make_shared<trace::Storage>();
      storage->bytes = planned->bytes_of(base, numbers);
      storage->host = now.target.device->host_memory(buffers[base]);
      if (!storage->host) storage->device = std::make_shared<DeviceContents>(DeviceContents{now.target.device, buffers[base]});
    }
    pending[k]->materialize(std::move(storage), history);
  }
}

const void* Engine::host_data(const trace::RecordedPtr& node, const trace::Site& site) {
  const ForkGate::Inside inside(gate);
  evaluate({node}, site);
  try {
    return host_memory_of(*node->result()).get();
  } catch (const DeviceError& error) {
    trace::fail<DeviceError>(site, error.what());
  }
}

std::vector<Told> Engine::histories_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target) {
  const ForkGate::Inside inside(gate);
  std::vector<trace::RecordedPtr> pending;
  std::vector<std::shared_ptr<History>> known;
  for (const auto& root : roots) {
    if (!root) throw ValueError("explain: the tensor is empty (default-constructed); assign it first");
    if (!root->result()) pending.push_back(root);
    auto history = std::static_pointer_cast<History>(root->history());
    if (history && std::find(known.begin(), known.end(), history) == known.end()) known.push_back(std::move(history));
  }
  if (!target.empty() && (!known.empty() || pending.empty()))
    throw ValueError("explain: the tensor is evaluated already, nothing can be planned for another target; record it again, over placeholders if there "
                     "is no data");
  std::vector<Told> told;
  for (const auto& history : known) told.push_back({*history, history->planned.lock()});
  if (pending.empty()) {
    if (told.empty()) {  // nobody computed them: they came with their elements
      told.emplace_back();
      told.back().history.device = options().device;
    }
    return told;
  }
  Setup now;
  if (target.empty()) {
    now = setup();
  } else {
    now.options = options();
    now.target.limits = fuse::limits_of(std::string(target));
    now.target.limits.fuse = now.options.fuse;
    now.target.interpret = now.target.kind().interprets && now.options.backend == "interpreter";
  }
  const trace::Linear linear = trace::linearize(pending);
  const Found found = without_fusion_if_it_fails(now.target, [&](const Target&) { return plan_for(linear.graph, now); });
  const auto& planned = found.planned;
  told.push_back({History(planned, found.reused, now.target.device ? now.target.device->name() : now.target.limits.target), planned});
  return told;
}

Counters Engine::counters() {
  Counters result;
  result.kernels_launched = totals_.launched;
  result.library_calls = totals_.library_calls;
  result.kernels_compiled = totals_.compiled;
  result.kernels_from_disk = totals_.from_disk;
  result.kernels_from_memory = totals_.from_memory;
  result.plans_made = totals_.plans_made;
  result.plans_reused = totals_.plans_reused;
  result.guards_checked = totals_.guards_checked;
  result.sources_generated = totals_.generated;
  result.fallbacks = totals_.fallbacks;
  const auto host = trace::host_use();
  result.bytes_now = host.now;
  result.bytes_peak = host.peak;
  for (const auto& device : devices()) {
    const auto use = device->memory();
    result.bytes_now += use.now;
    result.bytes_peak += use.peak;
  }
  return result;
}

void Engine::reset_peak() {
  trace::reset_host_peak();
  for (const auto& device : devices()) device->reset_peak();
}

void Engine::synchronize() {
  kernels_.wait();
  for (const auto& device : devices()) device->synchronize();
}

void Engine::trim() {
  for (const auto& device : devices()) device->trim();
}

}  // namespace sinter::engine
