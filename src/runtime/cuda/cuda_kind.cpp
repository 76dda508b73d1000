// NVIDIA GPUs as a kind of device.
#include <fmt/format.h>

#include "jit/forms/forms.hpp"
#include "jit/identities.hpp"
#include "runtime/cuda/cublaslt.hpp"
#include "runtime/cuda/cuda_device.hpp"
#include "runtime/cuda/digits.hpp"
#include "runtime/kind.hpp"

namespace sinter::runtime {
namespace {

std::vector<std::pair<std::string, std::string>> strings(const jit::LoopNest& nest, const jit::Source& source, jit::Compiler*, bool) {
  if (nest.stages.empty()) return {{".cu", source.text}};  // a kernel of a library call
  const int sm = std::stoi(source.target.substr(sizeof("sm_") - 1));
  return {{".loops", jit::loop::to_string(jit::forms::lower(nest, sm))}, {".cu", source.text}};
}

std::vector<std::string> describe() {
  std::string why_none;
  const std::vector<CudaInfo> gpus = list_cuda(&why_none);
  if (gpus.empty()) return {fmt::format("cuda    none: {}", why_none)};
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    lines.push_back(fmt::format("cuda:{}  {}, sm_{}, {} multiprocessors, {} MiB, driver for CUDA {}.{}", i, gpus[i].name, gpus[i].sm, gpus[i].sm_count,
                                gpus[i].memory >> 20, gpus[i].driver_version / 1000, gpus[i].driver_version % 1000 / 10));
  return lines;
}

[[maybe_unused]] const bool registered = register_kind({
    .name = "cuda",
    .backend = fuse::Backend::cuda,
    .numbered = true,
    .exchanges = true,
    .reports_resources = true,
    .generator = jit::cuda_generator(),
    .compiler_name = "NVRTC",
    .compiler_advice = "Install the CUDA toolkit's libnvrtc or set SINTER_NVRTC",
    .count = [] { return static_cast<int>(list_cuda(nullptr).size()); },
    .open = [](int ordinal) { return open_cuda(ordinal); },
    .find_compiler = [] { return jit::find_nvrtc(cuda_driver_version() / 1000); },
    .generate = [](const jit::LoopNest& nest, const fuse::Limits& limits) { return jit::generate_cuda(nest, limits.sm); },
    .same_bits = [](const jit::LoopNest&) { return false; },
    .launch = launch_on_gpu,
    .library = [](const fuse::LibraryCall& call) { return fuse::by_digits(call.op) ? cuda::who_sorts_by_digits(call) : cuda::who_multiplies(call); },
    .call_sources = [](const fuse::LibraryCall& call,
                       const fuse::Limits& limits) { return fuse::by_digits(call.op) ? cuda::sources_by_digits(call, limits.sm) : std::vector<jit::Source>(); },
    .strings = strings,
    .describe = describe,
});

}  // namespace
}  // namespace sinter::runtime
