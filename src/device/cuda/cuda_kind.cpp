// NVIDIA GPUs as a kind of device.
#include "device/cuda/cuda_device.hpp"
#include "device/kind.hpp"

namespace sinter::device {
namespace {

std::vector<std::pair<std::string, std::string>> strings(const jit::LoopNest&, const jit::Source& source, jit::Compiler*, bool) {
  return {{".cu", source.text}};
}

[[maybe_unused]] const bool registered = register_kind({
    .name = "cuda",
    .numbered = true,
    .reports_resources = true,
    .compiler_name = "NVRTC",
    .compiler_advice = "Install the CUDA toolkit's libnvrtc or set SINTER_NVRTC",
    .has_limits = [](const fuse::Limits& limits) { return limits.sm != 0; },
    .open = [](int ordinal) { return open_cuda(ordinal); },
    .find_compiler = jit::find_nvrtc,
    .generate = [](const jit::LoopNest& nest, const fuse::Limits& limits) { return jit::generate_cuda(nest, limits.sm); },
    .same_bits = [](const jit::LoopNest&) { return false; },
    .strings = strings,
});

}  // namespace
}  // namespace sinter::device
