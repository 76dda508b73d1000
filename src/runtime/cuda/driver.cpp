#include "runtime/cuda/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <vector>

#include "runtime/open_once.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime::cuda {
namespace {

std::vector<const char*> candidates() {
  if (const char* file = std::getenv("SINTER_CUDA_DRIVER"); file && *file) return {file};
  return {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
}

void find_functions(Driver& api, void* library) {
#define SINTER_DRIVER_FIND(member, symbol, parameters) api.member = reinterpret_cast<decltype(api.member)>(dlsym(library, symbol));
#define SINTER_DRIVER_REQUIRE(member, symbol, parameters) \
  SINTER_DRIVER_FIND(member, symbol, parameters)          \
  if (!api.member) throw DeviceError(fmt::format("{} has no {}: not a CUDA driver, or one before CUDA 11", api.path, symbol));
  SINTER_DRIVER_FUNCTIONS(SINTER_DRIVER_REQUIRE)
  SINTER_DRIVER_POOL_FUNCTIONS(SINTER_DRIVER_FIND)
  SINTER_DRIVER_HOST_FUNCTIONS(SINTER_DRIVER_FIND)
  SINTER_DRIVER_CLUSTER_FUNCTIONS(SINTER_DRIVER_FIND)
  SINTER_DRIVER_GRAPH_FUNCTIONS(SINTER_DRIVER_FIND)
#undef SINTER_DRIVER_REQUIRE
#undef SINTER_DRIVER_FIND
}

/// Opens the driver's library, which is never closed, because a driver fails when it is unloaded and opened again.
Driver open_driver() {
  std::string tried;
  for (const char* path : candidates()) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* why = dlerror();
      tried += fmt::format("{}{}", tried.empty() ? "" : "; ", why ? why : path);
      continue;
    }
    Driver api;
    api.path = path;
    find_functions(api, library);
    const Result r = api.init(0);
    if (r == result::no_device) throw DeviceError(fmt::format("the CUDA driver {} finds no GPU", path));
    if (r != result::success) throw DeviceError(fmt::format("the CUDA driver {} does not start: {}", path, api.describe(r)));
    return api;
  }
  throw DeviceError(fmt::format("no CUDA driver: tried {}. Install NVIDIA's driver, or name its library in SINTER_CUDA_DRIVER", tried));
}

}  // namespace

bool Driver::has_graphs() const {
#define SINTER_DRIVER_HAS(member, symbol, parameters) &&member != nullptr
  return true SINTER_DRIVER_GRAPH_FUNCTIONS(SINTER_DRIVER_HAS);
#undef SINTER_DRIVER_HAS
}

std::string Driver::describe(Result r) const {
  if (r == result::deinitialized) return "CUDA_ERROR_DEINITIALIZED (4): the process is ending, and the driver has shut down";  // it no longer tells
  const char *name = nullptr, *text = nullptr;
  error_name(r, &name);
  error_string(r, &text);
  return fmt::format("{} ({}): {}", name ? name : "CUDA error", r, text ? text : "unknown error");
}

int driver_version() noexcept {
  for (const char* path : candidates()) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const auto ask = library ? reinterpret_cast<Result (*)(int*)>(dlsym(library, "cuDriverGetVersion")) : nullptr;
    if (int version = 0; ask && ask(&version) == result::success) return version;
  }
  return 0;
}

const Driver& driver() { return open_once<Driver, open_driver>(); }

}  // namespace sinter::runtime::cuda
