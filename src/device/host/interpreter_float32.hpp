// The float32 functions of the interpreter, compiled for several instruction sets and chosen at run time: a fused multiply-add
// has to be an instruction, and the bits are those of compiled kernels.
#pragma once
#include "device/host/interpreter_kernels.hpp"

namespace sinter::device {

/// The loop of one of the functions in jit/float32_math.hpp; null for another op.
TileFn float32_function(Op op, Uniform uniform);

TileFn float32_function_baseline(Op op, Uniform uniform);
TileFn float32_function_avx2(Op op, Uniform uniform);
TileFn float32_function_avx512(Op op, Uniform uniform);

}  // namespace sinter::device
