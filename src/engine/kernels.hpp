// From a loop nest to a kernel that can run: generate, look in memory, look on disk, compile, load. One compile per key in a
// process, outside any lock but the key's own. Where the interpreter gives the same bits nobody waits for the compiler: the kernel
// is interpreted until its machine code is there.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cache/disk_cache.hpp"
#include "engine/background.hpp"
#include "engine/lru.hpp"
#include "fuse/limits.hpp"
#include "jit/compiler.hpp"
#include "runtime/kind.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// Where kernels are made for.
struct Target {
  fuse::Limits limits;
  bool interpret = false;     // no code is generated
  bool wait = true;           // for every compile
  runtime::DevicePtr device;  // null: compile only
  const runtime::Kind& kind() const { return runtime::kind_of(limits); }
};

/// What is known of one key: shared by every plan that holds the kernel.
struct Compiled {
  enum class State : std::uint8_t { unknown, under_way, done };
  std::mutex mutex;  // held while the binary is obtained
  std::atomic<State> state{State::unknown};
  // Guarded by the mutex, or by state == done:
  jit::Binary binary;
  std::string failure;                                              // why there is none
  std::unordered_map<runtime::Device*, runtime::KernelPtr> loaded;  // guarded by the mutex
};

/// A kernel that is there from some moment on; who keeps it alive is known elsewhere.
struct Ready {
  Ready() = default;
  Ready(const Ready& other) : kernel(other.kernel.load()) {}
  Ready& operator=(const Ready& other) {
    kernel = other.kernel.load();
    return *this;
  }
  std::atomic<runtime::Kernel*> kernel{nullptr};
};

/// One kernel as the engine knows it.
struct Made {
  jit::Source source;  // empty text: interpreted
  jit::ResourceReport report;
  jit::Origin origin = jit::Origin::compiled;
  bool interpreted = false;
  std::string why_interpreted;      // set when a compile failed or there is no compiler
  runtime::KernelPtr kernel;        // null when the target has no device, or when the device runs no nest without machine code
  std::shared_ptr<Compiled> later;  // set while `kernel` only stands in for it
  mutable Ready ready;              // what `later` gave, which keeps it
};

struct Totals {
  std::atomic<std::uint64_t> launched{0}, library_calls{0}, host_calls{0}, epilogues{0}, replays{0}, graph_launches{0}, compiled{0}, from_disk{0},
      from_memory{0}, plans_made{0}, plans_from_disk{0}, plans_reused{0}, guards_checked{0}, generated{0}, fallbacks{0};
};

class Kernels {
 public:
  Kernels(Totals& totals, ForkGate& gate) : totals_(totals), background_(gate), entries_(kMaxBytes) {}

  /// Disk cache and dump folder from now on.
  void configure(const cache::Settings& settings, const std::string& dump);
  /// Never throws for a compiler's failure: the kernel is interpreted then, with a warning.
  Made make(const jit::LoopNest& nest, const Target& target, const std::string& cut);
  /// What runs the kernel now: its machine code as soon as that is there. Null where Made::kernel is. Lives as long as `made`.
  runtime::Kernel* current(const Made& made, const jit::LoopNest& nest, const Target& target);
  /// The entry of a kernel that was made here, as the disk cache encodes it; compiled again where its machine code has left memory and disk. Empty
  /// for one that is interpreted.
  std::string entry_of(const Made& made, const runtime::Kind& kind);
  /// Waits for what is compiled in the background.
  void wait() { background_.wait(); }

  std::shared_ptr<cache::DiskCache> disk() const;
  /// Some were added. Plans that were made before know nothing of them: `tunings` tells such plans apart.
  void tuned();
  int tunings() const { return tunings_; }
  /// The same on disk, asked of it once; empty where it holds no schedule that was tuned.
  std::string tuning_mark();
  /// A job for the thread that compiles in the background; done at once where there is none.
  void later(const Background::Job& job);

  void before_fork();
  void after_fork(bool child);

 private:
  static constexpr std::size_t kMaxBytes = 64 << 20;  // of keys, which hold the source, and images

  std::shared_ptr<Compiled> entry_of(const jit::Source& source);
  void dump_strings(const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind);
  bool find_on_disk(Compiled& entry, const jit::Source& source);
  void compile(Compiled& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& cut);
  bool compile_later(const std::shared_ptr<Compiled>& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& cut);
  runtime::KernelPtr load(Compiled& entry, const jit::Source& source, const jit::LoopNest& nest, const Target& target, const std::string& cut);

  Totals& totals_;
  Background background_;
  mutable std::mutex mutex_;
  Lru<std::string, std::shared_ptr<Compiled>> entries_;  // by the key's full text
  std::shared_ptr<cache::DiskCache> disk_;
  std::string dump_;
  std::optional<std::string> tuning_mark_;  // of disk_
  std::atomic<int> tunings_{0};
};

/// Writes one kernel's strings into a folder, the notes above each as comments; returns the paths. NAME.cu, or NAME.nest and NAME.ll.
std::vector<std::string> write_strings(const std::string& directory, const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind,
                                       bool assembly, const std::vector<std::string>& notes = {});

}  // namespace sinter::engine
