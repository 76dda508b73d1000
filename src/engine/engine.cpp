#include "engine/engine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/guarded_memory.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/memory_limit.hpp"
#include "base/once.hpp"
#include "base/threads.hpp"
#include "base/timeline.hpp"
#include "engine/boundary.hpp"
#include "engine/checks.hpp"
#include "engine/fork_gate.hpp"
#include "engine/measured.hpp"
#include "engine/options.hpp"
#include "engine/profile.hpp"
#include "engine/reach.hpp"
#include "engine/retry.hpp"
#include "ranks/partition.hpp"
#include "sinter/adopt.hpp"
#include "sinter/control.hpp"
#include "sinter/counted.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/errors.hpp"
#include "trace/host_access.hpp"
#include "trace/loops.hpp"

namespace sinter::engine {
namespace {

// Storage::device points to this.
struct DeviceContents {
  runtime::DevicePtr device;
  runtime::BufferPtr buffer;
};

std::string short_place(const Location& where) { return *where.file ? fmt::format(" (recorded at {})", trace::to_string(where)) : std::string(); }

// Names the result that a step writes, for the message when there is no memory for it. The lines are those of the roots, because the plan may have been made
// for the same formula at other lines.
std::string result_name(const Planned& planned, int value, const std::vector<trace::RecordedPtr>& roots) {
  const PlannedValue& written = planned.value(value);
  const std::string what = fmt::format("{} {}", name(written.dtype), to_string(written.shape));
  for (std::size_t k = 0; k < roots.size(); ++k)
    if (value == planned.outputs[k]) return fmt::format("the result of {}, {}{}", roots[k]->called, what, short_place(roots[k]->where));
  return fmt::format("the intermediate result of {} for {}, {}{}", name(written.op), roots.front()->called, what, short_place(roots.front()->where));
}

// Estimates the memory of a plan. Its sources take most of it.
std::size_t cost_of(const Planned& planned) {
  std::size_t cost = planned.values.size() * 256;
  for (const auto& step : planned.steps) cost += 4096 + step.made.source().text.size();
  return cost;
}

constinit ForkGate gate;
constinit std::atomic<Engine*> the_engine{nullptr};  // never destroyed, because static tensors may still be alive when the process ends

}  // namespace

ForkGate& Engine::fork_gate() { return gate; }

// The engine is made inside the gate. Otherwise, after a fork at this moment, the child would wait forever for an engine that no thread makes.
Engine& Engine::get() {
  if (Engine* made = the_engine.load(std::memory_order_acquire)) return *made;
  const ForkGate::Inside inside(gate);
  static Once once;
  once([] { the_engine.store(new Engine, std::memory_order_release); });
  return *the_engine.load(std::memory_order_acquire);
}

// A device that the environment names is opened at its first use, because a process that never evaluates needs no device.
Engine::Engine() : kernels_(totals_, gate) {
  apply(options_from_environment());
  timeline::attach_tools();
}

// A fork waits until evaluations end and then holds every lock, so that the child finds consistent data.
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
          ++process_generation;
          timeline::after_fork_in_child();
          if (Engine* engine = the_engine.load()) engine->after_fork(true);
          gate.open_in_child();
        });
  }
};
const Engine::AtFork Engine::at_fork;  // registered from the start: a fork may happen during the first evaluation

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
  const runtime::DevicePtr chosen = device_of(options);
  apply(options);
  // A lost device is removed, so that work on other devices does not fail because of it.
  std::lock_guard lock(mutex_);
  std::erase_if(devices_, [&](const auto& entry) { return entry.second != chosen && entry.second->lost(); });
}

Options Engine::options() const {
  std::lock_guard lock(mutex_);
  return options_;
}

void Engine::apply(const Options& options) {
  apply_log_level(options.log);
  set_memory_limit(memory_limit_of(options));
  cache::Settings settings = cache::default_settings();
  if (!options.cache_dir.empty()) settings.directory = options.cache_dir;
  settings.max_bytes = cache::parse_size(options.cache_size);
  if (settings.max_bytes == 0) settings.directory.clear();
  kernels_.configure(settings, options.dump);
  std::lock_guard lock(mutex_);
  if (version_ > 0 && log().writes(spdlog::level::debug))  // the first settings change nothing
    for (const std::string& change : changes(options_, options)) log().debug("a setting changes: {}", change);
  options_ = options;
  ++version_;
}

runtime::DevicePtr Engine::device_of(const Options& options, int rank) {
  Place place = place_of(options);
  if (rank > 0 && place.kind->count && options.device == place.kind->name) place.ordinal = rank % std::max(place.kind->count(), 1);
  std::lock_guard lock(mutex_);
  const std::pair key{place.kind->name, place.ordinal};
  auto known = devices_.find(key);
  if (known == devices_.end()) known = devices_.emplace(key, place.kind->open(place.ordinal)).first;
  known->second->set_threads(options.threads);
  return known->second;
}

std::vector<runtime::DevicePtr> Engine::devices() {
  std::lock_guard lock(mutex_);
  std::vector<runtime::DevicePtr> result;
  for (const auto& [place, device] : devices_) result.push_back(device);
  return result;
}

Engine::Setup::Setup(std::uint64_t of, const Options& options, Target where)
    : version(of),
      how{{options.fast_math, jit::ScheduleOverride::parse(options.schedule)}, options.tuned, options.keep_plans},
      schedule(options.schedule),
      target(std::move(where)),
      key(key_for(target)),
      device(target.device ? target.device->name() : target.limits.target) {}

Words Engine::Setup::key_for(const Target& other) const {
  Words words;
  words.add(other.limits.target);
  words.add(other.device ? other.device->name() : "offline");
  words.add(schedule);
  words.add(static_cast<std::uint64_t>(other.interpret) | static_cast<std::uint64_t>(other.limits.fuse) << 1 |
            static_cast<std::uint64_t>(how.lowering.fast_math) << 2 | static_cast<std::uint64_t>(other.limits.products) << 3 |
            static_cast<std::uint64_t>(other.limits.product_epilogues) << 4 | static_cast<std::uint64_t>(other.limits.overlap) << 5);
  return words;
}

const Engine::Setup& Engine::setup() {
  Setup& mine = per_thread<Setup>();
  if (mine.version == version_.load(std::memory_order_acquire)) return mine;
  Options options;
  std::uint64_t version;
  {
    std::lock_guard lock(mutex_);
    options = options_;
    version = version_;
  }
  Target target;
  target.device = device_of(options, ranks::rank_of_thread());
  target.limits = target.device->limits();
  target.limits.fuse = options.fuse;
  target.limits = fuse::without_passes(target.limits, options.without);
  target.interpret = target.kind().interprets && options.backend == "interpreter";
  target.wait = options.wait;
  return mine = Setup(version, options, std::move(target));
}

Engine::Known Engine::find_plan(const PlanKeyView& key, const std::vector<std::int64_t>& symbols) {
  std::lock_guard lock(mutex_);
  auto* const family = plans_.find(key);
  if (!family) return {};
  for (auto member = family->members.rbegin(); member != family->members.rend(); ++member) {
    ++totals_.guards_checked;
    if (member->met != symbols) {
      if (!member->known.planned->holds(symbols)) continue;
      member->met = symbols;
    }
    ++totals_.plans_reused;
    return member->known;
  }
  return {};
}

fuse::Evaluate Engine::evaluate_now() {
  return [this](const std::vector<trace::RecordedPtr>& nodes) { evaluate(nodes, {nodes.front()->called, nodes.front()->where}, false); };
}

fuse::Rewritten Engine::finish_traversal(trace::Traversal& traversal, std::vector<trace::RecordedPtr>& roots, bool keep, const Target& target) {
  const bool changes = fuse::may_be_rewritten(traversal.pending(), target.limits);
  traversal.finish(roots, keep);
  for (const trace::Recorded* node : traversal.computed_again()) report_computed_again(*node);
  if (!changes) return {};
  traversal.release();
  fuse::Rewritten made = fuse::rewritten(roots, target.limits, {false, evaluate_now(), {}});
  traversal.walk(made.roots);
  traversal.finish(made.roots, false);
  return made;
}

Engine::Known Engine::plan_for(trace::Traversal& traversal, std::vector<trace::PassCount> passes, std::size_t outputs, const Target& target, const Setup& now) {
  const bool usual = &target == &now.target;
  const Words other = usual ? Words() : now.key_for(target);
  const PlanKeyView key{usual ? now.key.all() : other.all(), traversal.key(), static_cast<std::uint64_t>(now.how.tuned ? kernels_.tunings() : -1)};
  if (Known known = find_plan(key, traversal.symbols()); known.planned) {
    const History& usual_one = *known.history;
    if (usual_one.sizes != traversal.symbols() || !traversal.was_recorded_at(*usual_one.sites)) known.history = known.others->at(traversal, usual_one);
    traversal.release();
    return known;
  }
  trace::Graph graph = traversal.graph();
  graph.passes = std::move(passes);
  const auto sites = std::make_shared<const Sites>(traversal.sites());
  traversal.release();
  load_plans(
      key, {traversal.leaves().size(), traversal.literals().size(), traversal.gathers().size(), traversal.calls().size(), traversal.symbols().size(), outputs},
      target, now, sites);
  Known known = find_plan(key, traversal.symbols());
  if (!known.planned) {
    if (log().writes(spdlog::level::debug))
      log().debug("a plan is made for {}{}: {}", sites->back().called, short_place(sites->back().where), why_planned(key, traversal.symbols()));
    known = make_plan_for(key, graph, target, now, sites);
  }
  known.history = std::make_shared<History>(known.planned, false, now.device, traversal.symbols(), sites);
  return known;
}

std::shared_ptr<History> Engine::Others::at(const trace::Traversal& traversal, const History& like) {
  const std::lock_guard lock(mutex_);
  auto found = std::find_if(histories_.begin(), histories_.end(),
                            [&](const auto& history) { return history->sizes == traversal.symbols() && traversal.was_recorded_at(*history->sites); });
  if (found == histories_.end()) {
    if (histories_.size() == kRemembered) histories_.pop_back();
    found = histories_.insert(histories_.end(), std::make_shared<History>(like));
    (*found)->sizes = traversal.symbols();
    if (!traversal.was_recorded_at(*like.sites)) (*found)->sites = std::make_shared<const Sites>(traversal.sites());
  }
  std::rotate(histories_.begin(), found, found + 1);
  return histories_.front();
}

std::string Engine::why_planned(const PlanKeyView& key, const std::vector<std::int64_t>& symbols) {
  const std::lock_guard lock(mutex_);
  const auto* const family = plans_.find(key);
  if (!family) return "no plan of this structure with these settings was in memory or on disk";
  const Planned& last = *family->members.back().known.planned;
  std::vector<std::string> changed;
  for (std::size_t k = 0; k < symbols.size(); ++k)
    if (symbols[k] != last.sizes[k]) changed.push_back(fmt::format("{} was {} and is {}", last.symbols[k], last.sizes[k], symbols[k]));
  return fmt::format("{} not valid for these sizes; the last one requires {}; {}",
                     counted(family->members.size(), "plan of this structure is", "plans of this structure are"), last.program.unmet(symbols, last.symbols),
                     fmt::join(changed, ", "));
}

void Engine::load_plans(const PlanKeyView& key, const PlanTerms& terms, const Target& target, const Setup& now, const History::Sites& sites) {
  {
    std::lock_guard lock(mutex_);
    if (plans_.find(key)) return;
  }
  timeline::Span span("plan", "plans from disk");
  const auto plans = engine::load_plans({key.structure, &target, &now.how, kernels_.tuning_mark()}, terms, kernels_);
  totals_.plans_from_disk += plans.size();
  if (plans.empty()) return;
  log().debug("{} for {}{} read from disk", counted(plans.size(), "plan"), sites->back().called, short_place(sites->back().where));
  add_plans(key, plans, plans.size(), now, sites);
}

Engine::Known Engine::make_plan_for(const PlanKeyView& key, const trace::Graph& graph, const Target& target, const Setup& now, const History::Sites& sites) {
  timeline::Span span("plan");
  const auto planned = make_plan(graph, target, now.how, kernels_);
  if (span) {
    span.add("nodes", static_cast<double>(graph.nodes.size()));
    span.add("steps", static_cast<double>(planned->steps.size()));
  }
  ++totals_.plans_made;
  std::size_t ordinal = 0;
  {
    std::lock_guard lock(mutex_);
    if (const auto* family = plans_.find(key)) ordinal = family->on_disk;
  }
  keep_on_disk({key.structure, &target, &now.how, kernels_.tuning_mark()}, ordinal, planned);
  return add_plans(key, {planned}, ordinal + 1, now, sites);
}

void Engine::keep_on_disk(const StoredPlanKey& key, std::size_t ordinal, const std::shared_ptr<const Planned>& planned) {
  const auto disk = kernels_.disk();
  if (!key.how->keep_plans || ordinal >= kMaxStoredPlans || !disk->disabled_reason().empty()) return;
  kernels_.later([structure = std::vector(key.structure.begin(), key.structure.end()), target = *key.target, how = *key.how, tunings = key.tunings, ordinal,
                  planned, disk] { store_plan({structure, &target, &how, tunings}, ordinal, *planned, *disk); });
}

Engine::Known Engine::add_plans(const PlanKeyView& key, const std::vector<std::shared_ptr<const Planned>>& plans, std::size_t on_disk, const Setup& now,
                                const History::Sites& sites) {
  std::lock_guard lock(mutex_);
  PlanFamily family;
  if (const auto* known = plans_.find(key)) family = *known;
  family.on_disk = on_disk;
  for (const auto& planned : plans) {
    auto history = std::make_shared<History>(planned, true, now.device, planned->sizes, sites);
    family.members.push_back({{planned, std::move(history), std::make_shared<Others>(), std::make_shared<Recurring>()}, {}});
  }
  if (family.members.size() > kMaxFamily) family.members.erase(family.members.begin(), family.members.end() - kMaxFamily);
  Known last = family.members.back().known;
  std::size_t cost = key.structure.size_bytes();
  for (const Member& member : family.members) cost += cost_of(*member.known.planned);
  const std::size_t evicted = plans_.evicted();
  plans_.replace({{key.settings.begin(), key.settings.end()}, {key.structure.begin(), key.structure.end()}, key.tunings}, std::move(family), cost);
  if (const std::size_t more = plans_.evicted() - evicted; more > 0)
    log().debug("the plans of {} are dropped from memory: plans may take {} MiB", counted(more, "structure"), kMaxPlanBytes >> 20);
  return last;
}

// If several threads want the same elements on the same device, each copies them there, and all use the copy that was finished first.
Engine::Elements Engine::elements_of(const StoragePtr& storage, const runtime::DevicePtr& device) {
  std::shared_ptr<DeviceContents> contents;
  std::shared_ptr<void> host;
  {
    std::lock_guard lock(storage->lock);
    if (storage->host && device->reads_host()) return {storage->host.get(), nullptr};  // its address must not change
    contents = std::static_pointer_cast<DeviceContents>(storage->device);
    host = storage->host;
  }
  if (contents && contents->device == device) return {contents->buffer->data(), contents->buffer};
  if (!host) host = host_memory_of(*storage);  // the elements are on another device, and are copied through the host
  if (device->reads_host()) return {host.get(), nullptr};
  auto buffer = device->allocate(std::max<std::size_t>(storage->bytes, 1));
  {
    timeline::Span span("copy", "to the device");
    span.add("bytes", static_cast<double>(storage->bytes));
    device->upload(*buffer, host.get(), storage->bytes);
  }
  std::lock_guard lock(storage->lock);
  if (const auto others = std::static_pointer_cast<DeviceContents>(storage->device); others && others->device == device)
    return {others->buffer->data(), others->buffer};
  storage->device = std::make_shared<DeviceContents>(DeviceContents{device, buffer});
  return {buffer->data(), buffer};
}

std::shared_ptr<void> Engine::host_memory_of(Storage& storage) {
  std::shared_ptr<DeviceContents> contents;
  {
    std::lock_guard lock(storage.lock);
    if (storage.host) return storage.host;
    contents = std::static_pointer_cast<DeviceContents>(storage.device);
  }
  auto memory = allocate_host(storage.bytes);
  timeline::Span span("copy", "to the host");
  span.add("bytes", static_cast<double>(storage.bytes));
  contents->device->download(memory.get(), *contents->buffer, storage.bytes);
  std::lock_guard lock(storage.lock);
  if (!storage.host) storage.host = std::move(memory);  // addresses that callers have must stay valid
  return storage.host;
}

// Runs one step on the host instead of the device: copies the operands to the host and the results back.
class Engine::OnHost {
 public:
  OnHost(runtime::Device& from, Workspace& work) : device(runtime::interpreting_kind().open(0)), from_(from), work_(work) {}
  void* bring(int node) {
    if (copies_[node]) return copies_[node]->data();
    const timeline::Span span("copy", "to the host");
    from_.download(room_for(node), there(node), there(node).bytes());
    return copies_[node]->data();
  }
  /// Returns host memory for a result that the step writes completely.
  void* room_for(int node) { return (copies_[node] = device->allocate(there(node).bytes()))->data(); }
  void take_back(int node) {
    const timeline::Span span("copy", "to the device");
    from_.upload(there(node), copies_.at(node)->data(), there(node).bytes());
  }

  const runtime::DevicePtr device;

 private:
  runtime::Buffer& there(int node) { return *work_.elements[node].buffer; }

  runtime::Device& from_;
  Workspace& work_;
  std::unordered_map<int, runtime::BufferPtr> copies_;
};
template <class AddressOf> std::span<const std::int64_t> Engine::bind(const PlannedStep& step, Workspace& work, AddressOf address_of) {
  const jit::LoopNest& nest = step.nest;
  const auto ints = std::span<const std::int64_t>(work.numbers).subspan(step.numbers, nest.ints.size());
  work.scalars.clear();
  for (int ordinal : step.constants) work.scalars.push_back(work.constants[ordinal]);
  work.pointers.clear();
  const std::int64_t* offset = ints.data() + ints.size();
  for (const auto* accesses : {&nest.inputs, &nest.outputs})
    for (const auto& access : *accesses)
      work.pointers.push_back(static_cast<char*>(address_of(access.buffer)) + *offset++ * static_cast<std::int64_t>(itemsize(access.dtype)));
  return ints;
}

void Engine::launch(const PlannedStep& step, const Target& target, Workspace& work, const runtime::BufferPtr& flags, const jit::Box* part) {
  const auto& device = target.device;
  const jit::LoopNest& nest = step.nest;
  for (int axis = 0; axis < nest.parallel; ++axis)
    if (work.numbers[step.numbers + static_cast<std::size_t>(axis)] == 0) return;  // the result has no elements
  ++totals_.launched;
  if (runtime::Kernel* kernel = kernels_.current(step.made, nest, target)) {
    const auto ints = bind(step, work, [&](int node) { return work.elements[node].data; });
    if (flags) work.pointers.push_back(flags->data());
    if (part) device->launch_part(*kernel, nest, {work.pointers, ints, work.scalars}, *part);
    else device->launch(*kernel, nest, {work.pointers, ints, work.scalars});
    return;
  }
  // The device has no kernel for the step: the host interprets the nest.
  OnHost host(*device, work);
  const auto ints = bind(step, work, [&](int node) { return host.bring(node); });
  std::vector<std::int64_t> raised(2 * nest.checks);
  if (flags) work.pointers.push_back(raised.data());
  jit::LoopNest on_host = nest;
  if (on_host.schedule.is<jit::ContractionForm>()) on_host.schedule.form = jit::ColumnsForm();  // the host's form for the same nest
  const auto kernel = host.device->load(on_host, {});
  host.device->launch(*kernel, on_host, {work.pointers, ints, work.scalars});
  for (const auto& access : nest.outputs) host.take_back(access.buffer);
  if (flags) device->upload(*flags, raised.data(), raised.size() * sizeof raised[0]);
}

void Engine::launch(const Repeated& repeated, Workspace& work) {
  work.pointers.clear();
  for (const auto& [node, offset] : repeated.pointers) work.pointers.push_back(static_cast<char*>(work.elements[static_cast<std::size_t>(node)].data) + offset);
  work.scalars.clear();
  for (const int ordinal : repeated.constants) work.scalars.push_back(work.constants[static_cast<std::size_t>(ordinal)]);
  totals_.launched += repeated.launches;
  ++totals_.replays;
  if (repeated.replay->run(work.pointers, work.scalars)) ++totals_.graph_launches;
}

void Engine::call(const fuse::LibraryCall& call, const PlannedStep& step, const PlannedStep* epilogue, const Target& target, Workspace& work) {
  ++totals_.library_calls;
  try {
    work.call_pointers.clear();
    if (!runs_on_device(step, target)) {
      ++totals_.host_calls;
      OnHost host(*target.device, work);
      for (std::size_t k = 0; k < call.operands.size(); ++k)
        work.call_pointers.push_back(k < fuse::operands_read(call) ? host.bring(call.operands[k].node) : nullptr);
      work.call_pointers.push_back(host.room_for(call.node));
      host.device->call(call, work.call_pointers, nullptr);
      host.take_back(call.node);
      if (epilogue) launch(*epilogue, target, work, nullptr);
      return;
    }
    for (const auto& operand : call.operands) work.call_pointers.push_back(work.elements[operand.node].data);
    work.call_pointers.push_back(work.elements[call.node].data);
    if (!step.call_kernels.empty()) {
      std::vector<runtime::Kernel*> kernels;
      for (const Made& made : step.call_kernels) kernels.push_back(made.kernel.get());
      totals_.launched += target.device->call_by(call, kernels, work.call_pointers);
      return;
    }
    runtime::Kernel* kernel = epilogue ? kernels_.current(epilogue->made, epilogue->nest, target) : nullptr;
    if (!kernel) {
      target.device->call(call, work.call_pointers, nullptr);
      if (epilogue) launch(*epilogue, target, work, nullptr);
      return;
    }
    const auto ints = bind(*epilogue, work, [&](int node) { return work.elements[node].data; });
    ++totals_.launched;
    ++totals_.epilogues;
    // If only the epilogue reads the result, the call stores no more than its pieces.
    if (fuse::pieces_of(call.op) == fuse::Pieces::loose &&
        std::find(epilogue->last_reads.begin(), epilogue->last_reads.end(), call.node) != epilogue->last_reads.end() && epilogue->in_place < 0)
      work.call_pointers.back() = nullptr;
    const runtime::EpilogueKernel with{*kernel, epilogue->nest, {work.pointers, ints, work.scalars}};
    target.device->call(call, work.call_pointers, &with);
  } catch (const runtime::Refused& refused) {
    const trace::CallSite& site = work.calls[static_cast<std::size_t>(call.call)];
    const Shape& shape = call.operands[0].shape;
    std::string which;
    std::int64_t element = refused.element;
    for (std::size_t axis = shape.size() - 2; axis-- > 0; element /= shape[axis])
      which = fmt::format("{}{}", element % shape[axis], which.empty() ? "" : ", " + which);
    trace::fail<LinAlgError>({site.called, site.where},
                             fmt::format("the matrix{} of shape {} {}", which.empty() ? "" : fmt::format(" [{}]", which), to_string(shape), refused.why));
  }
}

namespace {

/// A part of a block of memory. The block is freed with the last of its parts.
class PartOfBuffer final : public runtime::Buffer {
 public:
  PartOfBuffer(runtime::BufferPtr whole, std::size_t offset, std::size_t bytes) : whole_(std::move(whole)), offset_(offset), bytes_(bytes) {}
  void* data() override { return static_cast<char*>(whole_->data()) + offset_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  runtime::BufferPtr whole_;
  std::size_t offset_, bytes_;
};

}  // namespace

void Engine::run(const Executable& executable, const Target& target, Workspace& work) {
  const Planned& planned = *executable.planned;
  const auto& device = target.device;
  work.numbers = executable.numbers;
  const auto allocate = [&](std::size_t bytes, auto&& whose) {
    try {
      return device->allocate(bytes);
    } catch (const MemoryError& error) {
      if (work.roots.empty()) throw;  // a frozen function writes its own message
      throw MemoryError(fmt::format("no room for {}: {}", whose(), error.what()));
    }
  };
  const auto element = [&](int value) -> Elements& { return work.elements[static_cast<std::size_t>(value)]; };
  const bool apart = guarding() != Guard::none;  // each value has guarded memory of its own, from the step that writes it to the last step that reads it
  runtime::BufferPtr arena;
  if (!apart && executable.arena.bytes > 0) {
    arena = allocate(executable.arena.bytes, [&] {
      const auto& places = executable.places;
      const auto largest = std::max_element(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
      return fmt::format("{}{}", result_name(planned, largest->value, work.roots), places.size() == 1 ? "" : ", and " + counted(places.size() - 1, "other"));
    });
    for (const Executable::Place& place : executable.places) {
      Elements& here = element(place.value);
      if (executable.buffers) here.buffer = std::make_shared<PartOfBuffer>(arena, place.offset, std::max<std::size_t>(place.bytes, 1));
      here.data = static_cast<char*>(arena->data()) + place.offset;
    }
  }
  std::size_t block = executable.blocks.size();
  runtime::BufferPtr memory;
  for (const Executable::Result& result : executable.results) {
    if (result.block != block) memory = allocate(executable.blocks[block = result.block], [&] { return result_name(planned, result.value, work.roots); });
    Elements& here = element(result.value);
    here.buffer = result.bytes == executable.blocks[block] ? memory : std::make_shared<PartOfBuffer>(memory, result.offset, result.bytes);
    here.data = here.buffer->data();
  }
  if (!apart)
    for (const auto& [value, with] : executable.shared) element(value) = element(with);
  const auto prepare = [&](const PlannedStep& step) {
    for (const int value : step.writes) {
      if (!apart || element(value).data) continue;
      if (step.in_place >= 0 && !executable.keeps_all) {
        element(value) = element(step.in_place);
        continue;
      }
      element(value).buffer =
          allocate(std::max<std::size_t>(planned.bytes_of(value, work.numbers), 1), [&] { return result_name(planned, value, work.roots); });
      element(value).data = element(value).buffer->data();
    }
  };
  const auto release = [&](std::size_t s) {
    if (!apart || executable.keeps_all) return;
    for (const Executable::Place& place : executable.places)
      if (place.last == s) element(place.value).buffer.reset();
  };

  Profile::Times* const profile = Profile::Times::current();
  const bool measured = profile || timeline::on(), ranged = timeline::ranges();
  std::vector<std::int64_t> figures;
  if (measured) planned.figures.evaluate(executable.symbols, figures);
  const auto timed = [&](std::size_t s, const fuse::LibraryCall* call, const char* part, auto&& run) {
    if (!measured && !ranged) return run();
    if (measured) device->synchronize();
    const RanStep ran{planned, s, call, part, figures, work.sites, device};
    timeline::Span span("kernel", ranged ? title_of(ran).c_str() : "");
    if (!measured) return run();
    if (device->reads_host()) {
      run();
    } else {
      {
        timeline::Span launching("launch");
        launching.count_outside();
        run();
      }
      timeline::Span waiting("wait");
      waiting.count_outside();
      device->synchronize();
    }
    span.stop();
    report_step(span, ran, thread_count(options().threads));
    if (profile) profile->add(ran, span.seconds(), thread_count(options().threads));
  };
  Checks checks(work.gathers, device);
  auto next = executable.repeated.begin();
  for (std::size_t s = 0; s < planned.steps.size(); ++s) {
    if (next != executable.repeated.end() && next->first == s && !measured) {
      for (std::size_t k = s; k < next->last; ++k) prepare(planned.steps[k]);
      const timeline::Span span("launch", ranged ? title_of(planned, s, next->last, work.sites).c_str() : "");
      launch(*next, work);
      for (; s < next->last; ++s) release(s);
      --s;
      ++next;
      continue;
    }
    stop_if_interrupted();
    const PlannedStep& step = planned.steps[s];
    const Core* mine = nullptr;
    for (const Core& core : executable.cores) {
      if (core.step == s) mine = &core;
      if (core.before != s) continue;
      prepare(planned.steps[core.step]);
      timed(core.step, nullptr, "core", [&] { launch(planned.steps[core.step], target, work, nullptr, &core.points); });
    }
    prepare(step);
    if (mine) {
      timed(s, nullptr, "rims", [&] {
        const std::span ints = work.numbers.subspan(step.numbers, step.nest.ints.size());
        for (const jit::Box& rim : jit::outside(jit::all_points(step.nest, ints), mine->points)) launch(step, target, work, nullptr, &rim);
      });
    } else if (step.library) {
      const PlannedStep* epilogue = s + 1 < planned.steps.size() && planned.steps[s + 1].is_epilogue ? &planned.steps[s + 1] : nullptr;
      if (epilogue) prepare(*epilogue);
      timed(s, &executable.library[s], "", [&] { call(executable.library[s], step, epilogue, target, work); });
      if (epilogue) release(s++);
    } else {
      timed(s, nullptr, "", [&] {
        if (step.gathers.empty()) launch(step, target, work, nullptr);
        else checks.launch(step, [&](const runtime::BufferPtr& flags) { launch(step, target, work, flags); });
      });
    }
    release(s);
  }
  checks.verify();
}

namespace {

std::atomic<void* (*)()> call_before;
std::atomic<void (*)(void*)> call_after;
struct Surrounded {
  void (*const after)(void*) = call_after.load(std::memory_order_relaxed);
  void* const token = after ? call_before.load(std::memory_order_relaxed)() : nullptr;
  ~Surrounded() {
    if (after) after(token);
  }
};

}  // namespace

void Engine::surround(Around calls) {
  call_before = calls.before;
  call_after = calls.after;
}

void Engine::evaluate(std::span<const trace::RecordedPtr> wanted, const trace::Site& site, bool asked) {
  Borrowed borrowed;
  Workspace& work = *borrowed;
  for (const auto& root : wanted) {
    if (!root) trace::fail<ValueError>(site, "the tensor is empty (default-constructed); assign it first");
    if (!root->evaluated()) work.roots.push_back(root);
  }
  if (work.roots.empty()) return;
  if (std::any_of(work.roots.begin(), work.roots.end(), [](const auto& root) { return root->spread != nullptr; })) {
    const Surrounded surrounded;  // the ranks wait for each other
    if (asked) trace::evaluation_asked();
    const auto groups = ranks::by_mesh(work.roots);
    std::erase_if(work.roots, [](const auto& root) { return root->spread != nullptr; });
    const std::vector<trace::RecordedPtr> whole = std::move(work.roots);
    evaluate(whole, site, false);
    for (const auto& group : groups) ranks::evaluate_parts(group, [&](const std::vector<trace::RecordedPtr>& parts) { evaluate(parts, site, false); });
    return;
  }
  const Surrounded surrounded;  // called outside of the gate, because a forking thread may hold the lock for which `after` waits, while it waits for all
                                // threads inside the gate
  const ForkGate::Inside inside(gate);
  if (asked) trace::evaluation_asked();
  if (timeline::on()) timeline::report_recorded();
  const Setup& now = setup();
  timeline::Span span("evaluate", site.op);
  if (span && *site.where.file) span.add("line", trace::to_string(site.where));
  std::vector<std::vector<trace::RecordedPtr>> waiting;  // a stack: the last element is evaluated next
  for (;;) {
    if (!evaluate_roots(now, site, work)) {
      waiting.push_back(std::move(work.roots));
      std::move(work.pieces.rbegin(), work.pieces.rend(), std::back_inserter(waiting));
    }
    do {
      if (waiting.empty()) return;
      work.roots = std::move(waiting.back());
      waiting.pop_back();
      std::erase_if(work.roots, [](const trace::RecordedPtr& root) { return root->evaluated(); });
    } while (work.roots.empty());
  }
}

// Returns a storage of what a device wrote. A result without elements has no step and no buffer.
StoragePtr Engine::contents_of(const runtime::DevicePtr& device, const runtime::BufferPtr& buffer, std::size_t bytes) {
  auto storage = std::make_shared<Storage>();
  storage->bytes = bytes;
  storage->host = buffer ? device->host_memory(buffer) : allocate_host(0);
  storage->own = storage->host != nullptr;
  if (!storage->host) storage->device = std::make_shared<DeviceContents>(DeviceContents{device, buffer});
  return storage;
}

bool Engine::evaluate_roots(const Setup& now, const trace::Site& site, Workspace& work) {
  const std::size_t count = work.roots.size();
  const Known known = [&] {
    try {
      return with_less_if_it_fails(now.target, [&](const Target& target) {
        work.roots.resize(count);
        return evaluate_with(target, now, site, work);
      });
    } catch (const DeviceError& error) {
      trace::fail_on_device(site, error, error.what());
    } catch (const std::bad_alloc&) {
      trace::fail<MemoryError>(site, "the host has no memory left for the intermediate values of this evaluation");
    }
  }();
  if (!known.planned) return false;

  const Planned& planned = *known.planned;
  for (std::size_t k = 0; k < work.roots.size(); ++k) {
    const int base = planned.outputs[k];
    StoragePtr storage;
    if (planned.value(base).is_leaf()) {
      storage = work.traversal.leaves()[static_cast<std::size_t>(planned.value(base).leaf)];
    } else {
      const auto& buffer = work.elements[base].buffer;
      storage = contents_of(now.target.device, buffer, buffer ? planned.bytes_of(base, work.numbers) : 0);
    }
    work.roots[k]->materialize(std::move(storage), known.history);
  }
  return true;
}

// Adds intermediate values that have to be stored to the roots. Returns no plan if pieces have to be evaluated before the roots.
Engine::Known Engine::evaluate_with(const Target& target, const Setup& now, const trace::Site& site, Workspace& work) {
  trace::Traversal& traversal = work.traversal;
  timeline::Span key("key");
  traversal.walk(work.roots);
  for (const auto& leaf : traversal.leaves())
    if (!leaf)
      trace::fail<ValueError>(site, fmt::format("the value depends on a placeholder, which has a shape but no data{}; explain() and dump_kernels() work on it",
                                                short_place(work.roots.front()->where)));
  constexpr std::size_t kShort = 24;  // with so few operations there is no long chain
  // With ranks, each place has one plan, which depends only on the recording, because every place must run the same exchanges, each once.
  const bool of_place = ranks::Exchanges::are_running();
  if (traversal.pending().size() > kShort && !of_place) {
    const trace::Reach reach = trace::reach_of(traversal.pending());
    if (reach.is_long()) {
      work.pieces = trace::find_loop(traversal.pending(), reach).pieces;
      if (!work.pieces.empty()) {
        traversal.release();
        return {};
      }
    }
  }
  const fuse::Rewritten made = finish_traversal(traversal, work.roots, !of_place, target);
  if (key) timeline::report_recorded();  // the passes have recorded operations
  key.stop();
  Known known = plan_for(traversal, made.counts, work.roots.size(), target, now);
  Recurring::Check check;
  if (known.planned->loaded)
    check = [&](Executable& executable, Recurring::Change change) {
      ReachTerms terms;
      for (const auto& leaf : traversal.leaves()) terms.leaf_bytes.push_back(static_cast<std::int64_t>(leaf->bytes));
      if (change == Recurring::Change::offsets) return check_offsets(executable, terms.leaf_bytes);
      for (const auto& root : work.roots) {
        terms.dtypes.push_back(root->dtype);
        terms.shapes.push_back(root->shape);
      }
      executable.reached = check_reach(executable, terms);
    };
  known.executable = known.recurring->at(known.planned, traversal.symbols(), target, kernels_, check);
  work.sites = known.history->sites.get();
  run_recorded(*known.executable, target, work);
  if (timeline::on()) count_memory();
  return known;
}

void Engine::run_recorded(const Executable& executable, const Target& target, Workspace& work) {
  const Planned& planned = *executable.planned;
  const trace::Traversal& traversal = work.traversal;
  work.constants.assign(traversal.literals().begin(), traversal.literals().end());
  for (const auto& constant : planned.made) work.constants.push_back(constant.bits());
  work.gathers = traversal.gathers();
  work.calls = traversal.calls();
  work.elements.clear();
  work.elements.resize(planned.values.size());
  for (const int value : executable.data)
    work.elements[static_cast<std::size_t>(value)] = elements_of(traversal.leaves()[static_cast<std::size_t>(planned.value(value).leaf)], target.device);
  run(executable, target, work);
}

const trace::RecordedPtr& Engine::here(const trace::RecordedPtr& node, const trace::Site& site) {
  if (node->spread) {
    const trace::RecordedPtr& whole = ranks::whole_of(node);
    if (!whole->evaluated()) evaluate({&whole, 1}, site);
    return whole->spread->parts.front();
  }
  if (!node->evaluated()) evaluate({&node, 1}, site);
  return node;
}

const void* Engine::host_data(const trace::RecordedPtr& wanted, const trace::Site& site) {
  const trace::RecordedPtr& node = here(wanted, site);
  const ForkGate::Inside inside(gate);
  try {
    return host_memory_of(*node->storage).get();
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, error.what());
  }
}

namespace {

class BufferOfOthers final : public runtime::Buffer {
 public:
  BufferOfOthers(runtime::DevicePtr device, void* data, std::size_t bytes, std::shared_ptr<void> owner)
      : device_(std::move(device)), data_(data), bytes_(bytes), owner_(std::move(owner)) {}
  // A kernel that was launched may still read the memory.
  ~BufferOfOthers() override {
    try {
      device_->synchronize();
    } catch (const Error& error) {
      log().warn("{}", error.what());
    }
  }
  BufferOfOthers(const BufferOfOthers&) = delete;
  BufferOfOthers& operator=(const BufferOfOthers&) = delete;
  void* data() override { return data_; }
  std::size_t bytes() const override { return bytes_; }

 private:
  runtime::DevicePtr device_;
  void* data_;
  std::size_t bytes_;
  std::shared_ptr<void> owner_;
};

}  // namespace

std::shared_ptr<void> contents_of_others(const runtime::DevicePtr& device, void* data, std::size_t bytes, std::shared_ptr<void> owner) {
  return std::make_shared<DeviceContents>(DeviceContents{device, std::make_shared<BufferOfOthers>(device, data, bytes, std::move(owner))});
}

runtime::DevicePtr Engine::device_at(std::string_view kind, int ordinal, const trace::Site& site) {
  const ForkGate::Inside inside(gate);
  Options there = options();
  there.device = fmt::format("{}:{}", kind, ordinal);
  try {
    return device_of(there);
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, error.what());
  }
}

Residence Engine::residence(const trace::RecordedPtr& wanted, bool copy, const trace::Site& site) {
  const trace::RecordedPtr& node = here(wanted, site);
  const ForkGate::Inside inside(gate);
  Storage& storage = *node->storage;
  try {
    const runtime::DevicePtr& device = setup().target.device;
    std::shared_ptr<DeviceContents> contents;
    {
      const std::lock_guard lock(storage.lock);
      contents = std::static_pointer_cast<DeviceContents>(storage.device);
    }
    const runtime::Kind& kind = runtime::kind_of(device->limits());
    if (contents && contents->device == device && kind.exchanges) {
      runtime::BufferPtr buffer = contents->buffer;
      if (copy) {
        buffer = device->allocate(std::max<std::size_t>(storage.bytes, 1));
        device->copy(*buffer, *contents->buffer, storage.bytes);
      }
      device->synchronize();
      const std::string name = device->name();
      const auto colon = name.find(':');
      return {kind.name, colon == std::string::npos ? 0 : std::stoi(name.substr(colon + 1)), buffer->data(), buffer};
    }
    std::shared_ptr<void> memory = host_memory_of(storage);
    if (copy) {
      const auto other = allocate_host(storage.bytes);
      if (storage.bytes > 0) std::memcpy(other.get(), memory.get(), storage.bytes);
      memory = other;
    }
    return {"cpu", 0, memory.get(), memory};
  } catch (const DeviceError& error) {
    trace::fail_on_device(site, error, error.what());
  }
}

// Returns the settings for planning; the target's device need not be present. An empty target is the current device.
Engine::Setup Engine::setup_for(std::string_view target) {
  if (target.empty()) return setup();
  const Options set = options();
  Target where;
  where.limits = fuse::limits_of(std::string(target));
  where.limits.fuse = set.fuse;
  where.interpret = where.kind().interprets && set.backend == "interpreter";
  // If the target is this host, its device and its tuned schedules are used.
  if (const Target& here = setup().target; here.device && here.device->reads_host() && here.limits.target == where.limits.target) where = here;
  return Setup(0, set, std::move(where));
}

std::vector<Explained> Engine::histories_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target) {
  const ForkGate::Inside inside(gate);
  std::vector<trace::RecordedPtr> pending;
  std::vector<std::shared_ptr<History>> known;
  for (const auto& root : roots) {
    if (!root) throw ValueError("explain: the tensor is empty (default-constructed); assign it first");
    if (!root->evaluated()) pending.push_back(root);
    auto history = std::static_pointer_cast<History>(root->history());
    if (history && std::find(known.begin(), known.end(), history) == known.end()) known.push_back(std::move(history));
  }
  if (!target.empty() && (!known.empty() || pending.empty()))
    throw ValueError(
        "explain: the tensor is evaluated already, so nothing can be planned for another target; record it again, over placeholders if there "
        "is no data");
  if (std::any_of(pending.begin(), pending.end(), [](const auto& root) { return root->spread != nullptr; })) {
    std::vector<trace::RecordedPtr> parts;
    for (const auto& group : ranks::by_mesh(pending)) {
      const ranks::Partition partition(ranks::Recording(group), ranks::own_place(group.front()));
      std::copy_if(partition.roots().begin(), partition.roots().end(), std::back_inserter(parts), [](const auto& part) { return !part->evaluated(); });
    }
    std::erase_if(pending, [](const auto& root) { return root->spread != nullptr; });
    pending.insert(pending.end(), parts.begin(), parts.end());
  }
  std::vector<Explained> explained;
  for (const auto& history : known) explained.emplace_back(*history, history->planned.lock());
  if (pending.empty()) {
    if (explained.empty()) {  // the tensors were made from existing elements
      explained.emplace_back();
      explained.back().history.device = options().device;
    }
    return explained;
  }
  const Setup now = setup_for(target);
  const Known found = with_less_if_it_fails(now.target, [&](const Target& on) {
    trace::Traversal traversal;
    traversal.walk(pending);
    const fuse::Rewritten made = finish_traversal(traversal, pending, false, on);
    return plan_for(traversal, made.counts, pending.size(), on, now);
  });
  explained.emplace_back(*found.history, found.planned);
  return explained;
}

std::string Engine::boundary_of(const std::vector<trace::RecordedPtr>& pair, std::vector<trace::RecordedPtr> wanted, const ExplainOptions& how) {
  const ForkGate::Inside inside(gate);
  for (const auto& list : {pair, wanted})
    for (const auto& root : list)
      if (!root) throw ValueError("explain_boundary: a tensor is empty (default-constructed); assign it first");
  for (const auto& node : pair)
    if (node->evaluated() && node->history())
      throw ValueError(
          fmt::format("explain_boundary: the result of {} is evaluated already, so an evaluation ended there{}; record both again and do not "
                      "evaluate between them",
                      node->called, short_place(node->where)));
  std::erase_if(wanted, [](const auto& root) { return root->evaluated(); });
  const Setup now = setup_for(how.target);
  // If one of the pair is an operand of the other, only the other one becomes a root.
  const auto needs = [](const trace::RecordedPtr& root, const trace::RecordedPtr& other) {
    const std::vector<trace::RecordedPtr> roots{root};  // the traversal refers to it
    trace::Traversal traversal;
    traversal.walk(roots);
    return traversal.number_of(*other) >= 0;
  };
  for (const int k : {0, 1})
    if (!std::any_of(wanted.begin(), wanted.end(), [&](const auto& root) { return needs(root, pair[k]); }) && (k == 1 || !needs(pair[1], pair[0])))
      wanted.push_back(pair[k]);
  int a = -1, b = -1;
  const Known found = with_less_if_it_fails(now.target, [&](const Target& on) {
    trace::Traversal traversal;
    std::vector<trace::RecordedPtr> roots = wanted;
    traversal.walk(roots);
    const auto find = [&](const std::vector<trace::RecordedPtr>& nodes) { a = traversal.number_of(*nodes[0]), b = traversal.number_of(*nodes[1]); };
    find(pair);
    if (!fuse::may_be_rewritten(traversal.pending(), on.limits)) {
      traversal.finish(roots, false);
      return plan_for(traversal, {}, roots.size(), on, now);
    }
    traversal.release();
    fuse::Rewritten made = fuse::rewritten(roots, on.limits, {false, evaluate_now(), pair});
    traversal.walk(made.roots);
    find(made.followed);
    if (a < 0 || b < 0) {  // a pass has merged one of the two into another operation, so the recording is planned without passes
      traversal.release();
      made = {roots, {}, pair};
      traversal.walk(made.roots);
      find(pair);
    }
    traversal.finish(made.roots, false);
    return plan_for(traversal, made.counts, roots.size(), on, now);
  });
  return explain_boundary(Explained(*found.history, found.planned), a, b, how);
}

void Engine::evaluate_fused(const std::vector<trace::RecordedPtr>& roots, const trace::Site& site) {
  std::vector<trace::RecordedPtr> pending;
  for (const auto& root : roots) {
    if (!root) trace::fail<ValueError>(site, "the tensor is empty (default-constructed); assign it first");
    if (!root->evaluated()) pending.push_back(root);
  }
  if (!pending.empty() && options().fuse)
    for (const Explained& explained : histories_of(pending, {}))
      if (explained.planned)
        if (const std::vector<std::string> reasons = boundaries(explained); !reasons.empty())
          throw FusionError(fmt::format("{}\n  {}", trace::message(site, "the formula is not one kernel"), fmt::join(reasons, "\n  ")));
  evaluate(roots, site);
}

Counters Engine::counters() {
  Counters result;
  result.kernels_launched = totals_.launched;
  result.library_calls = totals_.library_calls;
  result.host_calls = totals_.host_calls;
  result.epilogues = totals_.epilogues;
  result.replays = totals_.replays;
  result.graph_launches = totals_.graph_launches;
  result.kernels_compiled = totals_.compiled;
  result.kernels_from_disk = totals_.from_disk;
  result.kernels_from_memory = totals_.from_memory;
  result.plans_made = totals_.plans_made;
  result.plans_from_disk = totals_.plans_from_disk;
  result.plans_reused = totals_.plans_reused;
  result.guards_checked = totals_.guards_checked;
  result.steps_planned = totals_.steps_planned;
  result.steps_made = totals_.steps_made;
  result.sources_generated = totals_.generated;
  result.fallbacks = totals_.fallbacks;
  const auto host = host_use();
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
  reset_host_peak();
  for (const auto& device : devices()) device->reset_peak();
}

void Engine::count_memory() {
  std::size_t bytes = host_use().now;
  for (const auto& device : devices()) bytes += device->memory().now;
  timeline::count("bytes in use", static_cast<double>(bytes));
}

void Engine::synchronize() {
  const timeline::Span span("wait", "synchronize");
  kernels_.wait();
  for (const auto& device : devices()) device->synchronize();
}

void Engine::trim() {
  for (const auto& device : devices()) device->trim();
}

}  // namespace sinter::engine
