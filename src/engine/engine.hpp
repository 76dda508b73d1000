// The engine: the one place that knows every room. Takes recorded nodes, returns contents.
#pragma once
#include <memory>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/explain.hpp"
#include "engine/fork_gate.hpp"
#include "engine/kernels.hpp"
#include "engine/lru.hpp"
#include "sinter/engine.hpp"
#include "trace/record.hpp"

namespace sinter::engine {

class Engine {
 public:
  static Engine& get();

  Options options() const;
  /// Opens the device, so that a missing one is told here.
  void configure(const Options& options);

  void evaluate(const std::vector<trace::RecordedPtr>& roots);
  /// Host address of a node's contents; evaluates and downloads.
  const void* host_data(const trace::RecordedPtr& node);
  /// What is known of the roots' evaluation, or a plan made now. `target` empty: the current device. The plan is held for as long
  /// as it is looked at; null when it has left memory.
  std::pair<History, std::shared_ptr<const Planned>> history_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target);

  Counters counters();
  void reset_peak();
  void synchronize();
  void trim();

 private:
  Engine();
  void apply(const Options& options);

  // A consistent picture of the settings for one evaluation.
  struct Setup {
    Options options;
    Target target;
  };
  Setup setup();
  device::DevicePtr device_of(const Options& options);
  std::vector<device::DevicePtr> devices();
  std::pair<std::shared_ptr<const Planned>, bool> plan_for(const trace::Graph& graph, const Setup& setup);
  std::shared_ptr<void> host_memory_of(trace::Storage& storage);
  device::BufferPtr buffer_of(const trace::StoragePtr& storage, const device::DevicePtr& device);
  void run(const Planned& planned, const trace::Linear& linear, const Setup& setup, std::vector<device::BufferPtr>& buffers);
  void launch(const PlannedStep& step, const std::vector<trace::Scalar>& constants, const Target& target,
              std::vector<device::BufferPtr>& buffers);
  void call(const fuse::LibraryCall& call, const device::DevicePtr& device, std::vector<device::BufferPtr>& buffers);
  void before_fork();
  void after_fork(bool child);

  static constexpr std::size_t kMaxPlanBytes = 64 << 20;

  ForkGate gate_;
  Totals totals_;
  Kernels kernels_;
  mutable std::mutex mutex_;  // guards what follows
  Options options_;
  std::map<std::pair<std::string_view, int>, device::DevicePtr> devices_;  // by kind and ordinal
  Lru<std::string, std::shared_ptr<const Planned>> plans_{kMaxPlanBytes};
};

}  // namespace sinter::engine
