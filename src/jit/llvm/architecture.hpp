// All that the CPU back end knows about an instruction set. The printer, the compiler and the loader read this table and test for no architecture by name.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "jit/compiler.hpp"

namespace sinter::jit::llvm {

/// The value that a relocation writes. S is the address of the symbol. If the symbol is outside of the object, S is the address of a stub that jumps to it. A
/// is the addend, and P is the address to which the relocation writes.
enum class Fix : std::uint8_t {
  word64,      // S + A in 64 bits
  distance32,  // S + A - P in 32 bits
  got32,       // the address of the word with the symbol's address, + A - P
  branch26,    // (S + A - P) / 4 in the low 26 bits of an instruction
  page21,      // the distance in pages between S + A and P, in the two fields of an ADRP instruction
  low12,       // the low 12 bits of S + A, in units of 2^shift bytes, in bits 10 to 21 of an instruction
};
struct RelocationRule {
  std::uint32_t type;
  Fix fix;
  int shift = 0;
};

/// The tasks for which some processors have one instruction. Others compute them by several operations.
enum class Task : std::uint8_t {
  to_int32,          // x truncated; NaN and values out of range give the least integer
  ldexp,             // x * 2^y, rounded once
  permute,           // the lanes of x that y's low bits name
  logarithm_limits,  // x, but the logarithm's limit, or NaN, where y is not positive and finite
};
/// The intrinsic of an instruction for some lanes, with its further parameters and arguments.
struct Instruction {
  Task task;
  DType operands, result;
  int lanes;
  std::string_view symbol, parameters, arguments;
};

struct Architecture {
  std::string_view name;                          // in a target: "cpu:x86-64 +avx2"
  std::string_view triple, processor, component;  // LLVM's names: the triple, the plainest processor, the stem of LLVMInitializeX86Target
  std::string_view features;                      // those of the plainest processor
  std::string_view fma;                           // the feature of fused multiply-adds; empty: every processor has them
  bool converts_half;                             // every processor converts between float16 and float32
  std::string_view fence;                         // the intrinsic that makes streaming stores visible to other threads; empty: the end of a launch does so
  std::span<const Instruction> instructions;      // from narrow to wide; a processor has those that fit its vectors
  std::uint16_t machine;                          // in an ELF header
  std::array<std::uint8_t, 8> jump;               // the code of a stub: jumps to the address in the next eight bytes
  std::span<const RelocationRule> relocations;

  bool has_fma(const CpuTarget& cpu) const;
};

/// Returns the architecture of this process, or null if kernels are not compiled for it.
const Architecture* host_architecture();
/// Returns the architecture of an ELF header's machine, or null.
const Architecture* architecture_of_machine(std::uint16_t machine);
/// Returns the architecture of a name ("aarch64") or of a source's target ("cpu:aarch64 +neon"). Throws CompileError.
const Architecture& architecture_of(std::string_view target);

}  // namespace sinter::jit::llvm
