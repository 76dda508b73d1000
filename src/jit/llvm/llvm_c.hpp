// Declarations of the functions of LLVM's C API that the compiler calls. They are looked up in the library at run time, so the build needs no LLVM. The API is
// stable: these signatures are the same in LLVM 16 and later.
#pragma once
#include <cstddef>

namespace sinter::jit::llvm {

using Context = struct OpaqueContext*;
using ModuleRef = struct OpaqueModule*;
using MemoryBuffer = struct OpaqueMemoryBuffer*;
using Target = struct OpaqueTarget*;
using TargetMachine = struct OpaqueTargetMachine*;
using TargetData = struct OpaqueTargetData*;
using PassOptions = struct OpaquePassOptions*;
using ErrorRef = struct OpaqueError*;
using DiagnosticInfo = struct OpaqueDiagnosticInfo*;
using DiagnosticHandler = void (*)(DiagnosticInfo, void*);

inline constexpr int kCodeGenDefault = 2, kRelocPic = 2, kCodeModelSmall = 3;
inline constexpr int kEmitAssembly = 0, kEmitObject = 1;
inline constexpr int kSeverityError = 0;
inline constexpr int kVerifierReturnStatus = 2;

// X(function without its LLVM prefix, result, parameters)
#define SINTER_LLVM_API(X)                                                                              \
  X(ContextCreate, Context, ())                                                                         \
  X(ContextDispose, void, (Context))                                                                    \
  X(ContextSetDiagnosticHandler, void, (Context, DiagnosticHandler, void*))                             \
  X(GetDiagInfoDescription, char*, (DiagnosticInfo))                                                    \
  X(GetDiagInfoSeverity, int, (DiagnosticInfo))                                                         \
  X(DisposeMessage, void, (char*))                                                                      \
  X(CreateMemoryBufferWithMemoryRangeCopy, MemoryBuffer, (const char*, std::size_t, const char*))       \
  X(DisposeMemoryBuffer, void, (MemoryBuffer))                                                          \
  X(GetBufferStart, const char*, (MemoryBuffer))                                                        \
  X(GetBufferSize, std::size_t, (MemoryBuffer))                                                         \
  X(ParseIRInContext, int, (Context, MemoryBuffer, ModuleRef*, char**))                                 \
  X(VerifyModule, int, (ModuleRef, int, char**))                                                        \
  X(DisposeModule, void, (ModuleRef))                                                                   \
  X(SetTarget, void, (ModuleRef, const char*))                                                          \
  X(SetModuleDataLayout, void, (ModuleRef, TargetData))                                                 \
  X(GetTargetFromTriple, int, (const char*, Target*, char**))                                           \
  X(CreateTargetMachine, TargetMachine, (Target, const char*, const char*, const char*, int, int, int)) \
  X(DisposeTargetMachine, void, (TargetMachine))                                                        \
  X(CreateTargetDataLayout, TargetData, (TargetMachine))                                                \
  X(DisposeTargetData, void, (TargetData))                                                              \
  X(CreatePassBuilderOptions, PassOptions, ())                                                          \
  X(DisposePassBuilderOptions, void, (PassOptions))                                                     \
  X(RunPasses, ErrorRef, (ModuleRef, const char*, TargetMachine, PassOptions))                          \
  X(GetErrorMessage, char*, (ErrorRef))                                                                 \
  X(DisposeErrorMessage, void, (char*))                                                                 \
  X(TargetMachineEmitToMemoryBuffer, int, (TargetMachine, ModuleRef, int, char**, MemoryBuffer*))

/// The functions of one opened library.
struct Api {
#define SINTER_LLVM_MEMBER(name, result, parameters) result(*name) parameters = nullptr;
  SINTER_LLVM_API(SINTER_LLVM_MEMBER)
#undef SINTER_LLVM_MEMBER
  void* library = nullptr;
};

/// Opens the library and looks up every function. Throws CompileError naming a function that is missing.
Api open_llvm(const char* path);

}  // namespace sinter::jit::llvm
