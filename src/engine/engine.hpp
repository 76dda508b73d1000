// The engine: the one place that knows every module of an evaluation. Takes recorded nodes, returns contents.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/per_thread.hpp"
#include "engine/explain.hpp"
#include "engine/frozen.hpp"
#include "engine/kernels.hpp"
#include "engine/lru.hpp"
#include "engine/stored_plans.hpp"
#include "fuse/passes.hpp"
#include "sinter/caller.hpp"
#include "sinter/engine.hpp"
#include "sinter/tune.hpp"
#include "trace/outline.hpp"
#include "trace/site.hpp"

namespace sinter::engine {

/// A node's elements where they are, and what keeps them there.
struct Residence {
  std::string_view kind;  // of the device: "cpu", "cuda"
  int ordinal = 0;
  void* data = nullptr;
  std::shared_ptr<void> memory;
};

/// Contents on a device that somebody else owns, as a Storage holds them; `owner` is given up when the device is done with them.
std::shared_ptr<void> contents_of_others(const runtime::DevicePtr& device, void* data, std::size_t bytes, std::shared_ptr<void> owner);

class Engine {
 public:
  static Engine& get();

  Options options() const;
  /// Opens the device, so that a missing one is told here.
  void configure(const Options& options);

  /// `site`: who wants the values. `asked`: by the user, not by recording that found a loop.
  void evaluate(std::span<const trace::RecordedPtr> roots, const trace::Site& site, bool asked = true);
  /// See sinter::eval_fused().
  void evaluate_fused(const std::vector<trace::RecordedPtr>& roots, const trace::Site& site);
  /// Sets the functions that are called around each evaluation (sinter/caller.hpp).
  static void surround(Around calls);
  /// Host address of a node's contents; evaluates and downloads.
  const void* host_data(const trace::RecordedPtr& node, const trace::Site& site);
  /// Evaluates; all that computes the elements is done. Where they are on the current device there, else on the host. `copy`: others with the same values.
  Residence residence(const trace::RecordedPtr& node, bool copy, const trace::Site& site);
  /// Throws DeviceError where there is no such device.
  runtime::DevicePtr device_at(std::string_view kind, int ordinal, const trace::Site& site);
  /// The evaluations that computed the roots, each once, then a plan made now of those that are not evaluated. `target` empty: the
  /// current device.
  std::vector<Told> histories_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target);
  /// See sinter::explain_boundary().
  std::string boundary_of(const std::vector<trace::RecordedPtr>& pair, std::vector<trace::RecordedPtr> wanted, const ExplainOptions& options);

  /// See sinter::tune(). `progress` is told what part is done, and of which kernel.
  std::vector<TunedKernel> tune(const std::vector<trace::RecordedPtr>& roots, const std::function<void(double, std::string_view)>& progress);

  /// What freezing needs (frozen.hpp): where calls will run, by the settings of now; the plan of a recording, all kernels compiled; and one call.
  /// The results' contents come in the order of Bound::outputs.
  Frozen frozen_target();
  std::shared_ptr<const Planned> plan_to_keep(const trace::Graph& graph, std::span<const std::uint64_t> structure, const Values& values, const Leaves& leaves,
                                              const Frozen& at);
  /// Throws NoAlgorithm for a library call of the plan that the device has none for.
  void expect_calls(const Bound& bound, const Target& target);
  std::vector<StoragePtr> call(const Bound& bound, const Frozen& at, std::span<const trace::RecordedPtr> inputs, const trace::Site& site);
  Kernels& kernels() { return kernels_; }
  std::shared_ptr<void> host_contents(const StoragePtr& storage) { return host_memory_of(*storage); }
  static ForkGate& fork_gate();

  Counters counters();
  void reset_peak();
  void synchronize();
  void trim();

 private:
  Engine();
  void apply(const Options& options);

  // A consistent picture of the settings. Each thread has its own, made anew when the settings have changed.
  struct Setup {
    std::uint64_t version = 0;  // of the settings; 0: not made yet
    PlanOptions how;
    std::string schedule;  // Options::schedule
    Target target;
    Words key;  // everything that plans depend on
    std::string device;
    Setup() = default;
    Setup(std::uint64_t of, const Options& options, Target where);
    Words key_for(const Target& other) const;
  };
  const Setup& setup();
  Setup setup_for(std::string_view target);
  runtime::DevicePtr device_of(const Options& options);
  std::vector<runtime::DevicePtr> devices();
  // What finds a plan: the settings, and the structural key. Both are compared, so that no plan is found for another structure.
  template <class Numbers> struct KeyOf {
    Numbers settings, structure;
    std::uint64_t tunings = 0;
  };
  using PlanKey = KeyOf<std::vector<std::uint64_t>>;
  using PlanKeyView = KeyOf<std::span<const std::uint64_t>>;  // the settings are kept by the thread's setup, the structure by the outline
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const auto& key) const { return hash64(key.structure) ^ key.tunings; }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      return a.tunings == b.tunings && same_words(a.structure, b.structure) && same_words(a.settings, b.settings);
    }
  };
  // Further lines that the formulas of one plan are recorded at, the latest first: an evaluation at lines that are known copies nothing.
  class OtherLines {
   public:
    // Call it before the outline's release(). `like`: the same of other lines.
    std::shared_ptr<History> at(const trace::Outline& outline, const History& like);

   private:
    static constexpr std::size_t kRemembered = 16;
    std::mutex mutex_;
    std::vector<std::shared_ptr<History>> histories_;
  };
  // A plan and what is told of an evaluation that finds it.
  struct Known {
    std::shared_ptr<const Planned> planned;
    std::shared_ptr<History> history;
    std::shared_ptr<OtherLines> other_lines;
    std::shared_ptr<Recurring> recurring;
    std::shared_ptr<const Executable> executable = {};  // that ran, whose numbers the workspace refers to: `recurring` may drop it for another thread
  };
  fuse::Evaluate evaluate_now();
  // Ends a walk of the roots. Where passes change what they are on the target, the outline becomes that of what the passes made of them, and refers to it.
  fuse::Rewritten finish_outline(trace::Outline& outline, std::vector<trace::RecordedPtr>& roots, bool keep, const Target& target);
  // Found in memory or on disk, else made. Releases the outline.
  Known plan_for(trace::Outline& outline, std::vector<trace::PassCount> passes, std::size_t outputs, const Target& target, const Setup& setup);
  Known find_plan(const PlanKeyView& key, const std::vector<std::int64_t>& symbols);
  // For the log: why none of the plans that are known serves these values of the symbols.
  std::string why_planned(const PlanKeyView& key, const std::vector<std::int64_t>& symbols);
  using Sites = std::vector<trace::NodeSite>;
  // Plans of one structure are asked for on disk once.
  void load_plans(const PlanKeyView& key, const PlanTerms& terms, const Target& target, const Setup& setup, const Sites& sites);
  Known make_plan_for(const PlanKeyView& key, const trace::Graph& graph, const Target& target, const Setup& setup, const Sites& sites);
  // In the background.
  void keep_on_disk(const StoredPlanKey& key, std::size_t ordinal, const std::shared_ptr<const Planned>& planned);
  // The last of them.
  Known add_plans(const PlanKeyView& key, const std::vector<std::shared_ptr<const Planned>>& plans, std::size_t on_disk, const Setup& setup,
                  const Sites& sites);
  // A node's elements where the device finds them.
  struct Elements {
    void* data = nullptr;
    runtime::BufferPtr buffer;  // null for host memory that the device reads, which a leaf keeps
  };
  // What one evaluation after the other on a thread can use again.
  struct Workspace {
    trace::Outline outline;
    std::vector<trace::RecordedPtr> roots;
    std::vector<std::vector<trace::RecordedPtr>> pieces;  // to be evaluated before the roots
    std::span<const std::int64_t> numbers;                // of the executable that runs
    std::vector<std::uint64_t> constants;                 // bits of the graph's, then of those that rewriting put in
    std::span<const trace::GatherSite> gathers;
    std::span<const trace::CallSite> calls;
    const History* history = nullptr;  // of the evaluation that runs; null for a frozen function
    std::vector<Elements> elements;    // by value of the plan
    std::vector<void*> pointers, call_pointers;
    std::vector<std::uint64_t> scalars;
  };
  class Borrowed;
  static StoragePtr contents_of(const runtime::DevicePtr& device, const runtime::BufferPtr& buffer, std::size_t bytes);
  std::shared_ptr<void> host_memory_of(Storage& storage);
  Elements elements_of(const StoragePtr& storage, const runtime::DevicePtr& device);
  // The evaluated node that holds all elements of a value: of a sharded one they are brought from all ranks.
  const trace::RecordedPtr& here(const trace::RecordedPtr& node, const trace::Site& site);
  // False if the workspace's pieces have to be evaluated before its roots.
  bool evaluate_roots(const Setup& setup, const trace::Site& site, Workspace& work);
  Known evaluate_with(const Target& target, const Setup& setup, const trace::Site& site, Workspace& work);
  // What the leaves hold, the constants and the sites of checks and calls are in the workspace.
  void run(const Executable& executable, const Target& target, Workspace& work);
  // They are those of the workspace's outline.
  void run_recorded(const Executable& executable, const Target& target, Workspace& work);
  void launch(const PlannedStep& step, const Target& target, Workspace& work, const runtime::BufferPtr& flags);
  void launch(const Repeated& repeated, Workspace& work);
  class OnHost;
  // With the step that follows it, or null.
  void call(const fuse::LibraryCall& call, const PlannedStep* follower, const Target& target, Workspace& work);
  // The pointers and literals of a launch, in the workspace; its numbers.
  template <class AddressOf> std::span<const std::int64_t> bind(const PlannedStep& step, Workspace& work, AddressOf address_of);
  // The timeline's counter.
  void count_memory();
  void before_fork();
  void after_fork(bool child);
  struct AtFork;
  static const AtFork at_fork;

  static constexpr std::size_t kMaxPlanBytes = 64 << 20;

  Totals totals_;
  Kernels kernels_;
  mutable std::mutex mutex_;  // guards what follows
  Options options_;
  std::atomic<std::uint64_t> version_{0};                                   // of options_; written under the mutex
  std::map<std::pair<std::string_view, int>, runtime::DevicePtr> devices_;  // by kind and ordinal
  // Plans of one structure, each for the sizes that meet its guards; the latest last.
  struct Member {
    Known known;
    std::vector<std::int64_t> met;  // the latest values of the symbols that met its guards
  };
  struct PlanFamily {
    std::vector<Member> members;
    std::size_t on_disk = 0;  // entries
  };
  static constexpr std::size_t kMaxFamily = 64;
  Lru<PlanKey, PlanFamily, KeyHash, KeyEqual> plans_{kMaxPlanBytes};
};

// The calling thread's workspace; a new one if that is in use, when destructors that an evaluation runs evaluate too.
class Engine::Borrowed {
 public:
  Borrowed() : work_(std::move(mine())) {
    if (!work_) work_ = std::make_unique<Workspace>();
  }
  ~Borrowed() {
    work_->outline.clear();
    work_->roots.clear();
    work_->elements.clear();
    work_->history = nullptr;
    if (work_->outline.is_small()) mine() = std::move(work_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Workspace& operator*() { return *work_; }

 private:
  static std::unique_ptr<Workspace>& mine() { return per_thread<std::unique_ptr<Workspace>>(); }
  std::unique_ptr<Workspace> work_;
};

}  // namespace sinter::engine
