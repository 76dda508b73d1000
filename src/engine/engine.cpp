#include "engine/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "device/cuda/cuda_device.hpp"
#include "device/host/host_device.hpp"
#include "device/host/matmul.hpp"
#include "engine/checks.hpp"
#include "engine/options.hpp"
#include "sinter/errors.hpp"
#include "trace/host_access.hpp"
#include "trace/log.hpp"

namespace sinter::engine {
namespace {

constexpr std::size_t kMaxPlans = 1024;

// What Storage::device points to.
struct DeviceContents {
  device::DevicePtr device;
  device::BufferPtr buffer;
};

std::string short_place(const Location& where) {
  return *where.file ? fmt::format(" (recorded at {}:{})", where.file, where.line) : std::string();
}

// The table's row of the architecture (or of the nearest one before it), with what this very GPU says of itself.
fuse::Limits limits_of_gpu(const device::CudaInfo& info) {
  fuse::Limits limits = fuse::cuda_limits(fuse::nearest_known_sm(info.sm));
  limits.target = fmt::format("sm_{}", info.sm);
  limits.sm = info.sm;
  if (info.sm_count > 0) limits.units = info.sm_count;
  if (info.shared_bytes > 0) {
    limits.shared_bytes = info.shared_bytes;
    limits.row_bytes = info.shared_bytes / 2;
  }
  // Kernels may have 32,764 bytes of parameters from CUDA 12.1 on (CUDA C++ Programming Guide), 4,096 before.
  if (info.driver_version >= 12010 && info.sm >= 70) limits.parameter_bytes = 32764;
  return limits;
}

}  // namespace

Engine& Engine::get() {
  static Engine* engine = new Engine;  // never destroyed: static tensors may outlive any order of destruction
  return *engine;
}

// A device that the environment names is opened when it is first needed: a process that never evaluates needs none.
Engine::Engine() : kernels_(totals_) { apply(options_from_environment()); }

void Engine::configure(const Options& options) {
  check(options);
  device_of(options);
  apply(options);
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
  const int ordinal = cuda_ordinal(options);
  const std::string key = ordinal < 0 ? fmt::format("cpu/{}", options.threads) : fmt::format("cuda:{}", ordinal);
  std::lock_guard lock(mutex_);
  auto& device = devices_[key];
  if (!device) device = ordinal < 0 ? device::open_host(options.threads) : device::open_cuda(ordinal);
  return device;
}

Engine::Setup Engine::setup() {
  Setup setup{options(), {}};
  setup.target.device = device_of(setup.options);
  if (cuda_ordinal(setup.options) >= 0) {
    setup.target.limits = limits_of_gpu(static_cast<device::CudaDevice&>(*setup.target.device).info());
  } else {
    setup.target.limits = fuse::cpu_limits();
    setup.target.interpret = setup.options.backend == "interpreter";
  }
  setup.target.limits.fuse = setup.options.fuse;
  return setup;
}

std::pair<std::shared_ptr<const Planned>, bool> Engine::plan_for(const trace::Graph& graph, const Setup& setup) {
  const Target& target = setup.target;
  const std::string key =
      fmt::format("{}|{}|{}|{}|{}|", target.limits.target, target.interpret, target.limits.fuse, setup.options.fast_math,
                  target.device ? target.device->name() : "offline") +
      trace::structure_key(graph);
  {
    std::lock_guard lock(mutex_);
    if (auto found = plans_.find(key); found != plans_.end()) {
      ++totals_.plans_reused;
      return {found->second, true};
    }
  }
  auto planned = make_plan(graph, target, setup.options.fast_math, kernels_);
  ++totals_.plans_made;
  std::lock_guard lock(mutex_);
  if (plans_.emplace(key, planned).second) {
    plan_order_.push_back(key);
    if (plan_order_.size() > kMaxPlans) {  // sizes that change at every step must not fill the memory
      for (std::size_t k = 0; k < kMaxPlans / 4; ++k) plans_.erase(plan_order_[k]);
      plan_order_.erase(plan_order_.begin(), plan_order_.begin() + kMaxPlans / 4);
    }
  }
  return {planned, false};
}

device::BufferPtr Engine::buffer_of(const trace::StoragePtr& storage, const device::DevicePtr& device) {
  const bool host = device->name() == "cpu";
  std::lock_guard lock(storage_mutex_);
  if (auto contents = std::static_pointer_cast<DeviceContents>(storage->device)) {
    if (contents->device == device) return contents->buffer;
    if (!storage->host) {  // on another device: through the host
      storage->host = trace::allocate_host(storage->bytes);
      contents->device->download(storage->host.get(), *contents->buffer, storage->bytes);
    }
  }
  if (host) return device::wrap_host(storage->host, storage->bytes);
  auto buffer = device->allocate(std::max<std::size_t>(storage->bytes, 1));
  device->upload(*buffer, storage->host.get(), storage->bytes);
  storage->device = std::make_shared<DeviceContents>(DeviceContents{device, buffer});
  return buffer;
}

void Engine::launch(const PlannedStep& step, const std::vector<trace::Scalar>& constants, const device::DevicePtr& device,
                    std::vector<device::BufferPtr>& buffers, const device::BufferPtr& flags) {
  const jit::LoopNest& nest = step.nest;
  for (int axis = 0; axis < nest.parallel; ++axis)
    if (nest.ints[axis] == 0) return;  // nothing to write
  std::vector<std::uint64_t> scalars;
  for (int ordinal : step.constants) scalars.push_back(constants[ordinal].bits());
  const auto gather = [&](auto address_of) {
    std::vector<void*> pointers;
    for (const auto* accesses : {&nest.inputs, &nest.outputs})
      for (const auto& access : *accesses)
        pointers.push_back(static_cast<char*>(address_of(access.buffer)) + access.offset * static_cast<std::int64_t>(itemsize(access.dtype)));
    return pointers;
  };
  ++totals_.launched;
  if (step.made.kernel) {
    auto pointers = gather([&](int node) { return buffers[node]->data(); });
    if (flags) pointers.push_back(flags->data());
    device->launch(*step.made.kernel, nest, {pointers, nest.ints, scalars});
    return;
  }
  // No kernel on the device: interpret on the host, with the operands brought over and the results taken back.
  const auto host = device::open_host(1);
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
  host->launch(*kernel, nest, {pointers, nest.ints, scalars});
  for (const auto& access : nest.outputs) device->upload(*buffers[access.buffer], copies.at(access.buffer)->data(), buffers[access.buffer]->bytes());
  if (flags) device->upload(*flags, raised.data(), raised.size() * sizeof raised[0]);
}

void Engine::multiply(const fuse::MatmulCall& call, const Options& options, std::vector<device::BufferPtr>& buffers) {
  const auto bytes = static_cast<std::int64_t>(itemsize(call.dtype));
  std::int64_t batch = 1;
  for (auto size : call.batch) batch *= size;
  ++totals_.library_calls;
  // Batch axes may be broadcast, each by itself: one product per batch element, its place found axis by axis.
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto operand = [&](const fuse::MatrixOperand& of) {
      std::int64_t offset = of.offset, rest = b;
      for (std::size_t axis = call.batch.size(); axis-- > 0; rest /= call.batch[axis]) offset += rest % call.batch[axis] * of.batch_strides[axis];
      device::MatmulOperand result;
      result.data = static_cast<const char*>(buffers[of.node]->data()) + offset * bytes;
      result.transposed = of.column_stride != 1;
      result.leading = result.transposed ? of.column_stride : of.row_stride;
      return result;
    };
    char* out = static_cast<char*>(buffers[call.node]->data()) + b * call.m * call.n * bytes;
    device::matmul(call.dtype, operand(call.a), operand(call.b), out, 1, call.m, call.n, call.k, options.threads);
  }
}

void Engine::run(const Planned& planned, const trace::Linear& linear, const Setup& setup, std::vector<device::BufferPtr>& buffers) {
  const auto& plan = planned.plan;
  const auto& device = setup.target.device;
  buffers.assign(plan.graph.nodes.size(), nullptr);
  const auto constants = constants_of(linear.graph);
  Checks checks(linear.graph, device);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const auto& step = plan.steps[s];
    for (int node : step.reads())
      if (!buffers[node]) buffers[node] = buffer_of(linear.leaves.at(plan.graph.nodes[node].leaf), device);
    for (int node : step.writes()) {
      const auto& n = plan.graph.nodes[node];
      buffers[node] = device->allocate(std::max<std::size_t>(static_cast<std::size_t>(element_count(n.shape)) * itemsize(n.dtype), 1));
    }
    if (step.kind == fuse::Step::Kind::matmul) multiply(step.matmul, setup.options, buffers);
    else if (planned.steps[s].gathers.empty()) launch(planned.steps[s], constants, device, buffers, nullptr);
    else checks.launch(planned.steps[s], [&](const device::BufferPtr& flags) { launch(planned.steps[s], constants, device, buffers, flags); });
    for (int node : step.reads())  // the pool hands a dead intermediate's memory to the next step
      if (plan.last_use[node] == static_cast<int>(s)) buffers[node].reset();
  }
  checks.verify();
}

void Engine::evaluate(const std::vector<trace::RecordedPtr>& roots) {
  std::vector<trace::RecordedPtr> pending;
  for (const auto& root : roots) {
    if (!root) throw ValueError("eval: the tensor is empty (default-constructed); assign it first");
    if (!root->result()) pending.push_back(root);
  }
  if (pending.empty()) return;
  const trace::Linear linear = trace::linearize(pending);
  for (std::size_t leaf = 0; leaf < linear.leaves.size(); ++leaf)
    if (!linear.leaves[leaf])
      throw ValueError(fmt::format("eval: the value depends on a placeholder, which has a shape but no data{}; explain() and dump_kernels() work on it",
                                   short_place(pending.front()->where)));
  const Setup now = setup();
  const auto [planned, reused] = plan_for(linear.graph, now);
  std::vector<device::BufferPtr> buffers;
  run(*planned, linear, now, buffers);

  const auto& plan = planned->plan;
  const auto history = std::make_shared<History>(History{planned, reused, now.target.device->name()});
  const bool host = cuda_ordinal(now.options) < 0;
  for (std::size_t k = 0; k < pending.size(); ++k) {
    const int output = plan.graph.outputs[k];
    const auto alias = plan.aliases.find(output);
    const int base = alias == plan.aliases.end() ? output : alias->second;
    trace::StoragePtr storage;
    if (plan.graph.nodes[base].op == trace::Op::data) {
      storage = linear.leaves[plan.graph.nodes[base].leaf];
    } else {
      storage = std::make_shared<trace::Storage>();
      storage->bytes = static_cast<std::size_t>(element_count(plan.graph.nodes[base].shape)) * itemsize(plan.graph.nodes[base].dtype);
      if (host) storage->host = device::host_memory(buffers[base]);
      else storage->device = std::make_shared<DeviceContents>(DeviceContents{now.target.device, buffers[base]});
    }
    pending[k]->materialize(std::move(storage), history);
  }
}

const void* Engine::host_data(const trace::RecordedPtr& node) {
  evaluate({node});
  const auto storage = node->result();
  if (!storage) throw ValueError("the tensor is a placeholder: it has a shape but no data");
  std::lock_guard lock(storage_mutex_);
  if (!storage->host) {
    const auto contents = std::static_pointer_cast<DeviceContents>(storage->device);
    auto memory = trace::allocate_host(storage->bytes);
    contents->device->download(memory.get(), *contents->buffer, storage->bytes);
    storage->host = std::move(memory);
  }
  return storage->host.get();
}

History Engine::history_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target) {
  std::vector<trace::RecordedPtr> pending;
  History known;
  for (const auto& root : roots) {
    if (!root) throw ValueError("explain: the tensor is empty (default-constructed); assign it first");
    if (auto history = std::static_pointer_cast<History>(root->history())) known = *history;
    if (!root->result()) pending.push_back(root);
  }
  if (pending.empty()) {
    if (!target.empty()) throw ValueError("explain: the tensor is evaluated already, nothing can be planned for another target; record it again, "
                                          "over placeholders if there is no data");
    if (!known.planned) known = {std::make_shared<Planned>(), false, options().device};
    return known;
  }
  Setup now;
  if (target.empty()) {
    now = setup();
  } else {
    now.options = options();
    now.target.limits = fuse::limits_of(std::string(target));
    now.target.limits.fuse = now.options.fuse;
    now.target.interpret = !now.target.limits.is_cuda() && now.options.backend == "interpreter";
  }
  const trace::Linear linear = trace::linearize(pending);
  const auto [planned, reused] = plan_for(linear.graph, now);
  return {planned, reused, now.target.device ? now.target.device->name() : now.target.limits.target};
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
  result.fallbacks = totals_.fallbacks;
  std::lock_guard lock(mutex_);
  for (const auto& [key, device] : devices_) {
    const auto use = device->memory();
    result.bytes_now += use.now;
    result.bytes_peak += use.peak;
  }
  return result;
}

void Engine::reset_peak() {
  std::lock_guard lock(mutex_);
  for (const auto& [key, device] : devices_) device->reset_peak();
}

}  // namespace sinter::engine
