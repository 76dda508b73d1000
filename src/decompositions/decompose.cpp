// The library's only symbol.
#include "decompositions/variants.hpp"

namespace sinter::decompositions {
namespace {

kernels::DecomposeFn of_this_processor() {
#if defined(SINTER_DECOMPOSITIONS_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &decompose_avx2;
#endif
  return &decompose_baseline;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) Refusal sinter_decompose(Op op, DType dtype, const MatrixIn& a, const MatrixIn& b, double* result) {
  static const kernels::DecomposeFn real = of_this_processor();
  return is_of_complex_matrices(op) ? decompose_complex(op, dtype, a, b, result) : real(op, dtype, a, b, result);
}

}  // namespace sinter::decompositions
