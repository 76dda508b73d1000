// OpenCL devices as a kind of device.
#include <fmt/format.h>

#include "jit/forms/forms.hpp"
#include "jit/identities.hpp"
#include "runtime/kind.hpp"
#include "runtime/opencl/compiler.hpp"
#include "runtime/opencl/devices.hpp"
#include "runtime/opencl/opencl_device.hpp"
#include "sinter/counted.hpp"

namespace sinter::runtime {
namespace {

std::vector<std::pair<std::string, std::string>> strings(const jit::LoopNest& nest, const jit::Source& source, jit::Compiler*, bool) {
  return {{".loops", jit::loop::to_string(jit::loop::without_warps(jit::forms::lower(nest, 0)))}, {".cl", source.text}};
}

std::vector<std::string> describe() {
  try {
    std::vector<std::string> lines;
    for (const opencl::Found& found : opencl::devices())
      lines.push_back(fmt::format("opencl:{}  {}, {}, {} MiB, driver {}{}{}", lines.size(), found.name, counted(found.limits.units, "compute unit"),
                                  found.memory >> 20, found.driver, found.limits.float64 ? "" : ", no float64",
                                  found.unusable.empty() ? "" : "; not usable: " + found.unusable));
    if (lines.empty()) lines.push_back(fmt::format("opencl  none: the loader {} finds no device", opencl::driver().path));
    return lines;
  } catch (const DeviceError& error) {
    return {fmt::format("opencl  none: {}", error.what())};
  }
}

[[maybe_unused]] const bool registered = register_kind({
    .name = "opencl",
    .backend = fuse::Backend::opencl,
    .numbered = true,
    .generator = jit::opencl_generator(),
    .compiler_name = "OpenCL",
    .compiler_advice = "Install a driver, such as pocl-opencl-icd for CPUs, or set SINTER_OPENCL",
    .open = opencl::open,
    .find_compiler = opencl::find_compiler,
    .generate = jit::generate_opencl,
    .same_bits = [](const jit::LoopNest&) { return false; },
    .launch = launch_on_gpu,
    .strings = strings,
    .describe = describe,
});

}  // namespace
}  // namespace sinter::runtime
