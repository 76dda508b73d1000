// A kind of device as it registers itself. Later modules use a device only through this value. A new kind is a folder of src/runtime that registers one of
// these values, and a folder of src/jit where its code is generated.
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

/// Number of blocks, threads of a block, and the shared memory that the launch gives a block beside the compiler's own.
struct Launch {
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
};
/// Returns the launch of a nest on a GPU. CUDA and OpenCL divide a nest alike.
Launch launch_on_gpu(const jit::LoopNest& nest, const fuse::Limits& limits);

struct Kind {
  std::string_view name;             // its name in SINTER_DEVICE
  fuse::Backend backend{};           // the backend in its devices' limits
  bool numbered = false;             // there may be several devices: "name:1"
  bool interprets = false;           // its devices run a nest without machine code: load() takes an empty image
  bool launches_parts = false;       // its devices run a kernel at a part of its points
  bool exchanges = false;            // DLPack has a type of device for its addresses; otherwise the host hands on a copy
  bool reports_resources = false;    // its compiler reports registers and spills, by which kernels are split again
  const char* generator = "";        // identity of the generator of its kernels (jit/identities.hpp)
  std::string_view compiler_name;    // such as "LLVM"
  std::string_view compiler_advice;  // advice where there is none: "Install ... or set ..."

  /// Returns the number of devices of a kind of which each rank takes one where ranks are threads. Empty: they share the first.
  std::function<int()> count;
  /// Throws DeviceError when there is no such device.
  std::function<DevicePtr(int ordinal)> open;
  /// Finds the compiler without loading it. Null when there is none.
  std::function<jit::CompilerPtr()> find_compiler;
  std::function<jit::Source(const jit::LoopNest&, const fuse::Limits&)> generate;
  /// Returns whether machine code and interpreter give the same bits for a nest, so that either may run it.
  std::function<bool(const jit::LoopNest&)> same_bits;
  /// Divides a nest among blocks of threads, at its present sizes. Empty: the kind has no blocks.
  std::function<Launch(const jit::LoopNest&, const fuse::Limits&)> launch;
  /// Names the library that computes a call: its name, version and method. Empty: the kind computes no library calls.
  std::function<std::string(const fuse::LibraryCall&)> library;
  /// Returns the sources of the kernels by which the kind's devices compute a library call; none where a library computes it. Empty: a library always does.
  std::function<std::vector<jit::Source>(const fuse::LibraryCall&, const fuse::Limits&)> call_sources = {};
  /// Returns a kernel's texts for inspection, as pairs of extension and text. `assembly`: with the compiler's assembly, where it gives any.
  std::function<std::vector<std::pair<std::string, std::string>>(const jit::LoopNest&, const jit::Source&, jit::Compiler*, bool assembly)> strings;

  /// Returns the lines of `sinter info` for the devices of this machine: one for each, or the reason why there is none.
  std::function<std::vector<std::string>()> describe;

  /// Returns the compiler, which is searched once per process.
  jit::Compiler* compiler() const;
};

/// Registers a kind, which lives as long as the process. A kind's folder calls this when the library is loaded.
bool register_kind(Kind kind);
/// Returns all kinds, by name.
const std::vector<const Kind*>& kinds();
/// Returns the kind of this name, or null.
const Kind* find_kind(std::string_view name);
const Kind& kind_of(const fuse::Limits& limits);
/// Returns the kind that runs nests for which there is no machine code.
const Kind& interpreting_kind();

}  // namespace sinter::runtime
