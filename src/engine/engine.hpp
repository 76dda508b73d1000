// The engine: the one place that knows every room. Takes recorded nodes, returns contents.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/explain.hpp"
#include "engine/kernels.hpp"
#include "engine/lru.hpp"
#include "sinter/engine.hpp"
#include "sinter/tune.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::engine {

class Engine {
 public:
  static Engine& get();

  Options options() const;
  /// Opens the device, so that a missing one is told here.
  void configure(const Options& options);

  /// `site`: who wants the values. `asked`: by the user, not by recording that found a loop.
  void evaluate(const std::vector<trace::RecordedPtr>& roots, const trace::Site& site, bool asked = true);
  /// Host address of a node's contents; evaluates and downloads.
  const void* host_data(const trace::RecordedPtr& node, const trace::Site& site);
  /// The evaluations that computed the roots, each once, then a plan made now of those that are not evaluated. `target` empty: the
  /// current device.
  std::vector<Told> histories_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target);

  /// See sinter::tune(). `progress` is told what part is done, and of which kernel.
  std::vector<TunedKernel> tune(const std::vector<trace::RecordedPtr>& roots, const std::function<void(double, std::string_view)>& progress);

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
  // A plan and the symbols' values that it is to be run with.
  struct Found {
    std::shared_ptr<const Planned> planned;
    bool reused = false;
    std::vector<std::int64_t> symbols;
  };
  Found plan_for(const trace::Graph& graph, const Setup& setup);
  std::shared_ptr<void> host_memory_of(trace::Storage& storage);
  device::BufferPtr buffer_of(const trace::StoragePtr& storage, const device::DevicePtr& device);
  void run(const Planned& planned, std::span<const std::int64_t> numbers, const trace::Linear& linear, const std::vector<trace::RecordedPtr>& roots,
           const Setup& setup, std::vector<device::BufferPtr>& buffers, bool keep_all = false);
  void launch(const PlannedStep& step, std::span<const std::int64_t> numbers, const std::vector<trace::Scalar>& constants, const Target& target,
              std::vector<device::BufferPtr>& buffers, const device::BufferPtr& flags);
  void call(const fuse::LibraryCall& call, const device::DevicePtr& device, std::vector<device::BufferPtr>& buffers);
  static ForkGate& fork_gate();
  void before_fork();
  void after_fork(bool child);
  struct AtFork;
  static const AtFork at_fork;

  static constexpr std::size_t kMaxPlanBytes = 64 << 20;

  Totals totals_;
  Kernels kernels_;
  mutable std::mutex mutex_;  // guards what follows
  Options options_;
  std::map<std::pair<std::string_view, int>, device::DevicePtr> devices_;  // by kind and ordinal
  // Plans of one structure, each for the sizes that meet its guards; the latest last.
  using PlanFamily = std::vector<std::shared_ptr<const Planned>>;
  static constexpr std::size_t kMaxFamily = 64;
  Lru<std::string, PlanFamily> plans_{kMaxPlanBytes};
};

}  // namespace sinter::engine
