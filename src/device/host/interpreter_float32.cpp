#include "device/host/interpreter_float32.hpp"

namespace sinter::device {

TileFn float32_function(Op op, Uniform uniform) {
#if defined(__x86_64__)
  static const auto chosen = [] {
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
      return &float32_function_avx512;
    return fma ? &float32_function_avx2 : &float32_function_baseline;
  }();
  return chosen(op, uniform);
#else
  return float32_function_baseline(op, uniform);
#endif
}

}  // namespace sinter::device
