// Compiles CUDA C++ to cubin through NVRTC, which needs no GPU. If the GPU is newer than NVRTC, the result is PTX, which the driver compiles. The library is
// opened at the first compile.
#include "jit/cuda/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "jit/compiler.hpp"
#include "jit/cuda/report.hpp"
#include "jit/library.hpp"
#include "jit/until_exit.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit {
namespace cuda {
namespace {

/// NVRTC opens its builtins by their bare name. If the loader does not search NVRTC's directory, they are found only if they are loaded already.
void load_builtins_beside(const std::filesystem::path& library) {
  std::error_code ignored;
  for (const auto& file : std::filesystem::directory_iterator(library.parent_path(), ignored))
    if (file.path().filename().string().starts_with("libnvrtc-builtins.so")) dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
}

/// Opens the library and finds every function. Throws CompileError naming a function that is missing.
Nvrtc open_nvrtc(const std::string& path) {
  load_builtins_beside(path);
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw CompileError(fmt::format("cannot open NVRTC: {}", dlerror()));
  Nvrtc api;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function) throw CompileError(fmt::format("{} has no {}: NVRTC 11.2 or later is needed", path, name));
  };
  find(api.version, "nvrtcVersion");
  find(api.error_string, "nvrtcGetErrorString");
  find(api.create_program, "nvrtcCreateProgram");
  find(api.destroy_program, "nvrtcDestroyProgram");
  find(api.compile_program, "nvrtcCompileProgram");
  find(api.cubin_size, "nvrtcGetCUBINSize");
  find(api.cubin, "nvrtcGetCUBIN");
  find(api.ptx_size, "nvrtcGetPTXSize");
  find(api.ptx, "nvrtcGetPTX");
  find(api.arch_count, "nvrtcGetNumSupportedArchs");
  find(api.archs, "nvrtcGetSupportedArchs");
  find(api.log_size, "nvrtcGetProgramLogSize");
  find(api.log, "nvrtcGetProgramLog");
  return api;
}

std::vector<std::string> split_options(const Source& source) {
  std::vector<std::string> options;
  std::istringstream words(source.options);
  for (std::string word; words >> word;) options.push_back(word);
  return options;
}

class NvrtcCompiler : public Compiler {
 public:
  explicit NvrtcCompiler(std::string path) : path_(std::move(path)), identity_(library_identity(path_)) {}

  std::string identity() const override { return identity_; }
  std::string path() const override { return path_; }

  Binary compile(const Source& source) override {
    const auto inside = UntilExit<Nvrtc>::inside("NVRTC", source.entry);
    const Nvrtc& api = opened();
    const auto start = std::chrono::steady_clock::now();

    std::vector<std::string> options = split_options(source);
    const bool as_ptx = make_known(options);
    if (!as_ptx) options.push_back("--ptxas-options=-v");  // prints the resource report
    if (has_own_cache_) options.push_back("--no-cache");   // NVRTC would print no report for a kernel from its own cache
    if (has_minimal_) options.push_back("--minimal");      // omits textures and the runtime's functions, which saves an eighth of a small kernel's compile time
    std::vector<const char*> option_pointers;
    for (const std::string& option : options) option_pointers.push_back(option.c_str());

    const std::string file = source.entry + ".cu";
    Nvrtc::Program raw = nullptr;
    if (int r = api.create_program(&raw, source.text.c_str(), file.c_str(), 0, nullptr, nullptr))
      throw CompileError(fmt::format("kernel {}: NVRTC made no program: {}", source.entry, api.error_string(r)));
    const auto destroy = [&api](Nvrtc::Program p) { api.destroy_program(&p); };
    const std::unique_ptr<_nvrtcProgram, decltype(destroy)> program(raw, destroy);

    const int result = api.compile_program(raw, static_cast<int>(option_pointers.size()), option_pointers.data());
    const std::string log = read_log(api, raw);
    if (result != 0)
      throw RefusedSource(fmt::format("kernel {} does not compile for {} ({}):\n{}\n{}", source.entry, source.target, api.error_string(result), log,
                                      source_around_errors(source.text, log)));
    Binary binary;
    binary.entry = source.entry;
    const char* const image = as_ptx ? "PTX" : "cubin";
    std::size_t size = 0;
    if (int r = (as_ptx ? api.ptx_size : api.cubin_size)(raw, &size); r != 0 || size == 0)
      throw CompileError(fmt::format("kernel {}: NVRTC gave no {} for {}: {}", source.entry, image, source.target, api.error_string(r)));
    binary.image.resize(size);
    if (int r = (as_ptx ? api.ptx : api.cubin)(raw, reinterpret_cast<char*>(binary.image.data())))
      throw CompileError(fmt::format("kernel {}: the {} cannot be read: {}", source.entry, image, api.error_string(r)));
    binary.report = parse_report(log);
    binary.report.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return binary;
  }

 private:
  const Nvrtc& opened() {
    const std::scoped_lock lock(mutex_);
    if (api_.version) return api_;
    const Nvrtc api = open_nvrtc(path_);
    UntilExit<Nvrtc>::opened();
    int major = 0, minor = 0;
    api.version(&major, &minor);
    has_own_cache_ = major > 12 || (major == 12 && minor >= 9);
    has_minimal_ = major > 12 || (major == 12 && minor >= 4);
    int count = 0;
    if (api.arch_count(&count) == 0 && count > 0) {
      known_.resize(static_cast<std::size_t>(count));
      if (api.archs(known_.data()) != 0) known_.clear();
    }
    log().debug("NVRTC {}.{} opened from {}", major, minor, path_);
    return api_ = api;
  }

  /// Replaces an architecture that is newer than this NVRTC by the newest virtual one that NVRTC knows. Returns whether it did.
  bool make_known(std::vector<std::string>& options) const {
    static constexpr std::string_view kReal = "--gpu-architecture=sm_";
    if (known_.empty()) return false;
    const int newest = *std::max_element(known_.begin(), known_.end());
    for (std::string& option : options) {
      if (option.rfind(kReal, 0) != 0 || std::atoi(option.c_str() + kReal.size()) <= newest) continue;
      option = fmt::format("--gpu-architecture=compute_{}", newest);
      return true;
    }
    return false;
  }

  static std::string read_log(const Nvrtc& api, Nvrtc::Program program) {
    std::size_t size = 0;
    if (api.log_size(program, &size) != 0 || size <= 1) return {};
    std::string log(size, '\0');
    if (api.log(program, log.data()) != 0) return {};
    log.resize(size - 1);  // the size includes the terminating zero
    return log;
  }

  const std::string path_, identity_;
  std::mutex mutex_;
  Nvrtc api_;
  bool has_own_cache_ = false, has_minimal_ = false;
  std::vector<int> known_;  // architectures that NVRTC compiles for
};

}  // namespace
}  // namespace cuda

CompilerPtr find_nvrtc(int driver_major) {
  std::vector<std::string> places;
  if (const char* home = std::getenv("CUDA_HOME")) places.push_back(std::string(home) + "/lib64");
  for (const char* place : {"/usr/local/cuda/lib64", "/usr/local/cuda*/lib64", "/opt/cuda/lib64"}) places.push_back(place);
  const std::vector<std::string> names = {"libnvrtc.so.*", "libnvrtc.so"};
  std::string path = find_library("SINTER_NVRTC", names, places, 11, driver_major);
  if (path.empty() && driver_major > 0) {
    path = find_library("SINTER_NVRTC", names, places, 11);
    if (!path.empty())
      log().warn("{} is newer than the GPU's driver, which is for CUDA {}: its kernels will not load. Install a newer driver, or NVRTC {}", path, driver_major,
                 driver_major);
  }
  return path.empty() ? nullptr : std::make_shared<cuda::NvrtcCompiler>(path);
}

}  // namespace sinter::jit
