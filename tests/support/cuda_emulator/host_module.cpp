#include "host_module.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <vector>

extern char** environ;
/// A function of the C library: returns the address of a loaded module's thread-local storage on this thread (ELF TLS, x86-64 and AArch64).
extern "C" void* __tls_get_addr(std::size_t* module_and_offset);

namespace cuda_emulator {
namespace {

namespace fs = std::filesystem;

/// Returns the folder of compiled kernels: SINTER_EMULATOR_CACHE, or a private folder that is deleted with the process.
const fs::path& directory() {
  struct Place {
    fs::path path;
    bool temporary = false;
    pid_t owner = getpid();
    Place() {
      if (const char* kept = std::getenv("SINTER_EMULATOR_CACHE"); kept && *kept) {
        path = kept;
        fs::create_directories(path);
        return;
      }
      std::string name = (fs::temp_directory_path() / "cuda_emulator.XXXXXX").string();
      if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder for emulated kernels");
      path = name;
      temporary = true;
    }
    void remove() const {
      std::error_code ignored;
      if (temporary && owner == getpid()) fs::remove_all(path, ignored);
    }
  };
  static const Place& place = *new Place;  // never destroyed: static tensors may still compute after the folder is deleted
  struct Removed {
    ~Removed() { place.remove(); }
  };
  static const Removed at_exit;
  return place.path;
}

bool checks_wanted() {
  const char* checks = std::getenv("SINTER_EMULATOR_CHECKS");
  return !checks || std::string(checks) != "off";
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string host_source(const Container& c) {
  std::string text = c.source;
  std::smatch match;
  static const std::regex& dynamic = *new std::regex(R"(extern\s+__shared__[^;]*?(\w+)\s*\[\s*\]\s*;)");
  const bool has_dynamic = std::regex_search(c.source, match, dynamic);
  const std::string name = has_dynamic ? match[1].str() : "";
  text += "\n#line 1 \"emulator\"\n";
  if (has_dynamic) text += "__attribute__((aligned(1024))) thread_local unsigned char " + name + "[" + std::to_string(kLargestDynamicShared) + "];\n";
  text += "extern \"C\" unsigned char* cuda_emulator_dynamic() { return " + (has_dynamic ? name : "nullptr") + "; }\n";
  text +=
      "extern \"C\" __attribute__((no_sanitize(\"thread\"))) unsigned cuda_emulator_parameters(unsigned* sizes) { return "
      "cuda_emulator::parameter_sizes(&" +
      c.entry + ", sizes); }\n";
  text += "extern \"C\" __attribute__((no_sanitize(\"thread\"))) void cuda_emulator_call(void** p) { cuda_emulator::call(&" + c.entry + ", p); }\n";
  return text;
}

/// Runs a command and writes its messages to a file. Returns true if it succeeds.
bool run(const std::vector<std::string>& command, const fs::path& messages) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  return error == 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Returns the folder of this library, where CMake has put the sources that are compiled with each kernel.
const fs::path& own_folder() {
  static const fs::path& folder = *new fs::path([] {
    Dl_info info{};
    dladdr(reinterpret_cast<const void*>(&own_folder), &info);
    return fs::canonical(info.dli_fname).parent_path();
  }());
  return folder;
}

/// Compiles a text by a command, to which the files of the text and of the output are appended. The output is kept under a hash of all that it depends on.
/// Returns an empty path, with the compiler's messages, if the text does not compile.
fs::path made(const std::string& text, const std::vector<std::string>& command, const std::vector<std::string>& after, const char* suffix,
              std::string* messages) {
  static const std::string& included = *new std::string(read_file(own_folder() / "prelude.hpp") + read_file(own_folder() / "hooks.hpp"));
  std::string identity = text + included;
  for (const auto* words : {&command, &after})
    for (const std::string& word : *words) identity += "\n" + word;
  char name[64];
  std::snprintf(name, sizeof(name), "%016zx%08zx", std::hash<std::string>()(identity), identity.size());
  const fs::path kept = directory() / (std::string(name) + suffix);
  if (fs::exists(kept)) return kept;

  static std::atomic<int> number{0};
  const std::string draft = (directory() / name).string() + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  const fs::path source = draft + ".cpp", log = draft + ".log", output = draft + suffix;
  std::ofstream(source, std::ios::binary) << text;
  std::vector<std::string> whole = command;
  whole.insert(whole.end(), {"-x", "c++", source.string(), "-o", output.string()});
  whole.insert(whole.end(), after.begin(), after.end());
  const bool compiled = run(whole, log);
  if (compiled) fs::rename(output, kept);
  else *messages = read_file(log);
  std::error_code ignored;
  for (const fs::path& file : {source, log, output}) fs::remove(file, ignored);
  return compiled ? kept : fs::path();
}

/// Compiles a kernel to a shared library. Returns an empty path, with the reason, if it does not compile.
fs::path compile(const Container& c, std::string* why_not) {
  const char* compiler = std::getenv("SINTER_EMULATOR_CXX");
  std::vector<std::string> command{compiler ? compiler : "c++", "-std=c++20", "-O1", "-fPIC", "-fno-exceptions", "-fno-asynchronous-unwind-tables", "-w"};
  // Only the mathematics of the C libraries is linked, by name: reading the other libraries would take a third of the total time.
  std::vector<std::string> after{"-x", "none", "-l:libm.so.6"};
  std::string messages;
  if (checks_wanted()) {
    std::vector<std::string> of_checks = command;
    of_checks.insert(of_checks.end(), {"-c", "-fvisibility=hidden", "-I", own_folder().string()});
    static const std::string& checks = *new std::string(read_file(own_folder() / "checks.cpp"));
    const fs::path object = made(checks, of_checks, {}, ".o", &messages);
    command.insert(command.end(), {"-fsanitize=thread", "-fsanitize=alignment,bounds"});
    after.push_back(object.string());
  }
  command.insert(command.end(), {"-shared", "-nostdlib", "-fno-strict-aliasing", "-ffp-contract=off", "-include", (own_folder() / "prelude.hpp").string()});
  const fs::path library = messages.empty() ? made(host_source(c), command, after, ".so", &messages) : fs::path();
  if (library.empty()) *why_not = "the host compiler rejects kernel " + c.entry + ":\n" + messages;
  return library;
}

}  // namespace

std::unique_ptr<HostModule> HostModule::load(const Container& container, Hooks* hooks, std::string* why_not) {
  const fs::path path = compile(container, why_not);
  if (path.empty()) return nullptr;
  std::unique_ptr<HostModule> module(new HostModule);
  module->container_ = container;
  module->library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library_) {
    *why_not = dlerror();
    return nullptr;
  }
  module->call_ = reinterpret_cast<void (*)(void**)>(dlsym(module->library_, "cuda_emulator_call"));
  module->dynamic_ = reinterpret_cast<unsigned char* (*)()>(dlsym(module->library_, "cuda_emulator_dynamic"));
  auto** slot = static_cast<Hooks**>(dlsym(module->library_, "cuda_emulator_hooks"));
  const auto parameters = reinterpret_cast<unsigned (*)(unsigned*)>(dlsym(module->library_, "cuda_emulator_parameters"));
  if (!module->call_ || !module->dynamic_ || !parameters || !slot) {
    *why_not = "the compiled kernel lacks the emulator's functions";
    return nullptr;
  }
  *slot = hooks;
  module->parameter_sizes_.resize(parameters(nullptr));
  parameters(module->parameter_sizes_.data());
  const std::string& text = container.source;
  for (const char* word : {"__syncthreads", "__syncwarp", "__shfl_", "barrier_cluster"}) module->synchronises_ |= text.find(word) != std::string::npos;

  // The threads of a cluster are fibers even if its blocks never wait, because blocks run by turns.
  module->clusters_ = container.cluster > 1 || text.find("barrier_cluster") != std::string::npos;
  module->synchronises_ |= module->clusters_;

  link_map* map = nullptr;
  dlinfo(module->library_, RTLD_DI_LINKMAP, &map);
  struct Search {
    HostModule* module;
    ElfW(Addr) base;
  } search{module.get(), map->l_addr};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& found = *static_cast<Search*>(data);
        if (info->dlpi_addr != found.base) return 0;
        std::size_t extent = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          if (header.p_type == PT_LOAD) extent = std::max<std::size_t>(extent, header.p_vaddr + header.p_memsz);
          if (header.p_type == PT_TLS) found.module->tls_bytes_ = header.p_memsz;
        }
        found.module->image_begin_ = reinterpret_cast<const char*>(info->dlpi_addr);
        found.module->image_end_ = found.module->image_begin_ + extent;
        found.module->tls_module_ = info->dlpi_tls_modid;
        return 1;
      },
      &search);
  return module;
}

HostModule::~HostModule() {
  if (library_) dlclose(library_);
}

HostModule::Shared HostModule::shared() const {
  if (tls_bytes_ == 0) return {};
  // Thread-local storage of a loaded library is created at its first use on each thread, which this call is.
  std::size_t module_and_offset[2] = {tls_module_, 0};
  auto* begin = static_cast<unsigned char*>(__tls_get_addr(module_and_offset));
  return {begin, begin + tls_bytes_, dynamic_()};
}

}  // namespace cuda_emulator
