#include <sys/utsname.h>

#include <string>

#include "jit/compiler.hpp"

namespace sinter::jit {

CpuTarget host_cpu() {
  CpuTarget cpu;
#if defined(__x86_64__)
  // __builtin_cpu_supports also tests whether the operating system saves the wide registers.
  cpu.arch = "x86-64";
  const auto add = [&](bool has, const char* feature) {
    if (has) cpu.features += (cpu.features.empty() ? "+" : ",+") + std::string(feature);
    return has;
  };
  __builtin_cpu_init();
  add(__builtin_cpu_supports("sse3"), "sse3");
  add(__builtin_cpu_supports("ssse3"), "ssse3");
  add(__builtin_cpu_supports("sse4.1"), "sse4.1");
  add(__builtin_cpu_supports("sse4.2"), "sse4.2");
  add(__builtin_cpu_supports("popcnt"), "popcnt");
  add(__builtin_cpu_supports("avx"), "avx");
  // FMA counts only together with AVX2, as the interpreter is compiled: either both fuse multiply-adds, or neither.
  add(__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"), "fma");
  if (add(__builtin_cpu_supports("avx2"), "avx2")) cpu.vector_bytes = 32;
  add(__builtin_cpu_supports("bmi"), "bmi");
  add(__builtin_cpu_supports("bmi2"), "bmi2");
  // These are the parts of AVX-512 that every server processor with AVX-512 has. Fewer parts are not worth a special case.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512cd")) {
    for (const char* feature : {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}) add(true, feature);
    cpu.vector_bytes = 64;
  }
#else
  utsname machine{};
  uname(&machine);
  cpu.arch = machine.machine;
#endif
  return cpu;
}

}  // namespace sinter::jit
