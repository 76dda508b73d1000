// A run-time compiler: takes a Source, returns a Binary. Its library is opened at the first compile, never before:
// identity() is answered from the file alone, so that a warm process maps no compiler.
#pragma once
#include <memory>
#include <string>

#include "jit/loop_nest.hpp"
#include "jit/source.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {

/// The compiler read a kernel's text and refused it: a fault of the generator.
struct RefusedSource : CompileError {
  using CompileError::CompileError;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Name, version and build ("libLLVM.so.19.1 build 3f2a..."), read from the library's file without loading it.
  virtual std::string identity() const = 0;
  /// The library file, for `sinter info`.
  virtual std::string path() const = 0;
  /// Thread-safe. Throws CompileError with the compiler's log, RefusedSource where the text is at fault.
  virtual Binary compile(const Source& source) = 0;
};
using CompilerPtr = std::shared_ptr<Compiler>;

/// Finds libLLVM (16 and later): $SINTER_LLVM (a file), then the usual places. Null when there is none.
CompilerPtr find_llvm();
/// Finds libnvrtc: $SINTER_NVRTC (a file), $CUDA_HOME, /usr/local/cuda, then the usual places. Null when there is none.
/// `driver_major`: the CUDA version of the driver that is to load the kernels, 0 where there is none; a later NVRTC's would not load.
CompilerPtr find_nvrtc(int driver_major = 0);

/// The processor as LLVM sees it: "x86_64-…" triple, cpu name "generic-by-features" and the explicit feature list, found
/// with no LLVM loaded (cpuid).
struct CpuTarget {
  std::string arch;       // "x86-64"
  std::string features;   // "+avx2,+fma,..."
  int vector_bytes = 16;  // 64 with AVX-512, 32 with AVX2
};
CpuTarget host_cpu();

/// Loop nest -> source. All options that matter are part of the Source. Compiler identity is left to the caller.
Source generate_llvm(const LoopNest& nest, const CpuTarget& cpu);
Source generate_cuda(const LoopNest& nest, int sm);

/// Assembly of a generated LLVM source, for dumps. Throws CompileError.
std::string llvm_assembly(Compiler& llvm, const Source& source);

/// The CPU kernels' calling convention, of generated machine code:
///   pointers: inputs, outputs, then the flags of checks where there are any; scalars: 8 bytes each (float32 in the low 4); scratch: the nest's persistent
///   buffers, see below. [outer_begin, outer_end): range of the flattened parallel axes, the vector axis excluded when it is a parallel axis; [inner_begin,
///   inner_end): range of that axis (0..1 when the vector axis is a row axis).
/// scratch: when the vector axis is a row axis, each persistent buffer takes row_points elements of 8 bytes, rounded up to 64 bytes;
/// when it is a parallel axis, row_points * 64 elements of 8 bytes per persistent buffer.
using CpuEntry = void (*)(void* const* pointers, const std::int64_t* ints, const std::uint64_t* scalars, void* scratch, std::int64_t outer_begin,
                          std::int64_t outer_end, std::int64_t inner_begin, std::int64_t inner_end);

/// Machine code of a relocatable object, made executable in this process with no compiler. Functions it calls are
/// resolved from a fixed table of math functions (jit/llvm/…); anything else throws CompileError.
class LoadedCode {
 public:
  virtual ~LoadedCode() = default;
  virtual CpuEntry entry() const = 0;
};
std::shared_ptr<LoadedCode> load_object(const Binary& binary);

/// A library file's identity without loading it: file name of the real path plus GNU build id (or size and mtime).
std::string library_identity(const std::string& path);

}  // namespace sinter::jit
