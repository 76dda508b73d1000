// The math functions (jit/math/float32_math.hpp, jit/math/float64_math.hpp) and the longer arithmetic primitives, as IR.
#pragma once
#include <string_view>
#include <vector>

#include "jit/llvm/ir_writer.hpp"

namespace sinter::jit::llvm {

/// Writes the function of that name in the operands' type: a row of SINTER_FUNCTION, or "power".
Value emit_function(Ir& ir, std::string_view name, const std::vector<Value>& x);

/// These write NumPy's floor_divide and remainder. For integers, x // 0 and x % 0 are 0, and the least integer // -1 is itself.
Value emit_floor_divide(Ir& ir, const Value& a, const Value& b);
Value emit_remainder(Ir& ir, const Value& a, const Value& b);
/// Divides by one number, and rounds as a division does. The divisor's reciprocal is computed once, and each quotient is corrected by its remainder; where that
/// is not exact, a branch divides. Takes a fused multiply-add.
Value emit_quotient(Ir& ir, const Value& a, const Value& b);
/// Writes an integer power, which wraps around. A negative exponent gives the truncated reciprocal: 0, except for bases 1 and -1.
Value emit_integer_power(Ir& ir, const Value& a, const Value& b);
/// Writes Philox. Integers narrower than 64 bits are widened, and the result is truncated.
Value emit_philox(Ir& ir, const Value& counter, const Value& key);
/// Writes the greatest common divisor of the magnitudes.
Value emit_gcd(Ir& ir, const Value& a, const Value& b);

}  // namespace sinter::jit::llvm
