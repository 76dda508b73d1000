// Math functions and the longer arithmetic primitives, written out as IR. float32 functions are inlined, within 2 ULP over
// the whole range; those that cost most in practice (exp, log, tanh, erf) stay in float32 arithmetic, the others compute in
// double lanes with short polynomials and round once.
#pragma once
#include <string_view>
#include <vector>

#include "jit/llvm/ir_writer.hpp"

namespace sinter::jit::llvm {

/// The float32 function of that name ("exp", "atan2", ...).
Value emit_math32(Ir& ir, std::string_view name, const std::vector<Value>& x);

/// NumPy's floor_divide and remainder. Integers: x // 0 and x % 0 are 0, the least integer // -1 is itself.
Value emit_floor_divide(Ir& ir, const Value& a, const Value& b);
Value emit_remainder(Ir& ir, const Value& a, const Value& b);
/// Wraps around; a negative exponent gives the truncated reciprocal: 0, but for bases 1 and -1.
Value emit_integer_power(Ir& ir, const Value& a, const Value& b);
/// Integers narrower than 64 bits are widened, and the result is cut off.
Value emit_philox(Ir& ir, const Value& counter, const Value& key);

}  // namespace sinter::jit::llvm
