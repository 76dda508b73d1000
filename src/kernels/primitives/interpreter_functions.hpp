// The math functions of the interpreter, compiled for several instruction sets and chosen at run time: a fused multiply-add
// has to be an instruction, and the bits are those of compiled kernels.
#pragma once
#include "kernels/primitives/interpreter_kernels.hpp"

namespace sinter::kernels {

/// The loop of one of the functions in jit/math/float32_math.hpp and jit/math/float64_math.hpp; null for another op or type.
TileFn function_kernel(Op op, DType dtype, Uniform uniform);

TileFn functions_baseline(Op op, DType dtype, Uniform uniform);
TileFn functions_avx2(Op op, DType dtype, Uniform uniform);
TileFn functions_avx512(Op op, DType dtype, Uniform uniform);

}  // namespace sinter::kernels
