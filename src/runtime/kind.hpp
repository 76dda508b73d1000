// A kind of device. Later modules use a device only through this value. A new kind is a folder of src/runtime that registers such a value, and a folder of
// src/jit that generates its code.
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

/// The number of blocks, the threads of a block, and the shared memory that the launch gives a block in addition to the static one.
struct Launch {
  std::int64_t blocks = 0;
  int threads = 0;
  int shared_bytes = 0;
};
/// Returns the launch of a nest on a GPU. CUDA and OpenCL divide a nest in the same way.
Launch launch_on_gpu(const jit::LoopNest& nest, const fuse::Limits& limits);

struct Kind {
  std::string_view name;             // its name in SINTER_DEVICE
  fuse::Backend backend{};           // the backend in its devices' limits
  bool numbered = false;             // there may be several devices: "name:1"
  bool interprets = false;           // its devices run a nest without machine code: load() takes an empty image
  bool launches_parts = false;       // its devices run a kernel at a part of its points
  bool exchanges = false;            // DLPack has a type of device for its addresses; otherwise a copy on the host is exported
  bool reports_resources = false;    // its compiler reports registers and spills, by which kernels are split again
  const char* generator = "";        // identity of the generator of its kernels (jit/identities.hpp)
  std::string_view compiler_name;    // such as "LLVM"
  std::string_view compiler_advice;  // advice if there is no compiler: "Install ... or set ..."

  /// Returns the number of devices; if ranks are threads, each rank uses one. If the function is empty, all ranks share the first device.
  std::function<int()> count;
  /// Opens a device. Throws DeviceError if there is no such device.
  std::function<DevicePtr(int ordinal)> open;
  /// Finds the compiler without loading it. Returns null if there is none.
  std::function<jit::CompilerPtr()> find_compiler;
  std::function<jit::Source(const jit::LoopNest&, const fuse::Limits&)> generate;
  /// Returns whether machine code and interpreter give the same bits for a nest, so that either may run it.
  std::function<bool(const jit::LoopNest&)> same_bits;
  /// Divides a nest among blocks of threads, at its present sizes. If the function is empty, the kind has no blocks.
  std::function<Launch(const jit::LoopNest&, const fuse::Limits&)> launch;
  /// Names the library that computes a call: its name, version and method. If the function is empty, the kind computes no library calls.
  std::function<std::string(const fuse::LibraryCall&)> library;
  /// Opens the library, so that the first call does not. May be empty.
  std::function<void(const fuse::LibraryCall&)> prepare_call;
  /// Returns the sources of the kernels by which the kind's devices compute a library call; none if a library computes it. If the function is empty, a library
  /// computes every call.
  std::function<std::vector<jit::Source>(const fuse::LibraryCall&, const fuse::Limits&)> call_sources = {};
  /// Returns a kernel's texts for inspection, as pairs of extension and text. `assembly`: includes the compiler's assembly, if there is any.
  std::function<std::vector<std::pair<std::string, std::string>>(const jit::LoopNest&, const jit::Source&, jit::Compiler*, bool assembly)> strings;

  /// Returns the lines of `sinter info` for the devices of this machine: one for each, or the reason why there is none.
  std::function<std::vector<std::string>()> describe;

  /// Returns the compiler, which is searched once per process.
  jit::Compiler* compiler() const;
};

/// Registers a kind, which is never destroyed. A kind's folder calls this when the library is loaded.
bool register_kind(Kind kind);
/// Returns all kinds, by name.
const std::vector<const Kind*>& kinds();
/// Returns the kind of this name, or null.
const Kind* find_kind(std::string_view name);
const Kind& kind_of(const fuse::Limits& limits);
/// Returns the kind that runs nests for which there is no machine code.
const Kind& interpreting_kind();

}  // namespace sinter::runtime
