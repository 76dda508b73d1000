// sinter info: what is here. Asks the compilers' files who they are and loads none of them.
#include <fmt/format.h>

#include <thread>

#include "commands.hpp"
#include "device/cuda/cuda_device.hpp"
#include "jit/compiler.hpp"
#include "sinter/sinter.hpp"

namespace sinter::tools {
namespace {

void print_devices(const Options& settings) {
  const jit::CpuTarget cpu = jit::host_cpu();
  const unsigned cores = std::thread::hardware_concurrency();
  fmt::print("devices\n  cpu     {}, {}-byte vectors, {} of {} cores\n", cpu.arch, cpu.vector_bytes,
             settings.threads ? settings.threads : static_cast<int>(cores), cores);
  std::string why_none;
  const std::vector<device::CudaInfo> gpus = device::list_cuda(&why_none);
  if (gpus.empty()) fmt::print("  cuda    none: {}\n", why_none);
  for (std::size_t i = 0; i < gpus.size(); ++i)
    fmt::print("  cuda:{}  {}, sm_{}, {} multiprocessors, {}, driver for CUDA {}.{}\n", i, gpus[i].name, gpus[i].sm,
               gpus[i].sm_count, readable_bytes(gpus[i].memory), gpus[i].driver_version / 1000,
               gpus[i].driver_version % 1000 / 10);
}

void print_compiler(std::string_view name, const jit::CompilerPtr& compiler, std::string_view advice) {
  if (compiler) fmt::print("  {:<7} {}\n          {}\n", name, compiler->path(), compiler->identity());
  else fmt::print("  {:<7} none found; {}\n", name, advice);
}

}  // namespace

int run_info() {
  const Options settings = options();
  fmt::print("sinter {}\n", version());
  print_devices(settings);

  fmt::print("compilers (found, not loaded)\n");
  print_compiler("llvm", jit::find_llvm(), "install libllvm19 (16 or later) or set SINTER_LLVM to its file");
  print_compiler("nvrtc", jit::find_nvrtc(), "set SINTER_NVRTC to libnvrtc.so.* or CUDA_HOME to a toolkit");

  const cache::DiskCache cache(cache_settings());
  fmt::print("cache\n  place   {}\n", cache.settings().directory.string());
  if (const std::string reason = cache.disabled_reason(); !reason.empty()) {
    fmt::print("  off     {}\n", reason);
  } else {
    const cache::Stats stats = cache.stats();
    fmt::print("  holds   {} entries, {} of {}\n", stats.entries, readable_bytes(stats.bytes),
               readable_bytes(cache.settings().max_bytes));
  }
  fmt::print("settings\n  device {}, backend {}, fuse {}, fast math {}\n", settings.device, settings.backend,
             settings.fuse ? "on" : "off", settings.fast_math ? "on" : "off");
  return 0;
}

}  // namespace sinter::tools
