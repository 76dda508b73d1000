#include "base/nvtx.hpp"

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/log.hpp"

namespace sinter::nvtx {
namespace {

// The protocol between a program and a tool (NVTX 3, nvtxTypes.h): the tool's InitializeInjectionNvtx2 gets a function that returns export tables. One of them
// has a function that returns, for each module of NVTX, a table of pointers to the program's function pointers. The tool sets those that it listens to.
using Function = void (*)();
constexpr std::uint32_t kCallbacks = 1, kVersionInfo = 3, kVersion = 3;    // numbers of export tables; the version of NVTX
constexpr int kCore = 1;                                                   // the module of ranges
constexpr std::array<unsigned, 7> kFunctions{0, 16, 9, 15, 7, 16, 7};      // of each module
constexpr std::size_t kRangePush = 9, kRangePop = 11, kMaxFunctions = 16;  // of the module of ranges

std::array<std::array<Function, kMaxFunctions>, kFunctions.size()> functions{};
std::array<std::array<Function*, kMaxFunctions + 1>, kFunctions.size()> tables{};  // a null ends each

int table_of(int module, Function*** table, unsigned* size) {
  if (module < 1 || static_cast<std::size_t>(module) >= kFunctions.size()) return 0;
  const auto at = static_cast<std::size_t>(module);
  if (table) *table = tables[at].data();
  if (size) *size = kFunctions[at];
  return 1;
}

const void* export_table(std::uint32_t number) {
  static const struct {
    std::size_t bytes;
    int (*table_of)(int, Function***, unsigned*);
  } callbacks{sizeof callbacks, table_of};
  static const struct {
    std::size_t bytes;
    std::uint32_t version, reserved;
    void (*set_version)(std::uint32_t);
  } version{sizeof version, kVersion, 0, [](std::uint32_t) {}};
  return number == kCallbacks ? static_cast<const void*>(&callbacks) : number == kVersionInfo ? &version : nullptr;
}

}  // namespace

bool attach() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path) return false;
  void* library = dlopen(path, RTLD_LAZY);  // for the rest of the process
  if (!library) {
    log().warn("NVTX_INJECTION64_PATH: {}", dlerror());
    return false;
  }
  const auto initialize = reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(dlsym(library, "InitializeInjectionNvtx2"));
  for (std::size_t module = 0; module < functions.size(); ++module)
    for (std::size_t k = 1; k < kFunctions[module]; ++k) tables[module][k] = &functions[module][k];
  if (!initialize || initialize(export_table) == 0) {
    log().warn("NVTX_INJECTION64_PATH: {} takes no ranges", path);
    return false;
  }
  return functions[kCore][kRangePush] && functions[kCore][kRangePop];
}

void push(const char* name) { reinterpret_cast<int (*)(const char*)>(functions[kCore][kRangePush])(name); }
void pop() { reinterpret_cast<int (*)()>(functions[kCore][kRangePop])(); }

}  // namespace sinter::nvtx
