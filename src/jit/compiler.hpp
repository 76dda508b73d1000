// A run-time compiler turns a Source into a Binary. Its library is opened at the first compilation, never before. identity() only reads the library's file, so
// that a warm process loads no compiler.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "jit/loop_nest.hpp"
#include "jit/source.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {

/// Thrown if the compiler rejects a kernel's source, which is a fault of the generator.
struct RefusedSource : CompileError {
  using CompileError::CompileError;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Returns name, version and build ("libLLVM.so.19.1 build 3f2a..."), read from the library's file without loading it.
  virtual std::string identity() const = 0;
  /// Returns the library's file, for `sinter info`.
  virtual std::string path() const = 0;
  /// Compiles a source. Thread-safe. Throws CompileError with the compiler's log, or RefusedSource if the source has an error.
  virtual Binary compile(const Source& source) = 0;
};
using CompilerPtr = std::shared_ptr<Compiler>;

/// Finds libLLVM (16 and later): $SINTER_LLVM (a file), then the usual places. Returns null when there is none.
CompilerPtr find_llvm();
/// Finds libnvrtc: $SINTER_NVRTC (a file), $CUDA_HOME, /usr/local/cuda, then the usual places, or null. `driver_major`: the driver's CUDA version, or 0. A
/// driver does not load kernels of a later NVRTC, so a later NVRTC is taken only if there is no other, with a warning.
CompilerPtr find_nvrtc(int driver_major = 0);

/// A processor for which kernels are compiled.
struct CpuTarget {
  std::string arch;       // "x86-64" or "aarch64" (llvm/architecture.hpp); on other processors, which interpret, the system's name
  std::string features;   // LLVM's names: "+avx2,+fma,..."
  int vector_bytes = 16;  // 64 with AVX-512, 32 with AVX2
};
/// Returns this machine's processor. It is found without LLVM.
CpuTarget host_cpu();
/// Returns the processor of a source's target.
CpuTarget cpu_of(std::string_view target);
/// Returns the processor with only the features that all processors of an architecture have. Throws CompileError.
CpuTarget plainest_cpu(std::string_view arch);
/// Returns this processor's own name with the width of its vectors, "AMD EPYC 9B14, vectors of 64 bytes", or its features if it has no name.
std::string host_processor();

/// Generates the source of a loop nest. The Source holds all options that matter. The caller adds the compiler's identity.
Source generate_llvm(const LoopNest& nest, const CpuTarget& cpu);
Source generate_cuda(const LoopNest& nest, int sm);
/// Throws DeviceError if the kernel computes in float64 and the device does not support it.
Source generate_opencl(const LoopNest& nest, const fuse::Limits& limits);

/// Returns the assembly of a generated LLVM source, for dumps. Throws CompileError.
std::string llvm_assembly(Compiler& llvm, const Source& source);

/// The most neighbouring rows that a kernel with its lanes along the rows computes together, and the points of rows that it computes together if it reads them
/// several times: so few that they are still in the first caches when they are read again.
inline constexpr int kMaxRowsAtOnce = 16;
inline constexpr std::int64_t kPointsAtOnce = 32768;
/// Returns the largest number of rows of so many points that are computed together.
inline std::int64_t rows_at_once(std::int64_t row_points) {
  return std::clamp<std::int64_t>(kPointsAtOnce / std::max<std::int64_t>(row_points, 1), 1, kMaxRowsAtOnce);
}

/// The calling convention of CPU kernels in generated machine code.
///   pointers: inputs, outputs, then the flags of checks if there are any. scalars: 8 bytes each (float32 in the low 4).
///   [outer_begin, outer_end): a range of the flattened parallel axes, without the vector axis if the vector axis is a parallel axis.
///   [inner_begin, inner_end): a range of the vector axis (0..1 if the vector axis is a row axis).
/// scratch: the nest's persistent buffers. If the vector axis is a row axis, each has row_points elements of 8 bytes for each of rows_at_once() rows, rounded
/// up to 64 bytes. If it is a parallel axis, each has row_points * 64 elements of 8 bytes.
using CpuEntry = void (*)(void* const* pointers, const std::int64_t* ints, const std::uint64_t* scalars, void* scratch, std::int64_t outer_begin,
                          std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end);

/// Machine code of a relocatable object, made executable in this process without a compiler. The functions that it calls come from a fixed table of math
/// functions (jit/llvm/…); any other function throws CompileError, and so does an object of another architecture.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  virtual CpuEntry entry() const = 0;
};
std::shared_ptr<LoadedCode> load_object(const Binary& binary);

/// Returns a library file's identity without loading it: the file name of the real path, and the GNU build id (or size and mtime).
std::string library_identity(const std::string& path);

}  // namespace sinter::jit
