// LLVM as a Compiler. The library is opened at the first compile.
#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "base/once.hpp"
#include "jit/compiler.hpp"
#include "jit/library.hpp"
#include "jit/llvm/architecture.hpp"
#include "jit/llvm/llvm_c.hpp"
#include "jit/until_exit.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace llvm {

Api open_llvm(const char* path) {
  // The library is never closed. Compiled code does not need it, but LLVM cannot be unloaded safely.
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (!library) throw CompileError(fmt::format("cannot open {}: {}", path, dlerror()));
  Api api;
  api.library = library;
#define SINTER_LLVM_LOOKUP(name, result, parameters)                               \
  api.name = reinterpret_cast<result(*) parameters>(dlsym(library, "LLVM" #name)); \
  if (!api.name) throw CompileError(fmt::format("{} has no LLVM" #name ": LLVM 16 or later is needed", path));
  SINTER_LLVM_API(SINTER_LLVM_LOOKUP)
#undef SINTER_LLVM_LOOKUP
  return api;
}

namespace {

/// The text has explicit vectors, so the passes only inline the helpers and clean up.
constexpr char kPasses[] =
    "always-inline,globaldce,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),"
    "early-cse,simplifycfg)";
constexpr char kPassesUpTo17[] = "always-inline,globaldce,function(sroa,early-cse,instcombine,simplifycfg,loop-mssa(licm),early-cse,simplifycfg)";

struct Llvm;  // stands for the library in UntilExit

/// Owns one LLVM object and disposes of it by the opened library's function.
template <class T> class Owned {
 public:
  Owned(T object, void (*dispose)(T)) : object_(object), dispose_(dispose) {}
  Owned(const Owned&) = delete;
  ~Owned() {
    if (object_) dispose_(object_);
  }
  T get() const { return object_; }
  T* out() { return &object_; }

 private:
  T object_;
  void (*dispose_)(T);
};

class LlvmCompiler final : public Compiler {
 public:
  LlvmCompiler(std::string path, std::string identity) : path_(std::move(path)), identity_(std::move(identity)) {}
  std::string identity() const override { return identity_; }
  std::string path() const override { return path_; }

  Binary compile(const Source& source) override {
    const auto start = std::chrono::steady_clock::now();
    const std::string object = emit(source, kEmitObject);
    Binary binary;
    binary.entry = source.entry;
    binary.image.assign(object.begin(), object.end());
    binary.report.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return binary;
  }

  std::string emit(const Source& source, int kind) {
    const auto inside = UntilExit<Llvm>::inside("LLVM", source.entry);
    opened_([this] { open(); });
    const Api& api = api_;
    const Architecture& architecture = architecture_of(source.target);
    const std::string triple(architecture.triple), processor(architecture.processor);
    initialize(architecture);
    Diagnostics diagnostics{api, {}};
    Owned<Context> context(api.ContextCreate(), api.ContextDispose);
    api.ContextSetDiagnosticHandler(context.get(), &LlvmCompiler::collect, &diagnostics);

    Owned<ModuleRef> module(nullptr, api.DisposeModule);
    char* message = nullptr;
    // The parser takes ownership of the buffer.
    const MemoryBuffer text = api.CreateMemoryBufferWithMemoryRangeCopy(source.text.data(), source.text.size(), source.entry.c_str());
    if (api.ParseIRInContext(context.get(), text, module.out(), &message)) fail(source, "does not parse", message);
    message = nullptr;
    if (api.VerifyModule(module.get(), kVerifierReturnStatus, &message)) fail(source, "is not valid IR", message);
    api.DisposeMessage(message);

    Target target = nullptr;
    message = nullptr;
    if (api.GetTargetFromTriple(triple.c_str(), &target, &message)) fail(source, "has no target", message);
    Owned<TargetMachine> machine(
        api.CreateTargetMachine(target, triple.c_str(), processor.c_str(), features(source).c_str(), kCodeGenDefault, kRelocPic, kCodeModelSmall),
        api.DisposeTargetMachine);
    Owned<TargetData> layout(api.CreateTargetDataLayout(machine.get()), api.DisposeTargetData);
    api.SetTarget(module.get(), triple.c_str());
    api.SetModuleDataLayout(module.get(), layout.get());

    Owned<PassOptions> options(api.CreatePassBuilderOptions(), api.DisposePassBuilderOptions);
    if (ErrorRef error = api.RunPasses(module.get(), passes_, machine.get(), options.get())) {
      char* why = api.GetErrorMessage(error);
      const std::string reason = why;
      api.DisposeErrorMessage(why);
      throw CompileError(fmt::format("LLVM rejects the passes for kernel {}: {}", source.entry, reason));
    }
    Owned<MemoryBuffer> output(nullptr, api.DisposeMemoryBuffer);
    message = nullptr;
    if (api.TargetMachineEmitToMemoryBuffer(machine.get(), module.get(), kind, &message, output.out())) fail(source, "cannot be emitted", message);
    if (!diagnostics.errors.empty()) throw RefusedSource(fmt::format("LLVM rejects kernel {}: {}", source.entry, diagnostics.errors));
    return {api.GetBufferStart(output.get()), api.GetBufferSize(output.get())};
  }

 private:
  struct Diagnostics {
    const Api& api;
    std::string errors;
  };

  static void collect(DiagnosticInfo info, void* to) {
    auto& diagnostics = *static_cast<Diagnostics*>(to);
    if (diagnostics.api.GetDiagInfoSeverity(info) != kSeverityError) return;
    char* description = diagnostics.api.GetDiagInfoDescription(info);
    diagnostics.errors += fmt::format("{}\n", description);
    diagnostics.api.DisposeMessage(description);
  }

  /// Returns the features, the text after the architecture in "cpu:x86-64 +avx2,+fma".
  static std::string features(const Source& source) {
    const std::size_t space = source.target.find(' ');
    return space == std::string::npos ? "" : source.target.substr(space + 1);
  }

  [[noreturn]] void fail(const Source& source, const char* what, char* message) {
    const std::string text = message ? message : "no reason given";
    if (message) api_.DisposeMessage(message);
    throw RefusedSource(fmt::format("kernel {} {}: {}", source.entry, what, text));
  }

  void open() {
    // No handler for LLVM's fatal errors is installed, because there is only one per process, and another user of the same library may have set it. The
    // verifier finds errors in a module, and LLVM reports errors to the module's own context.
    api_ = open_llvm(path_.c_str());
    UntilExit<Llvm>::opened();
    // LLVM 18 introduced this option of instcombine. Without it, some builds of LLVM stop with a harmless remark.
    const bool old = path_.find("LLVM-16") != std::string::npos || path_.find("LLVM-17") != std::string::npos;
    passes_ = old ? kPassesUpTo17 : kPasses;
  }

  /// Registers LLVM's part for an architecture, once.
  void initialize(const Architecture& architecture) {
    const std::lock_guard lock(initializing_);
    if (initialized_.contains(&architecture)) return;
    for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
      const auto function = reinterpret_cast<void (*)()>(dlsym(api_.library, fmt::format("LLVMInitialize{}{}", architecture.component, part).c_str()));
      if (!function)
        throw CompileError(fmt::format("{} generates no code for {}: it was built without LLVM's target {}", path_, architecture.name, architecture.component));
      function();
    }
    initialized_.insert(&architecture);
  }

  std::string path_, identity_;
  Once opened_;
  std::mutex initializing_;
  std::set<const Architecture*> initialized_;
  Api api_;
  const char* passes_ = kPasses;
};

}  // namespace
}  // namespace llvm

CompilerPtr find_llvm() {
  if (!llvm::host_architecture()) return nullptr;
  const std::string path = find_library("SINTER_LLVM", {"libLLVM.so.*", "libLLVM-*.so", "libLLVM-*.so.*"}, {}, 16);
  if (path.empty()) return nullptr;
  return std::make_shared<llvm::LlvmCompiler>(path, library_identity(path));
}

std::string llvm_assembly(Compiler& compiler, const Source& source) {
  auto* const llvm = dynamic_cast<llvm::LlvmCompiler*>(&compiler);
  if (!llvm) throw CompileError("assembly of a CPU kernel needs LLVM, not " + compiler.identity());
  return llvm->emit(source, llvm::kEmitAssembly);
}

}  // namespace sinter::jit
