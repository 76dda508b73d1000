// The math functions of the interpreter. They are compiled for several instruction sets and chosen at run time, because a fused multiply-add must be one
// instruction and the bits must be those of compiled kernels.
#pragma once
#include "kernels/primitives/interpreter_kernels.hpp"

namespace sinter::kernels {

/// Returns the loop of a function in jit/math/float32_math.hpp or jit/math/float64_math.hpp, or null for another op or type.
TileFn function_kernel(Op op, DType dtype);

TileFn functions_baseline(Op op, DType dtype);
TileFn functions_avx2(Op op, DType dtype);
TileFn functions_avx512(Op op, DType dtype);

}  // namespace sinter::kernels
