// The engine uses every module that takes part in an evaluation. It takes recorded nodes and returns their contents.
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
#include "trace/site.hpp"
#include "trace/structural_key.hpp"

namespace sinter::engine {

/// The memory that holds a node's elements, and its owner.
struct Residence {
  std::string_view kind;  // the device's kind: "cpu", "cuda"
  int ordinal = 0;
  void* data = nullptr;
  std::shared_ptr<void> memory;
};

/// Returns contents for a Storage over a device's memory that another owner has. `owner` is released when the device no longer uses the memory.
std::shared_ptr<void> contents_of_others(const runtime::DevicePtr& device, void* data, std::size_t bytes, std::shared_ptr<void> owner);

class Engine {
 public:
  static Engine& get();

  Options options() const;
  /// Opens the device. Throws DeviceError here if it is missing.
  void configure(const Options& options);

  /// `site` is the call that needs the values. `asked` is false if loop detection evaluates, and not the user.
  void evaluate(std::span<const trace::RecordedPtr> roots, const trace::Site& site, bool asked = true);
  /// See sinter::eval_fused().
  void evaluate_fused(const std::vector<trace::RecordedPtr>& roots, const trace::Site& site);
  /// Sets the functions that are called around each evaluation (sinter/caller.hpp).
  static void surround(Around calls);
  /// Evaluates the node, copies its contents to the host and returns their address.
  const void* host_data(const trace::RecordedPtr& node, const trace::Site& site);
  /// Evaluates the node and waits for its elements. Returns them on the current device if they are there, else on the host. With `copy`, copies them.
  Residence residence(const trace::RecordedPtr& node, bool copy, const trace::Site& site);
  /// Throws DeviceError if there is no such device.
  runtime::DevicePtr device_at(std::string_view kind, int ordinal, const trace::Site& site);
  /// Returns the evaluations that computed the roots, each once, then a new plan of the roots that are not evaluated. An empty `target` is the current device.
  std::vector<Explained> histories_of(const std::vector<trace::RecordedPtr>& roots, std::string_view target);
  /// See sinter::explain_boundary().
  std::string boundary_of(const std::vector<trace::RecordedPtr>& pair, std::vector<trace::RecordedPtr> wanted, const ExplainOptions& options);

  /// See sinter::tune(). `progress` receives the part that is done, from 0 to 1, and the kernel's name.
  std::vector<TunedKernel> tune(const std::vector<trace::RecordedPtr>& roots, const std::function<void(double, std::string_view)>& progress);

  /// These functions are for frozen functions (frozen.hpp). They return the device of later calls, according to the present settings; the plan of a recording
  /// with all kernels compiled; and the results of one call, in the order of Bound::outputs.
  Frozen frozen_target();
  std::shared_ptr<const Planned> plan_to_keep(const trace::Graph& graph, std::span<const std::uint64_t> structure, const Values& values, const Leaves& leaves,
                                              const Frozen& at);
  /// Throws NoAlgorithm if the device has no library for one of the plan's library calls.
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

  // A consistent copy of the settings. Each thread has its own, and copies again when the settings have changed.
  struct Setup {
    std::uint64_t version = 0;  // the settings' version; 0: not copied yet
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
  /// `rank`: the thread's rank, if ranks are threads. Unless the options give a number, each rank has a separate device if there are enough.
  runtime::DevicePtr device_of(const Options& options, int rank = 0);
  std::vector<runtime::DevicePtr> devices();
  // A plan is found by the settings and the structural key. Both are compared completely, so a plan of another structure is never found.
  template <class Numbers> struct KeyOf {
    Numbers settings, structure;
    std::uint64_t tunings = 0;
  };
  using PlanKey = KeyOf<std::vector<std::uint64_t>>;
  using PlanKeyView = KeyOf<std::span<const std::uint64_t>>;  // the thread's setup holds the settings, the traversal the structure
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
  // Histories of one plan at other lines and sizes, the latest first. An evaluation at known lines and sizes copies nothing.
  class Others {
   public:
    // Must be called before the traversal's release(). `like` is the history of the same plan at other lines or sizes.
    std::shared_ptr<History> at(const trace::Traversal& traversal, const History& like);

   private:
    static constexpr std::size_t kRemembered = 16;
    std::mutex mutex_;
    std::vector<std::shared_ptr<History>> histories_;
  };
  // A plan, and the history that evaluations with this plan store.
  struct Known {
    std::shared_ptr<const Planned> planned;
    std::shared_ptr<History> history;
    std::shared_ptr<Others> others;
    std::shared_ptr<Recurring> recurring;
    std::shared_ptr<const Executable> executable = {};  // the workspace refers to its numbers, and `recurring` may drop it
  };
  fuse::Evaluate evaluate_now();
  // Ends a walk of the roots. If passes rewrite the graph for the target, the traversal becomes that of the rewritten graph, which it then refers to.
  fuse::Rewritten finish_traversal(trace::Traversal& traversal, std::vector<trace::RecordedPtr>& roots, bool keep, const Target& target);
  // Finds the plan in memory or on disk, or makes it. Releases the traversal.
  Known plan_for(trace::Traversal& traversal, std::vector<trace::PassCount> passes, std::size_t outputs, const Target& target, const Setup& setup);
  Known find_plan(const PlanKeyView& key, const std::vector<std::int64_t>& symbols);
  // Returns, for the log, why none of the known plans is valid for these values of the symbols.
  std::string why_planned(const PlanKeyView& key, const std::vector<std::int64_t>& symbols);
  using Sites = std::vector<trace::NodeSite>;
  // Reads the plans of a structure from disk. This happens once for each structure.
  void load_plans(const PlanKeyView& key, const PlanTerms& terms, const Target& target, const Setup& setup, const History::Sites& sites);
  Known make_plan_for(const PlanKeyView& key, const trace::Graph& graph, const Target& target, const Setup& setup, const History::Sites& sites);
  // Stores the plan in the background.
  void keep_on_disk(const StoredPlanKey& key, std::size_t ordinal, const std::shared_ptr<const Planned>& planned);
  // Returns the last of the added plans.
  Known add_plans(const PlanKeyView& key, const std::vector<std::shared_ptr<const Planned>>& plans, std::size_t on_disk, const Setup& setup,
                  const History::Sites& sites);
  // The address at which a device finds a node's elements.
  struct Elements {
    void* data = nullptr;
    runtime::BufferPtr buffer;  // null for host memory that the device reads, which a leaf keeps
  };
  // Memory that a thread reuses in successive evaluations.
  struct Workspace {
    trace::Traversal traversal;
    std::vector<trace::RecordedPtr> roots;
    std::vector<std::vector<trace::RecordedPtr>> pieces;  // to be evaluated before the roots
    std::span<const std::int64_t> numbers;                // the numbers of the running executable
    std::vector<std::uint64_t> constants;                 // bits of the graph's constants, then of the constants that rewriting added
    std::span<const trace::GatherSite> gathers;
    std::span<const trace::CallSite> calls;
    const Sites* sites = nullptr;    // source lines of the running recording; empty for a function from a file
    std::vector<Elements> elements;  // one for each value of the plan
    std::vector<void*> pointers, call_pointers;
    std::vector<std::uint64_t> scalars;
  };
  class Borrowed;
  static StoragePtr contents_of(const runtime::DevicePtr& device, const runtime::BufferPtr& buffer, std::size_t bytes);
  std::shared_ptr<void> host_memory_of(Storage& storage);
  Elements elements_of(const StoragePtr& storage, const runtime::DevicePtr& device);
  // Returns the evaluated node that holds all elements of a value. If the value is sharded, its elements are gathered from all ranks.
  const trace::RecordedPtr& here(const trace::RecordedPtr& node, const trace::Site& site);
  // Returns false if the workspace's pieces have to be evaluated before its roots.
  bool evaluate_roots(const Setup& setup, const trace::Site& site, Workspace& work);
  Known evaluate_with(const Target& target, const Setup& setup, const trace::Site& site, Workspace& work);
  // Runs the steps. The workspace holds the contents of the leaves, the constants, and the sites of checks and calls.
  void run(const Executable& executable, const Target& target, Workspace& work);
  // Takes these three from the workspace's traversal, then runs the steps.
  void run_recorded(const Executable& executable, const Target& target, Workspace& work);
  // `part`: the points at which the kernel runs; null: all points.
  void launch(const PlannedStep& step, const Target& target, Workspace& work, const runtime::BufferPtr& flags, const jit::Box* part = nullptr);
  void launch(const Repeated& repeated, Workspace& work);
  class OnHost;
  // Makes a library call. `epilogue` may be null.
  void call(const fuse::LibraryCall& call, const PlannedStep& step, const PlannedStep* epilogue, const Target& target, Workspace& work);
  // Puts the pointers and literals of a launch into the workspace, and returns the launch's numbers.
  template <class AddressOf> std::span<const std::int64_t> bind(const PlannedStep& step, Workspace& work, AddressOf address_of);
  // Writes the timeline's counter of memory.
  void count_memory();
  void before_fork();
  void after_fork(bool child);
  struct AtFork;
  static const AtFork at_fork;

  static constexpr std::size_t kMaxPlanBytes = 64 << 20;

  Totals totals_;
  Kernels kernels_;
  mutable std::mutex mutex_;  // guards the members below
  Options options_;
  std::atomic<std::uint64_t> version_{0};                                   // version of options_; written under the mutex
  std::map<std::pair<std::string_view, int>, runtime::DevicePtr> devices_;  // by kind and ordinal
  // The plans of one structure. Each is valid for the sizes that meet its guards; the newest is the last.
  struct Member {
    Known known;
    std::vector<std::int64_t> met;  // the latest values of the symbols that met its guards
  };
  struct PlanFamily {
    std::vector<Member> members;
    std::size_t on_disk = 0;  // number of entries
  };
  static constexpr std::size_t kMaxFamily = 64;
  Lru<PlanKey, PlanFamily, KeyHash, KeyEqual> plans_{kMaxPlanBytes};
};

// The calling thread's workspace, or a new one if that is in use, because an evaluation may run a destructor that evaluates.
class Engine::Borrowed {
 public:
  Borrowed() : work_(std::move(mine())) {
    if (!work_) work_ = std::make_unique<Workspace>();
  }
  ~Borrowed() {
    work_->traversal.clear();
    work_->roots.clear();
    work_->elements.clear();
    work_->sites = nullptr;
    if (work_->traversal.is_small()) mine() = std::move(work_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Workspace& operator*() { return *work_; }

 private:
  static std::unique_ptr<Workspace>& mine() { return per_thread<std::unique_ptr<Workspace>>(); }
  std::unique_ptr<Workspace> work_;
};

}  // namespace sinter::engine
