// Source: a generated kernel before compilation. Binary: the same kernel after compilation. Both are plain values. The source's content decides the cache key.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sinter::jit {

struct Source {
  std::string target;     // "sm_90", or "cpu:" followed by the architecture and feature list
  std::string compiler;   // name, version and build of the compiler
  std::string options;    // every option that changes the binary, space separated
  std::string entry;      // the name of the kernel's symbol
  std::string text;       // the whole source: CUDA C++ or LLVM IR
  std::string generator;  // the identity of its generator (identities.hpp)
};

/// The compiler's report on a kernel. A figure that the report lacks is -1.
struct ResourceReport {
  int registers = -1;
  int spill_bytes = -1;   // spill stores + spill loads
  int shared_bytes = -1;  // static shared memory
  int stack_bytes = -1;
  double compile_ms = 0;
};

enum class Origin : std::uint8_t { memory, disk, compiled };

struct Binary {
  std::string entry;
  std::vector<std::uint8_t> image;  // cubin, or a relocatable object
  ResourceReport report;
  std::string note;  // the reason for the kernel's fusion boundary, stored in the cache entry
  Origin origin = Origin::compiled;
};

}  // namespace sinter::jit
