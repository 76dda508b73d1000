// The host as a kind of device.
#include <fmt/format.h>

#include "base/threads.hpp"
#include "jit/forms/forms.hpp"
#include "jit/identities.hpp"
#include "kernels/library.hpp"
#include "kernels/products/onednn.hpp"
#include "runtime/host/host_device.hpp"
#include "runtime/kind.hpp"
#include "sinter/counted.hpp"

namespace sinter::runtime {
namespace {

std::vector<std::pair<std::string, std::string>> strings(const jit::LoopNest& nest, const jit::Source& source, jit::Compiler* compiler, bool assembly) {
  std::vector<std::pair<std::string, std::string>> result{{".nest", jit::to_string(nest)}};
  if (source.text.empty()) return result;
  result.emplace_back(".loops", jit::loop::to_string(jit::forms::lower(nest, jit::cpu_of(source.target))));
  result.emplace_back(".ll", source.text);
  if (assembly && compiler) result.emplace_back(".s", jit::llvm_assembly(*compiler, source));
  return result;
}

[[maybe_unused]] const bool registered = register_kind({
    .name = "cpu",
    .backend = fuse::Backend::cpu,
    .interprets = true,
    .launches_parts = true,
    .generator = jit::cpu_generator(),
    .compiler_name = "LLVM",
    .compiler_advice = "Install libLLVM (16 or later) or set SINTER_LLVM",
    .open = [](int) { return open_host(0); },
    .find_compiler = jit::find_llvm,
    .generate =
        [](const jit::LoopNest& nest, const fuse::Limits& limits) {
          return jit::generate_llvm(nest, limits.target == "cpu" ? jit::host_cpu() : jit::plainest_cpu(limits.target));
        },
    // Machine code and interpreter give the same bits, unless fast_math lets the compiler change the arithmetic.
    .same_bits = [](const jit::LoopNest& nest) { return !nest.fast_math; },
    .library = kernels::library_of,
    .prepare_call = kernels::prepare_library_call,
    .strings = strings,
    .describe =
        [] {
          const jit::CpuTarget cpu = jit::host_cpu();
          const kernels::OneDnn* library = kernels::onednn();
          return std::vector{fmt::format("cpu     {}, {}-byte vectors, {}, matrices by {}", cpu.arch, cpu.vector_bytes, counted(thread_count(0), "core"),
                                         library ? library->version + " and Eigen" : "Eigen (install libdnnl for faster ones, or set SINTER_ONEDNN)")};
        },
});

}  // namespace
}  // namespace sinter::runtime
