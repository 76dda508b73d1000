// Turns a loop nest into a kernel that can be launched: generates its source, looks for the binary in memory and on disk, compiles it if need be, and loads it.
// A process compiles each key once, and holds only that key's lock while it compiles. If the interpreter gives the same bits, it runs the nest until the
// machine code is available, so that nobody waits for the compiler.
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

/// The target for which kernels are made.
struct Target {
  fuse::Limits limits;
  bool interpret = false;     // generate no code
  bool wait = true;           // wait for every compile
  runtime::DevicePtr device;  // null: compile only
  const runtime::Kind& kind() const { return runtime::kind_of(limits); }
};

/// The state of one key, shared by all plans with this kernel.
struct Compiled {
  enum class State : std::uint8_t { unknown, under_way, done };
  std::mutex mutex;  // held while the binary is obtained
  std::atomic<State> state{State::unknown};
  // Guarded by the mutex, or by state == done:
  jit::Binary binary;
  std::string failure;                                              // why there is no binary
  std::unordered_map<runtime::Device*, runtime::KernelPtr> loaded;  // guarded by the mutex
};

/// A kernel that another thread makes available. Another object owns it.
struct Ready {
  Ready() = default;
  Ready(const Ready& other) : kernel(other.kernel.load()) {}
  Ready& operator=(const Ready& other) {
    kernel = other.kernel.load();
    return *this;
  }
  std::atomic<runtime::Kernel*> kernel{nullptr};
};

/// One kernel in the form that the engine uses.
struct Made {
  std::shared_ptr<const jit::Source> generated;  // null: interpreted
  jit::ResourceReport report;
  jit::Origin origin = jit::Origin::compiled;
  bool interpreted = false;
  std::string why_interpreted;      // set when a compile failed or there is no compiler
  runtime::KernelPtr kernel;        // null if the target has no device, or if the device cannot interpret nests
  std::shared_ptr<Compiled> later;  // the compiled kernel; set while `kernel` is the interpreter's
  mutable Ready ready;              // the kernel of `later`, which owns it
  /// Returns the source, which is empty if the kernel is interpreted.
  const jit::Source& source() const {
    static const jit::Source none;
    return generated ? *generated : none;
  }
};

struct Totals {
  std::atomic<std::uint64_t> launched{0}, library_calls{0}, host_calls{0}, epilogues{0}, replays{0}, graph_launches{0}, compiled{0}, from_disk{0},
      from_memory{0}, plans_made{0}, plans_from_disk{0}, plans_reused{0}, guards_checked{0}, generated{0}, fallbacks{0}, steps_planned{0}, steps_made{0};
};

class Kernels {
 public:
  Kernels(Totals& totals, ForkGate& gate) : totals_(totals), background_(gate), entries_(kMaxBytes), sources_(kMaxSourceBytes) {}

  /// Sets the disk cache and the dump folder from now on.
  void configure(const cache::Settings& settings, const std::string& dump);
  /// Does not throw if a compiler fails: the kernel is then interpreted, with a warning.
  Made make(const jit::LoopNest& nest, const Target& target, const std::string& split_reason);
  /// Makes the kernels for a library call that the target's devices compute with kernels of sinter's own. Returns none for other calls.
  std::vector<Made> make_for(const fuse::LibraryCall& call, const Target& target);
  /// Returns the kernel to run now: the machine code as soon as it is available. Null if Made::kernel is null. The result lives as long as `made`.
  runtime::Kernel* current(const Made& made, const jit::LoopNest& nest, const Target& target);
  /// Returns the encoded disk cache entry of a kernel that was made here. Compiles again if its machine code is neither in memory nor on disk. Returns an empty
  /// text for an interpreted kernel.
  std::string entry_of(const Made& made, const runtime::Kind& kind);
  Totals& totals() { return totals_; }
  /// Waits for background compiles.
  void wait() { background_.wait(); }

  std::shared_ptr<cache::DiskCache> disk() const;
  /// Notes that schedules were added. Plans that were made earlier do not use them; `tunings` tells such plans apart.
  void tuned();
  int tunings() const { return tunings_; }
  /// Returns the mark of the tuned schedules on disk, which is read once. It is empty if there is no tuned schedule.
  std::string tuning_mark();
  /// Gives a job to the background thread, or does it now if there is none.
  void later(const Background::Job& job);

  void before_fork();
  void after_fork(bool child);

 private:
  static constexpr std::size_t kMaxBytes = 64 << 20;        // bytes of keys, which contain the source, and of images
  static constexpr std::size_t kMaxSourceBytes = 16 << 20;  // bytes of generated sources and of the nests from which they were generated

  /// A source, and the state of its key.
  struct Generated {
    std::shared_ptr<const jit::Source> source;
    std::weak_ptr<Compiled> entry;
  };
  std::shared_ptr<Compiled> entry_of(const jit::Source& source);
  std::string compiler_of(const runtime::Kind& kind) const;
  Generated completed(jit::Source source, const runtime::Kind& kind);
  Generated generated(const jit::LoopNest& nest, const Target& target);
  Made make(const Generated& generated, const jit::LoopNest& nest, const Target& target, const std::string& split_reason);
  void dump_strings(const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind);
  bool find_on_disk(Compiled& entry, const jit::Source& source);
  void compile(Compiled& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& split_reason);
  bool compile_later(const std::shared_ptr<Compiled>& entry, const jit::Source& source, const runtime::Kind& kind, const std::string& split_reason);
  runtime::KernelPtr load(Compiled& entry, const jit::Source& source, const jit::LoopNest& nest, const Target& target, const std::string& split_reason);

  Totals& totals_;
  Background background_;
  mutable std::mutex mutex_;
  Lru<std::string, std::shared_ptr<Compiled>> entries_;  // by the full text of the key
  Lru<std::string, Generated> sources_;                  // by the target and the structure of the nest
  std::shared_ptr<cache::DiskCache> disk_;
  std::string dump_;
  std::optional<std::string> tuning_mark_;  // the mark of disk_
  std::atomic<int> tunings_{0};
};

/// Returns an empty nest with this name, for a kernel that was not generated from a nest.
jit::LoopNest nest_named(const std::string& name);

/// Writes a kernel's sources into a folder, each with the notes as comments at its top: NAME.loops and NAME.cu, or NAME.nest, .loops and .ll. Returns paths.
std::vector<std::string> write_strings(const std::string& directory, const jit::LoopNest& nest, const jit::Source& source, const runtime::Kind& kind,
                                       bool assembly, const std::vector<std::string>& notes = {});

}  // namespace sinter::engine
