// A kind of device as it registers itself: all that the modules after this one know of it. A new kind is a folder of src/runtime that
// registers one of these values (and one under src/jit, where its code is generated).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fuse/limits.hpp"
#include "jit/compiler.hpp"
#include "runtime/executor.hpp"

namespace sinter::runtime {

/// Blocks, threads of each, and the shared memory that the launch gives each beside what the compiler placed.
struct Launch {
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
};

struct Kind {
  std::string_view name;             // what SINTER_DEVICE calls it
  fuse::Backend backend{};           // of its devices' limits
  bool numbered = false;             // there may be several: "name:1"
  bool interprets = false;           // its devices run a nest without machine code: load() with an empty image
  bool reports_resources = false;    // its compiler tells registers and spills, by which kernels are cut again
  const char* generator = "";        // the identity of what generates its kernels (jit/identities.hpp)
  std::string_view compiler_name;    // "LLVM"
  std::string_view compiler_advice;  // what to do when there is none: "Install ... or set ..."

  /// Throws DeviceError when there is no such device.
  std::function<DevicePtr(int ordinal)> open;
  /// Null when there is none. Found, not loaded.
  std::function<jit::CompilerPtr()> find_compiler;
  std::function<jit::Source(const jit::LoopNest&, const fuse::Limits&)> generate;
  /// Whether machine code and interpreter give the same bits for a nest, so that either may run it.
  std::function<bool(const jit::LoopNest&)> same_bits;
  /// How a nest is laid over blocks of threads, at its sizes; none: the kind has no blocks.
  std::function<Launch(const jit::LoopNest&, const fuse::Limits&)> launch;
  /// Who computes a library call: a library's name and version, the way it takes; none: the kind computes none.
  std::function<std::string(const fuse::LibraryCall&)> library;
  /// A kernel's strings for looking at, as extension and text; `assembly`: with the compiler's, where it gives any.
  std::function<std::vector<std::pair<std::string, std::string>>(const jit::LoopNest&, const jit::Source&, jit::Compiler*, bool assembly)> strings;

  /// What `sinter info` says of the devices that are here: one line each, or why there is none.
  std::function<std::vector<std::string>()> describe;

  /// The compiler, looked for once per process.
  jit::Compiler* compiler() const;
};

/// Called by a kind's folder when the library is loaded. The kind is kept for the life of the process.
bool register_kind(Kind kind);
/// All kinds, by name.
const std::vector<const Kind*>& kinds();
/// Null when there is none of this name.
const Kind* find_kind(std::string_view name);
const Kind& kind_of(const fuse::Limits& limits);
/// The kind that runs what no compiler took.
const Kind& interpreting_kind();

}  // namespace sinter::runtime
