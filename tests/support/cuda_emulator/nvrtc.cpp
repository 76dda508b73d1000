// A stand-in for libnvrtc. If the real library is found, it compiles, and its log, report and errors are passed on. The "cubin" also contains the source, which
// the stand-in for the driver compiles for the host.
//   SINTER_EMULATOR_NVRTC  the real library's file, or "none" for no real library
#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <regex>
#include <string>

#include "container.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using cuda_emulator::Container;

/// Returns the first number of an attribute of the entry, __launch_bounds__(threads[, blocks]) or __cluster_dims__(x, 1, 1); 0 if it has none.
int attribute_of(const std::string& source, const char* attribute) {
  const std::regex pattern(std::string(attribute) + R"(\s*\(\s*(\d+))");
  std::smatch match;
  return std::regex_search(source, match, pattern) ? std::atoi(match[1].str().c_str()) : 0;
}

constexpr int kKnown[] = {75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};  // architectures of NVRTC 13.0
constexpr int kInvalidInput = 3, kInvalidOption = 5, kCompilation = 6;       // nvrtcResult

struct Real {
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*destroy)(void**) = nullptr;
  int (*compile)(void*, int, const char* const*) = nullptr;
  int (*cubin_size)(void*, std::size_t*) = nullptr;
  int (*cubin)(void*, char*) = nullptr;
  int (*ptx_size)(void*, std::size_t*) = nullptr;
  int (*ptx)(void*, char*) = nullptr;
  int (*arch_count)(int*) = nullptr;
  int (*archs)(int*) = nullptr;
  int (*log_size)(void*, std::size_t*) = nullptr;
  int (*log)(void*, char*) = nullptr;
};

std::string real_path() {
  if (const char* file = std::getenv("SINTER_EMULATOR_NVRTC")) return file;
  std::string found;
  const char* const home = std::getenv("CUDA_HOME");
  for (const std::string place : {home ? home : "/usr/local/cuda", "/usr/local/cuda", "/usr/local/cuda*"}) {
    glob_t files;
    if (glob((place + "/lib64/libnvrtc.so.[0-9]*").c_str(), 0, nullptr, &files) == 0 && files.gl_pathc > 0) found = files.gl_pathv[files.gl_pathc - 1];
    globfree(&files);
    if (!found.empty()) break;
  }
  return found;
}

/// Returns the real library, opened once; null if there is none.
const Real* real() {
  static const Real* opened = []() -> const Real* {
    const std::string path = real_path();
    std::error_code ignored;  // NVRTC opens its builtins by their bare name
    for (const auto& file : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path(), ignored))
      if (file.path().filename().string().starts_with("libnvrtc-builtins.so")) dlopen(file.path().c_str(), RTLD_NOW | RTLD_LOCAL);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library || path.empty()) return nullptr;
    static Real api;
    const auto find = [&](auto& f, const char* name) {
      f = reinterpret_cast<std::remove_reference_t<decltype(f)>>(dlsym(library, name));
      return f != nullptr;
    };
    const bool complete = find(api.version, "nvrtcVersion") && find(api.error_string, "nvrtcGetErrorString") && find(api.create, "nvrtcCreateProgram") &&
                          find(api.destroy, "nvrtcDestroyProgram") && find(api.compile, "nvrtcCompileProgram") && find(api.cubin_size, "nvrtcGetCUBINSize") &&
                          find(api.cubin, "nvrtcGetCUBIN") && find(api.ptx_size, "nvrtcGetPTXSize") && find(api.ptx, "nvrtcGetPTX") &&
                          find(api.arch_count, "nvrtcGetNumSupportedArchs") && find(api.archs, "nvrtcGetSupportedArchs") &&
                          find(api.log_size, "nvrtcGetProgramLogSize") && find(api.log, "nvrtcGetProgramLog");
    return complete ? &api : nullptr;
  }();
  return opened;
}

std::string entry_of(const std::string& source) {
  static const std::regex& pattern = *new std::regex(R"(__global__\s+void\s+(?:__\w+__\s*\([^)]*\)\s*)*(\w+)\s*\()");
  std::smatch match;
  return std::regex_search(source, match, pattern) ? match[1].str() : std::string();
}

/// Replaces inline PTX (at most two operands and one result) by a call of the function in the prelude that has the instruction's name.
std::string without_ptx(std::string source) {
  static const std::regex barrier(R"re(asm volatile\("barrier\.cluster\.(\w+)\.(\w+)\.aligned;" ::: "memory"\);)re");
  source = std::regex_replace(source, barrier, "cuda_emulator::barrier_cluster_$1_$2_aligned();");
  static const std::regex pattern(R"re(asm\("([\w.]+) %0, %1(?:, %2)?;" : "=\w"\((\w+)\) : "\w"\(([\w.]+)\)(?:, "\w"\(([\w.]+)\))?\);)re");
  std::string text;
  auto from = source.begin();
  for (std::sregex_iterator it(source.begin(), source.end(), pattern), end; it != end; ++it) {
    std::string function = (*it)[1];
    for (char& c : function)
      if (c == '.') c = '_';
    text.append(from, source.begin() + it->position());
    text += (*it)[2].str() + " = cuda_emulator::" + function + "(" + (*it)[3].str() + ((*it)[4].matched ? ", " + (*it)[4].str() : "") + ");";
    from = source.begin() + it->position() + it->length();
  }
  return text.append(from, source.end());
}

int figure(const std::string& log, const char* pattern) {
  std::smatch match;
  return std::regex_search(log, match, std::regex(pattern)) ? std::atoi(match[1].str().c_str()) : -1;
}

}  // namespace

struct _nvrtcProgram {
  std::string source, name, log, image;
  bool is_ptx = false;
};

EXPORT int nvrtcVersion(int* major, int* minor) {
  if (real()) return real()->version(major, minor);
  *major = 12;
  *minor = 0;
  return 0;
}

EXPORT const char* nvrtcGetErrorString(int result) {
  if (real()) return real()->error_string(result);
  return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}

EXPORT int nvrtcCreateProgram(_nvrtcProgram** program, const char* source, const char* name, int headers, const char* const*, const char* const*) {
  if (!program || !source || headers != 0) return kInvalidInput;
  *program = new _nvrtcProgram{source, name ? name : "default_program", {}, {}, false};
  return 0;
}

EXPORT int nvrtcDestroyProgram(_nvrtcProgram** program) {
  delete *program;
  *program = nullptr;
  return 0;
}

EXPORT int nvrtcCompileProgram(_nvrtcProgram* program, int count, const char* const* options) {
  Container c;
  for (int i = 0; i < count; ++i) {
    std::smatch match;
    const std::string option = options[i];
    if (!std::regex_search(option, match, std::regex(R"(^--gpu-architecture=(sm|compute)_(\d+)$)"))) continue;
    c.sm = std::atoi(match[2].str().c_str());
    c.is_ptx = match[1] == "compute";
  }
  if (c.sm == 0) {
    program->log = "the emulator needs an architecture, --gpu-architecture=sm_XX or compute_XX\n";
    return kInvalidOption;
  }
  if (const Real* api = real()) {
    void* actual = nullptr;
    if (int r = api->create(&actual, program->source.c_str(), program->name.c_str(), 0, nullptr, nullptr)) return r;
    const int result = api->compile(actual, count, options);
    std::size_t size = 0;
    if (api->log_size(actual, &size) == 0 && size > 1) {
      program->log.resize(size);
      api->log(actual, program->log.data());
      program->log.resize(size - 1);
    }
    const auto image_size = c.is_ptx ? api->ptx_size : api->cubin_size;
    if (result == 0 && image_size(actual, &size) == 0) {
      c.cubin.resize(size);
      (c.is_ptx ? api->ptx : api->cubin)(actual, c.cubin.data());
    }
    api->destroy(&actual);
    if (result != 0) return result;
  } else {
    program->log = "emulator: there is no NVRTC, the kernel was not compiled for the GPU\n";
  }
  c.registers = figure(program->log, R"(Used (\d+) registers)");
  c.stack_bytes = figure(program->log, R"((\d+) bytes stack frame)");
  c.shared_bytes = figure(program->log, R"((\d+) bytes smem)");
  int major = 0, minor = 0;
  nvrtcVersion(&major, &minor);
  c.compiler_version = 1000 * major + 10 * minor;
  c.launch_bounds = attribute_of(program->source, "__launch_bounds__");
  c.cluster = attribute_of(program->source, "__cluster_dims__");
  if (c.cluster > 0 && c.sm < 90) {
    program->log += "emulator: __cluster_dims__ is for sm_90 and later\n";
    return kCompilation;
  }
  c.entry = entry_of(program->source);
  c.source = without_ptx(program->source);
  if (c.entry.empty()) {
    program->log += "emulator: the source has no __global__ entry\n";
    return kCompilation;
  }
  program->is_ptx = c.is_ptx;
  program->image = cuda_emulator::pack(c);
  return 0;
}

// As in the real library, there is a cubin for a real architecture, and PTX for a virtual one.
EXPORT int nvrtcGetCUBINSize(_nvrtcProgram* program, std::size_t* size) {
  *size = program->is_ptx ? 0 : program->image.size();
  return 0;
}
EXPORT int nvrtcGetCUBIN(_nvrtcProgram* program, char* image) {
  std::memcpy(image, program->image.data(), program->image.size());
  return 0;
}
EXPORT int nvrtcGetPTXSize(_nvrtcProgram* program, std::size_t* size) {
  *size = program->is_ptx ? program->image.size() : 0;
  return 0;
}
EXPORT int nvrtcGetPTX(_nvrtcProgram* program, char* image) { return nvrtcGetCUBIN(program, image); }
EXPORT int nvrtcGetNumSupportedArchs(int* count) {
  if (real()) return real()->arch_count(count);
  *count = std::size(kKnown);
  return 0;
}
EXPORT int nvrtcGetSupportedArchs(int* archs) {
  if (real()) return real()->archs(archs);
  std::copy(std::begin(kKnown), std::end(kKnown), archs);
  return 0;
}
EXPORT int nvrtcGetProgramLogSize(_nvrtcProgram* program, std::size_t* size) {
  *size = program->log.size() + 1;
  return 0;
}
EXPORT int nvrtcGetProgramLog(_nvrtcProgram* program, char* log) {
  std::memcpy(log, program->log.c_str(), program->log.size() + 1);
  return 0;
}
