#include "jit/llvm/math.hpp"

#include <limits>

#include "base/philox.hpp"
#include "jit/math/expression.hpp"
#include "jit/math/float32_math.hpp"
#include "jit/math/float64_math.hpp"
#include "sinter/errors.hpp"

namespace sinter::jit::llvm {
namespace {

using Expr = jit::Expr<Ir, Value>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- remainders

// The result is exact, so that the interpreter may take its remainder from the library.
Expr fmod32(const Expr& a, const Expr& b) {
  const Expr da = abs(to_double(a)), db = abs(to_double(b));
  const Expr q = trunc(da / db);
  Expr r = fma(q, -1.0 * db, da);  // exact while the quotient has at most 29 bits
  r = select(r < 0.0, r + db, select(db <= r, r - db, r));
  r = select((db == kInf) & (da < kInf), da, r);
  const Expr large = (q >= 0x1p28) & (q < kInf);
  return a.with(a.ir->or_libm(copysign(to_float(r), a).v, large.v, "fmod", {a.v, b.v}));
}

/// The quotient, which is rounded, may be one too large or too small. A remainder between 0 and b is a multiple of b's last place, and so it is exact.
Expr fmod64(const Expr& a, const Expr& b) {
  const Expr da = abs(a), db = abs(b), q = trunc(da / db);
  const auto rest = [&](const Expr& quotient) { return fma(-quotient, db, da); };
  Expr r = rest(q);
  r = select(r < 0.0, rest(q - 1.0), select(db <= r, rest(q + 1.0), r));
  r = select((db == kInf) & (da < kInf), da, r);
  const Expr large = (q >= 0x1p52) & (da < kInf) & (db > 0.0);
  return a.with(a.ir->or_libm(copysign(r, a).v, large.v, "fmod", {a.v, b.v}));
}

Expr fmod_of(const Expr& a, const Expr& b) {
  return a.with(a.ir->call("fmod", {a.v, b.v}, [](Ir& ir, const std::vector<Value>& x) {
    const Expr left{&ir, x[0]}, right{&ir, x[1]};
    if (is_float32(left)) return fmod32(left, right).v;
    return has_fma(left) ? fmod64(left, right).v : ir.libm("fmod", x);
  }));
}

/// The divisor without the values that trap, and the quotient rounded down with its remainder.
struct Division {
  Expr divisor, quotient, remainder;
};

/// Returns whether the quotient is too large.
Expr crosses(const Division& d) { return (d.remainder != 0) & ((d.remainder < 0) != (d.divisor < 0)); }

/// Takes one step towards the remainder between 0 and the divisor. The quotient of unsigned numbers must not be too large.
Division stepped(const Division& d) {
  const auto& [divisor, quotient, remainder] = d;
  const Expr one = quotient.like(1), none = quotient.like(0);
  const Expr short_of = divisor.with(divisor.ir->select((divisor < 0).v, (remainder <= divisor).v, (divisor <= remainder).v));
  const Expr up = select(short_of, one, none), back = select(short_of, divisor, none);
  if (is_unsigned(quotient.dtype())) return {divisor, quotient + up, remainder - back};
  const Expr down = crosses(d);
  return {divisor, select(down, quotient - 1, quotient + up), select(down, remainder + divisor, remainder - back)};
}

/// Vectors cannot divide integers. They multiply by a reciprocal, which is the same for a whole loop if the divisor is, and correct the result.
Division divide_integers(const Expr& a, const Expr& b) {
  const bool is_signed = !is_unsigned(a.dtype());
  const auto bytes = itemsize(a.dtype());
  const Expr divisor = select(is_signed ? (b == 0) | (b == -1) : b == 0, b.like(1), b);
  const bool converts = bytes < 8 || (a.v.lanes > 1 && a.ir->module().converts_int64());
  if (converts && bytes == 8 && !is_signed) {  // as signed numbers, unless one is too large
    const auto as = [&](const Expr& x, DType dtype) { return x.with(Ir::relabelled(x.v, dtype)); };
    const Expr left = as(a, DType::int64), right = as(divisor, DType::int64), large = (left | right) < 0;
    const Expr quotient = a.with(a.ir->rarely(a.ir->any(large.v), as(divide_integers(left, right).quotient, DType::uint64).v, [&] { return (a / divisor).v; }));
    return {divisor, quotient, a - quotient * divisor};
  }
  if (!converts) {
    const Expr quotient = a / divisor;
    const Division truncated{divisor, quotient, a - quotient * divisor};
    const Expr down = crosses(truncated);
    return {divisor, select(down, quotient - 1, quotient), select(down, truncated.remainder + divisor, truncated.remainder)};
  }
  const DType wide = bytes >= 4 ? DType::float64 : DType::float32;
  Expr reciprocal = 1.0 / cast(divisor, wide);
  // An unsigned remainder cannot be negative, so the quotient must not be too large: the reciprocal is reduced by more than all roundings together.
  if (!is_signed) reciprocal = reciprocal * (bytes == 4 ? 1 - 0x1p-50 : 1 - 0x1p-21);
  const auto times_reciprocal = [&](const Expr& x) {
    Expr ratio = cast(x, wide) * reciprocal;
    if (bytes == 8) ratio = select(ratio < 0x1p63, ratio, 0x1.fffffffffffffp62);  // beyond, there is no integer
    return a.with(a.ir->convert(is_signed ? "fptosi" : "fptoui", ratio.v, a.dtype()));
  };
  const Expr first = times_reciprocal(a), rest = a - first * divisor;
  // To 32 bits a rounding changes the quotient only if it is whole, and then by one.
  if (bytes < 8) return stepped({divisor, first, rest});
  // The ratio of 64-bit integers is wrong by up to 2^13, and that of the rest by at most one, also if the quotient is not whole.
  const Expr second = times_reciprocal(rest);
  return stepped(stepped({divisor, first + second, rest - second * divisor}));
}

/// Returns the unsigned type of the same size.
DType magnitude_type(DType t) { return itemsize(t) == 1 ? DType::uint8 : itemsize(t) == 2 ? DType::uint16 : itemsize(t) == 4 ? DType::uint32 : DType::uint64; }

template <int arity, class F> Expr applied(F function, const Expr& a, const Expr& b) {
  if constexpr (arity == 1) return function(a);
  else return function(a, b);
}

}  // namespace

Value emit_function(Ir& ir, std::string_view name, const std::vector<Value>& x) {
  const Expr a{&ir, x.front()}, b{&ir, x.back()};
  const bool narrow = a.dtype() == DType::float32;
#define SINTER_FUNCTION(id, arity, ...)                                                                  \
  if (name == #id)                                                                                       \
    return (narrow ? applied<arity>([](const auto&... v) { return float32_math::id##_32(v...); }, a, b)  \
                   : applied<arity>([](const auto&... v) { return float64_math::id##_64(v...); }, a, b)) \
        .v;
  SINTER_FUNCTION(power, 2)
#include "trace/primitives.def"
  throw InternalError("no function named " + std::string(name));
}

Value emit_floor_divide(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  if (is_floating(a.dtype())) {  // like NumPy's npy_divmod
    const Expr mod = fmod_of(a, b), ratio = a / b;
    const Expr crosses = (mod != 0.0) & ((b < 0.0) != (mod < 0.0));
    const Expr exact = (a - mod) / b;
    const Expr quotient = select(crosses, exact - 1.0, exact);
    const Expr below = floor(quotient);
    const Expr nearest = select(quotient - below > 0.5, below + 1.0, below);
    const Expr result = select(quotient != 0.0, nearest, copysign(a.like(0.0), ratio));
    return select(b == 0.0, ratio, result).v;
  }
  const Division d = divide_integers(a, b);
  const Expr negated = is_unsigned(a.dtype()) ? d.quotient : select(b == -1, -a, d.quotient);
  return select(b == 0, a.like(0), negated).v;
}

Value emit_quotient(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  const bool single = is_float32(a);
  const std::int64_t one = std::int64_t{1} << (single ? 23 : 52), bias = single ? 127 : 1023, infinite = (2 * bias + 1) * one;  // fields of the exponent
  // Both numbers are scaled by a power of two, so that the divisor is at least 1/2 and less than 1. `near` is within 1.5 ULP, and its remainder is exact.
  const Expr exponent = bits(b) & infinite, scale = copysign(from_bits((2 * bias - 1) * one - exponent), b), divisor = b * scale, reciprocal = 1.0 / divisor;
  const Expr scaled = a * scale, near = scaled * reciprocal, beyond = fma(divisor, near, -scaled), quotient = fma(-beyond, reciprocal, near);
  // Small quotients have no exact remainder; infinities and NaN have none; the least and the greatest divisors have no scale.
  const auto at_least = [&](const Expr& x, std::int64_t limit) { return ir.compare("icmp uge", x.v, x.like(limit).v); };
  const std::int64_t least = (single ? bias - 100 : bias - 960) * one;
  const Value inexact = at_least((bits(near) & (infinite | (one - 1))) - least, infinite - least), no_scale = at_least(exponent - one, (2 * bias - 2) * one);
  const Value rare = ir.bit_or(ir.any(ir.bit_and(inexact, (a != 0.0).v)), no_scale);
  return ir.rarely(rare, quotient.v, [&] { return ir.div(a.v, b.v); });
}

Value emit_remainder(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  if (is_floating(a.dtype())) {
    const Expr mod = fmod_of(a, b);
    const Expr crosses = (b < 0.0) != (mod < 0.0);
    const Expr nonzero = select(crosses, mod + b, mod);
    return select(mod != 0.0, nonzero, copysign(a.like(0.0), b)).v;
  }
  return select(b == 0, a.like(0), divide_integers(a, b).remainder).v;
}

Value emit_integer_power(Ir& ir, const Value& a_value, const Value& b_value) {
  const Expr a{&ir, a_value}, b{&ir, b_value};
  const int lanes = a_value.lanes;
  const std::string base = ir.alloca_of(a.dtype(), lanes), exponent = ir.alloca_of(a.dtype(), lanes), result = ir.alloca_of(a.dtype(), lanes);
  const Expr negative = b < 0;
  ir.store(base, a.v);
  ir.store(exponent, ir.broadcast(select(negative, b.like(0), b).v, lanes));
  ir.store(result, ir.broadcast(a.like(1).v, lanes));
  const std::string head = ir.label("square"), more = ir.label("more"), done = ir.label("done");
  ir.line("br label %" + head);
  ir.begin_block(head);
  const Expr e = a.with(ir.load(exponent, a.dtype(), lanes));
  ir.line("br i1 " + ir.any((e != 0).v).ref + ", label %" + more + ", label %" + done);
  ir.begin_block(more);
  const Expr square = a.with(ir.load(base, a.dtype(), lanes)), product = a.with(ir.load(result, a.dtype(), lanes));
  ir.store(result, select((e & 1) != 0, product * square, product).v);
  ir.store(base, (square * square).v);
  ir.store(exponent, ir.binary("lshr", e.v, e.like(1).v));
  ir.line("br label %" + head);
  ir.begin_block(done);
  const Expr positive = a.with(ir.load(result, a.dtype(), lanes));
  const Expr minus_one = select((b & 1) != 0, b.like(-1), b.like(1));
  const Expr reciprocal = select(a == 1, a.like(1), select(a == -1, minus_one, a.like(0)));
  return select(negative, reciprocal, positive).v;
}

Value emit_philox(Ir& ir, const Value& counter_value, const Value& key_value) {
  const Expr counter{&ir, ir.cast(counter_value, DType::uint64)}, key{&ir, ir.cast(key_value, DType::uint64)};
  return ir.cast(philox(counter, key, counter.like(0)).v, counter_value.dtype);
}

Value emit_gcd(Ir& ir, const Value& a_value, const Value& b_value) {
  const DType dtype = a_value.dtype, magnitude = magnitude_type(dtype);
  const int lanes = a_value.lanes;
  const std::string larger = ir.alloca_of(magnitude, lanes), smaller = ir.alloca_of(magnitude, lanes);
  const auto absolute = [&](const Value& v) { return Ir::relabelled(is_unsigned(dtype) ? v : ir.abs(v), magnitude); };
  ir.store(larger, absolute(a_value));
  ir.store(smaller, absolute(b_value));
  const std::string head = ir.label("euclid"), more = ir.label("more"), done = ir.label("done");
  ir.line("br label %" + head);
  ir.begin_block(head);
  const Expr b{&ir, ir.load(smaller, magnitude, lanes)};
  ir.line("br i1 " + ir.any((b != 0).v).ref + ", label %" + more + ", label %" + done);
  ir.begin_block(more);
  const Expr a{&ir, ir.load(larger, magnitude, lanes)};
  const Expr rest = divide_integers(a, b).remainder;
  ir.store(larger, select(b != 0, b, a).v);
  ir.store(smaller, select(b != 0, rest, b).v);
  ir.line("br label %" + head);
  ir.begin_block(done);
  return Ir::relabelled(ir.load(larger, magnitude, lanes), dtype);
}

}  // namespace sinter::jit::llvm
