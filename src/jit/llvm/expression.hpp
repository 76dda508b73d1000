// Math functions as formulas: an Expr is a value together with the writer of its function.
#pragma once
#include <cstddef>
#include <type_traits>

#include "jit/llvm/ir_writer.hpp"

namespace sinter::jit::llvm {

struct Expr {
  Ir* ir;
  Value v;

  DType dtype() const { return v.dtype; }
  Expr with(Value value) const { return {ir, std::move(value)}; }
  /// Returns a literal of this expression's element type.
  template <class T> Expr like(T value) const {
    if constexpr (std::is_floating_point_v<T>) return with(ir->real(v.dtype, value));
    else return with(ir->integer(v.dtype, value));
  }
};

#define SINTER_EXPR_BINARY(symbol, method)                                                                                                      \
  inline Expr operator symbol(const Expr& a, const Expr& b) { return a.with(a.ir->method(a.v, b.v)); }                                          \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr operator symbol(const Expr& a, T b) { return a symbol a.like(b); } \
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr operator symbol(T a, const Expr& b) { return b.like(a) symbol b; }
SINTER_EXPR_BINARY(+, add)
SINTER_EXPR_BINARY(-, sub)
SINTER_EXPR_BINARY(*, mul)
SINTER_EXPR_BINARY(/, div)
SINTER_EXPR_BINARY(<, lt)
SINTER_EXPR_BINARY(<=, le)
SINTER_EXPR_BINARY(==, eq)
SINTER_EXPR_BINARY(!=, ne)
SINTER_EXPR_BINARY(&, bit_and)
SINTER_EXPR_BINARY(|, bit_or)
SINTER_EXPR_BINARY(^, bit_xor)
#undef SINTER_EXPR_BINARY
template <class T> Expr operator>(const Expr& a, T b) { return a.like(b) < a; }
inline Expr operator>(const Expr& a, const Expr& b) { return b < a; }
template <class T> Expr operator>=(const Expr& a, T b) { return a.like(b) <= a; }
inline Expr operator-(const Expr& a) { return a.with(a.ir->neg(a.v)); }

inline bool is_float32(const Expr& a) { return a.dtype() == DType::float32; }
inline bool has_fma(const Expr& a) { return a.ir->module().has_fma(); }
inline Expr fma(const Expr& a, const Expr& b, const Expr& c) { return a.with(a.ir->fma(a.v, b.v, c.v)); }
inline Expr fma(const Expr& a, double b, const Expr& c) { return fma(a, a.like(b), c); }
inline Expr fma(const Expr& a, const Expr& b, double c) { return fma(a, b, a.like(c)); }
inline Expr fma(const Expr& a, double b, double c) { return fma(a, a.like(b), a.like(c)); }
inline Expr select(const Expr& c, const Expr& a, const Expr& b) { return a.with(c.ir->select(c.v, a.v, b.v)); }
inline Expr select(const Expr& c, double a, const Expr& b) { return select(c, b.like(a), b); }
inline Expr select(const Expr& c, const Expr& a, double b) { return select(c, a, a.like(b)); }
inline Expr abs(const Expr& a) { return a.with(a.ir->abs(a.v)); }
inline Expr sqrt(const Expr& a) { return a.with(a.ir->sqrt(a.v)); }
inline Expr trunc(const Expr& a) { return a.with(a.ir->trunc(a.v)); }
inline Expr floor(const Expr& a) { return a.with(a.ir->floor(a.v)); }
inline Expr rint(const Expr& a) { return a.with(a.ir->rint(a.v)); }
inline Expr isnan(const Expr& a) { return a.with(a.ir->isnan(a.v)); }
inline Expr copysign(const Expr& a, const Expr& b) { return a.with(a.ir->copysign(a.v, b.v)); }
inline Expr cast(const Expr& a, DType to) { return a.with(a.ir->cast(a.v, to)); }
/// Reinterprets the bits as an integer of the same width, and back.
inline Expr bits(const Expr& a) { return a.with(a.ir->bitcast(a.v, a.dtype() == DType::float32 ? DType::int32 : DType::int64)); }
inline Expr from_bits(const Expr& a) { return a.with(a.ir->bitcast(a.v, a.dtype() == DType::int32 ? DType::float32 : DType::float64)); }
/// Shift by a constant smaller than the width.
inline Expr shift_left(const Expr& a, int n) { return a.with(a.ir->binary("shl", a.v, a.like(n).v)); }
inline Expr shift_right(const Expr& a, int n) { return a.with(a.ir->binary("ashr", a.v, a.like(n).v)); }

/// Split and join 64 unsigned bits (base/philox.hpp).
inline Expr high_half(const Expr& a) { return a.with(a.ir->binary("lshr", a.v, a.like(32).v)); }
inline Expr low_half(const Expr& a) { return a & std::int64_t{0xffffffff}; }
inline Expr joined_halves(const Expr& high, const Expr& low) { return shift_left(high, 32) | low; }

inline Expr to_double(const Expr& a) { return cast(a, DType::float64); }
inline Expr to_float(const Expr& a) { return cast(a, DType::float32); }
inline Expr or_libm(const Expr& fast, const Expr& mask, const char* name, const Expr& x) { return fast.with(fast.ir->or_libm(fast.v, mask.v, name, {x.v})); }

}  // namespace sinter::jit::llvm
