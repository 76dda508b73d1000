// The engine: the one place that knows every room. Takes recorded nodes, returns contents.
#pragma once
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/explain.hpp"
#include "engine/kernels.hpp"
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
  /// What is known of the roots' evaluation, or a plan made now. `target` empty: the current device.
  History history_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target);

  Counters counters();
  void reset_peak();

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
  std::pair<std::shared_ptr<const Planned>, bool> plan_for(const trace::Graph& graph, const Setup& setup);
  device::BufferPtr buffer_of(const trace::StoragePtr& storage, const device::DevicePtr& device);
  void run(const Planned& planned, const trace::Linear& linear, const Setup& setup, std::vector<device::BufferPtr>& buffers);
  void launch(const PlannedStep& step, const std::vector<trace::Scalar>& constants, const device::DevicePtr& device,
              std::vector<device::BufferPtr>& buffers, const device::BufferPtr& flags);
  void multiply(const fuse::MatmulCall& call, const Options& options, std::vector<device::BufferPtr>& buffers);

  Totals totals_;
  Kernels kernels_;
  mutable std::mutex mutex_;  // guards what follows
  Options options_;
  std::unordered_map<std::string, device::DevicePtr> devices_;
  std::unordered_map<std::string, std::shared_ptr<const Planned>> plans_;
  std::vector<std::string> plan_order_;  // oldest first
  std::mutex storage_mutex_;  // guards uploads into and downloads out of Storage
};

}  // namespace sinter::engine
