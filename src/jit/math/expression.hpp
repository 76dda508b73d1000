// Math functions as formulas: an Expr is a value together with the writer of its function, which writes LLVM IR (jit/llvm/ir_writer.hpp) or OpenCL C
// (jit/opencl/functions.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "sinter/dtype.hpp"

namespace sinter::jit {

template <class Writer, class Value> struct Expr {
  Writer* ir;
  Value v;

  DType dtype() const { return v.dtype; }
  Expr with(Value value) const { return {ir, std::move(value)}; }
  /// Returns a literal of this expression's element type.
  template <class T> Expr like(T value) const {
    if constexpr (std::is_floating_point_v<T>) return with(ir->real(v.dtype, value));
    else return with(ir->integer(v.dtype, value));
  }
};

#define SINTER_EXPR_BINARY(symbol, method)                                                                                                       \
  template <class W, class V> Expr<W, V> operator symbol(const Expr<W, V>& a, const Expr<W, V>& b) { return a.with(a.ir->method(a.v, b.v)); }    \
  template <class W, class V, class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr<W, V> operator symbol(const Expr<W, V>& a, T b) { \
    return a symbol a.like(b);                                                                                                                   \
  }                                                                                                                                              \
  template <class W, class V, class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr<W, V> operator symbol(T a, const Expr<W, V>& b) { \
    return b.like(a) symbol b;                                                                                                                   \
  }
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
template <class W, class V, class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr<W, V> operator>(const Expr<W, V>& a, T b) { return a.like(b) < a; }
template <class W, class V> Expr<W, V> operator>(const Expr<W, V>& a, const Expr<W, V>& b) { return b < a; }
template <class W, class V, class T, class = std::enable_if_t<std::is_arithmetic_v<T>>> Expr<W, V> operator>=(const Expr<W, V>& a, T b) {
  return a.like(b) <= a;
}
template <class W, class V> Expr<W, V> operator-(const Expr<W, V>& a) { return a.with(a.ir->neg(a.v)); }

template <class W, class V> bool is_float32(const Expr<W, V>& a) { return a.dtype() == DType::float32; }
template <class W, class V> bool has_fma(const Expr<W, V>& a) { return a.ir->module().has_fma(); }
template <class W, class V> Expr<W, V> fma(const Expr<W, V>& a, const Expr<W, V>& b, const Expr<W, V>& c) { return a.with(a.ir->fma(a.v, b.v, c.v)); }
template <class W, class V> Expr<W, V> fma(const Expr<W, V>& a, double b, const Expr<W, V>& c) { return fma(a, a.like(b), c); }
template <class W, class V> Expr<W, V> fma(const Expr<W, V>& a, const Expr<W, V>& b, double c) { return fma(a, b, a.like(c)); }
template <class W, class V> Expr<W, V> fma(const Expr<W, V>& a, double b, double c) { return fma(a, a.like(b), a.like(c)); }
template <class W, class V> Expr<W, V> select(const Expr<W, V>& c, const Expr<W, V>& a, const Expr<W, V>& b) { return a.with(c.ir->select(c.v, a.v, b.v)); }
template <class W, class V> Expr<W, V> select(const Expr<W, V>& c, double a, const Expr<W, V>& b) { return select(c, b.like(a), b); }
template <class W, class V> Expr<W, V> select(const Expr<W, V>& c, const Expr<W, V>& a, double b) { return select(c, a, a.like(b)); }
template <class W, class V> Expr<W, V> abs(const Expr<W, V>& a) { return a.with(a.ir->abs(a.v)); }
template <class W, class V> Expr<W, V> sqrt(const Expr<W, V>& a) { return a.with(a.ir->sqrt(a.v)); }
template <class W, class V> Expr<W, V> trunc(const Expr<W, V>& a) { return a.with(a.ir->trunc(a.v)); }
template <class W, class V> Expr<W, V> floor(const Expr<W, V>& a) { return a.with(a.ir->floor(a.v)); }
template <class W, class V> Expr<W, V> rint(const Expr<W, V>& a) { return a.with(a.ir->rint(a.v)); }
template <class W, class V> Expr<W, V> isnan(const Expr<W, V>& a) { return a.with(a.ir->isnan(a.v)); }
template <class W, class V> Expr<W, V> copysign(const Expr<W, V>& a, const Expr<W, V>& b) { return a.with(a.ir->copysign(a.v, b.v)); }
template <class W, class V> Expr<W, V> cast(const Expr<W, V>& a, DType to) { return a.with(a.ir->cast(a.v, to)); }
/// Reinterprets the bits as an integer of the same width, and back.
template <class W, class V> Expr<W, V> bits(const Expr<W, V>& a) {
  return a.with(a.ir->bitcast(a.v, a.dtype() == DType::float32 ? DType::int32 : DType::int64));
}
template <class W, class V> Expr<W, V> from_bits(const Expr<W, V>& a) {
  return a.with(a.ir->bitcast(a.v, a.dtype() == DType::int32 ? DType::float32 : DType::float64));
}
/// Shift by a constant smaller than the width.
template <class W, class V> Expr<W, V> shift_left(const Expr<W, V>& a, int n) { return a.with(a.ir->binary("shl", a.v, a.like(n).v)); }
template <class W, class V> Expr<W, V> shift_right(const Expr<W, V>& a, int n) { return a.with(a.ir->binary("ashr", a.v, a.like(n).v)); }

/// Split and join 64 unsigned bits (base/philox.hpp).
template <class W, class V> Expr<W, V> high_half(const Expr<W, V>& a) { return a.with(a.ir->binary("lshr", a.v, a.like(32).v)); }
template <class W, class V> Expr<W, V> low_half(const Expr<W, V>& a) { return a & std::int64_t{0xffffffff}; }
template <class W, class V> Expr<W, V> joined_halves(const Expr<W, V>& high, const Expr<W, V>& low) { return shift_left(high, 32) | low; }

template <class W, class V> Expr<W, V> to_double(const Expr<W, V>& a) { return cast(a, DType::float64); }
template <class W, class V> Expr<W, V> to_float(const Expr<W, V>& a) { return cast(a, DType::float32); }
template <class W, class V, class T> Expr<W, V> lookup(const T (&table)[8], const Expr<W, V>& n) { return n.with(n.ir->lookup(table, n.v)); }
template <class W, class V> Expr<W, V> or_libm(const Expr<W, V>& fast, const Expr<W, V>& mask, const char* name, const Expr<W, V>& x) {
  return fast.with(fast.ir->or_libm(fast.v, mask.v, name, {x.v}));
}
template <class W, class V, class F> Expr<W, V> ldexp_or(const Expr<W, V>& x, const Expr<W, V>& n, const F& steps) {
  const auto scaled = x.ir->ldexp(x.v, n.v);
  return scaled ? x.with(*scaled) : steps();
}
template <class W, class V, class F> Expr<W, V> logarithm_limits_or(const Expr<W, V>& result, const Expr<W, V>& x, const F& selects) {
  const auto limited = x.ir->logarithm_limits(result.v, x.v);
  return limited ? x.with(*limited) : selects();
}

}  // namespace sinter::jit
