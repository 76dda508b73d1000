// From a loop nest to a kernel that can run: generate, look in memory, look on disk, compile, load. One compile per key in a
// process, outside any lock but the key's own.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "cache/disk_cache.hpp"
#include "device/executor.hpp"
#include "fuse/limits.hpp"
#include "jit/compiler.hpp"
#include "sinter/engine.hpp"

namespace sinter::engine {

/// Where kernels are made for.
struct Target {
  fuse::Limits limits;
  bool interpret = false;    // no code is generated
  device::DevicePtr device;  // null: compile only
};

/// One kernel as the engine knows it.
struct Made {
  jit::Source source;         // empty text: interpreted
  jit::ResourceReport report;
  jit::Origin origin = jit::Origin::compiled;
  bool interpreted = false;
  std::string why_interpreted;  // set when a compile failed or there is no compiler
  device::KernelPtr kernel;   // null when the target has no device
};

struct Totals {
  std::atomic<std::uint64_t> launched{0}, library_calls{0}, compiled{0}, from_disk{0}, from_memory{0}, plans_made{0}, plans_reused{0}, guards_checked{0}, generated{0},
      fallbacks{0};
};

class Kernels {
 public:
  Kernels(Totals& totals) : totals_(totals) {}

  /// Disk cache and dump folder from now on.
  void configure(const cache::Settings& settings, const std::string& dump);
  /// Never throws for a compiler's failure: the kernel is interpreted then, with a warning.
  Made make(const jit::LoopNest& nest, const Target& target, const std::string& cut);

  /// The compiler for a target; null when there is none. Found once per process, not loaded.
  static jit::Compiler* compiler(bool cuda);
  std::shared_ptr<cache::DiskCache> disk() const;

 private:
  struct Entry {
    std::mutex mutex;
    bool done = false;
    jit::Binary binary;
    std::string failure;
    std::unordered_map<device::Device*, device::KernelPtr> loaded;
  };
  std::shared_ptr<Entry> entry_of(const jit::Source& source);
  void dump_strings(const jit::LoopNest& nest, const jit::Source& source);
  void obtain(Entry& entry, const jit::Source& source, const Target& target, const std::string& cut, Made& made);

  Totals& totals_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_;  // by the key's full text
  std::shared_ptr<cache::DiskCache> disk_;
  std::string dump_;
};

/// Writes one kernel's strings into a folder; returns the paths. NAME.cu, or NAME.nest and NAME.ll.
std::vector<std::string> write_strings(const std::string& directory, const jit::LoopNest& nest, const jit::Source& source, bool assembly);

}  // namespace sinter::engine
