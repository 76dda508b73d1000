#include "kernels/primitives/interpreter_functions.hpp"

namespace sinter::kernels {

TileFn function_kernel(Op op, DType dtype) {
#if defined(__x86_64__)
  static const auto chosen = [] {
    __builtin_cpu_init();
    const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (fma && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
      return &functions_avx512;
    return fma ? &functions_avx2 : &functions_baseline;
  }();
  return chosen(op, dtype);
#else
  return functions_baseline(op, dtype);
#endif
}

}  // namespace sinter::kernels
