#include "runtime/opencl/compiler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "runtime/opencl/devices.hpp"
#include "sinter/errors.hpp"

namespace sinter::runtime::opencl {
namespace {

class DriverCompiler : public jit::Compiler {
 public:
  std::string identity() const override { return devices().front().limits.target; }
  std::string path() const override { return driver().path; }

  jit::Binary compile(const jit::Source& source) override {
    const Driver& api = driver();
    const Found& device = device_of(source.target);
    const auto start = std::chrono::steady_clock::now();
    Result r = result::success;
    const char* text = source.text.c_str();
    const Program raw = api.program_of_source(device.context(), 1, &text, nullptr, &r);
    if (!raw) throw CompileError(fmt::format("kernel {}: OpenCL made no program: {}", source.entry, describe(r)));
    const std::unique_ptr<_cl_program, Result (*)(Program)> program(raw, api.release_program);
    r = api.build(raw, 1, &device.id, source.options.c_str(), nullptr, nullptr);
    if (r == result::build_failed)
      throw jit::RefusedSource(fmt::format("kernel {} does not compile for {}:\n{}", source.entry, device.name, log_of(raw, device)));
    if (r != result::success) throw CompileError(fmt::format("kernel {} could not be compiled for {}: {}", source.entry, device.name, describe(r)));
    jit::Binary binary;
    binary.entry = source.entry;
    std::size_t size = 0;
    r = api.program_info(raw, kBinarySizes, sizeof size, &size, nullptr);
    binary.image.resize(size);
    unsigned char* image = binary.image.data();
    if (r == result::success && size > 0) r = api.program_info(raw, kBinaries, sizeof image, &image, nullptr);
    if (r != result::success || size == 0) throw CompileError(fmt::format("kernel {}: OpenCL gave no binary: {}", source.entry, describe(r)));
    binary.report.compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return binary;
  }

 private:
  static const Found& device_of(const std::string& target) {
    for (const Found& found : devices())
      if (found.unusable.empty() && (found.limits.target == target || target == "opencl")) return found;
    throw CompileError(fmt::format("no OpenCL device of this machine is '{}'", target));
  }
  static std::string log_of(Program program, const Found& device) {
    std::size_t size = 0;
    if (driver().build_info(program, device.id, kBuildLog, 0, nullptr, &size) != result::success || size == 0) return {};
    std::string log(size, '\0');
    if (driver().build_info(program, device.id, kBuildLog, size, log.data(), nullptr) != result::success) return {};
    return log.c_str();
  }
};

}  // namespace

jit::CompilerPtr find_compiler() {
  try {
    const auto& all = devices();
    if (std::any_of(all.begin(), all.end(), [](const Found& found) { return found.unusable.empty(); })) return std::make_shared<DriverCompiler>();
  } catch (const DeviceError&) {  // no loader
  }
  return nullptr;
}

}  // namespace sinter::runtime::opencl
