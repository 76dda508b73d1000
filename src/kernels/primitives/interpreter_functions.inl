// The functions of jit/math/float32_math.hpp and jit/math/float64_math.hpp over tiles. Included once for each instruction set, with SINTER_FUNCTIONS the name
// of its table. The loops are plain, so that the compiler vectorises them.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "jit/math/float32_math.hpp"
#include "jit/math/float64_math.hpp"
#include "kernels/primitives/interpreter_functions.hpp"

namespace sinter::kernels {
namespace {

/// One number. The type is local to this file, so that code for one instruction set is never linked in place of another's. Copying is written out: GCC copies
/// larger structs of numbers through memory as bytes, and then does not vectorise the loop.
template <class T> struct Lane {
  T v;
  Lane(T value) : v(value) {}
  Lane(const Lane& other) : v(other.v) {}
  Lane& operator=(const Lane& other) {
    v = other.v;
    return *this;
  }
  template <class U> Lane like(U value) const { return {static_cast<T>(value)}; }
};
template <class U>
concept Number = std::is_arithmetic_v<U>;

#define SINTER_LANE(symbol, Result)                                                                                       \
  template <class T> Lane<Result> operator symbol(Lane<T> a, Lane<T> b) { return {static_cast<Result>(a.v symbol b.v)}; } \
  template <class T, Number U> Lane<Result> operator symbol(Lane<T> a, U b) { return a symbol a.like(b); }                \
  template <class T, Number U> Lane<Result> operator symbol(U a, Lane<T> b) { return b.like(a) symbol b; }
SINTER_LANE(+, T)
SINTER_LANE(-, T)
SINTER_LANE(*, T)
SINTER_LANE(/, T)
SINTER_LANE(&, T)
SINTER_LANE(|, T)
SINTER_LANE(^, T)
SINTER_LANE(<, bool)
SINTER_LANE(<=, bool)
SINTER_LANE(>, bool)
SINTER_LANE(>=, bool)
SINTER_LANE(==, bool)
SINTER_LANE(!=, bool)
#undef SINTER_LANE
template <class T> Lane<T> operator-(Lane<T> a) { return {-a.v}; }

#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define SINTER_FMA 1
#else
#define SINTER_FMA 0
#endif
Lane<float> multiply_add(Lane<float> a, Lane<float> b, Lane<float> c) {
#if SINTER_FMA
  return {__builtin_fmaf(a.v, b.v, c.v)};
#else
  return a * b + c;
#endif
}
Lane<double> multiply_add(Lane<double> a, Lane<double> b, Lane<double> c) {
#if SINTER_FMA
  return {__builtin_fma(a.v, b.v, c.v)};
#else
  return a * b + c;
#endif
}
template <class T> constexpr bool is_float32(const Lane<T>&) { return std::is_same_v<T, float>; }
template <class T> constexpr bool has_fma(const Lane<T>&) { return SINTER_FMA; }
template <class T> Lane<T> as_lane(Lane<T>, Lane<T> b) { return b; }
template <class T, Number U> Lane<T> as_lane(Lane<T> a, U b) { return a.like(b); }
template <class T, class B, class C> Lane<T> fma(Lane<T> a, B b, C c) { return multiply_add(a, as_lane(a, b), as_lane(a, c)); }

/// Selects by bits: the compiler would turn ?: into a branch, and does not vectorise a loop with branches.
template <class T> Lane<T> select(Lane<bool> c, Lane<T> a, Lane<T> b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto x = std::bit_cast<Bits>(a.v), y = std::bit_cast<Bits>(b.v), mask = -static_cast<Bits>(c.v);
  return {std::bit_cast<T>((x & mask) | (y & ~mask))};
}
template <class T, Number U> Lane<T> select(Lane<bool> c, U a, Lane<T> b) { return select(c, b.like(a), b); }
template <class T, Number U> Lane<T> select(Lane<bool> c, Lane<T> a, U b) { return select(c, a, a.like(b)); }

Lane<float> abs(Lane<float> a) { return {__builtin_fabsf(a.v)}; }
Lane<double> abs(Lane<double> a) { return {__builtin_fabs(a.v)}; }
Lane<float> sqrt(Lane<float> a) { return {__builtin_sqrtf(a.v)}; }
Lane<double> sqrt(Lane<double> a) { return {__builtin_sqrt(a.v)}; }
Lane<float> trunc(Lane<float> a) { return {__builtin_truncf(a.v)}; }
Lane<double> trunc(Lane<double> a) { return {__builtin_trunc(a.v)}; }
Lane<float> copysign(Lane<float> a, Lane<float> b) { return {__builtin_copysignf(a.v, b.v)}; }
Lane<double> copysign(Lane<double> a, Lane<double> b) { return {__builtin_copysign(a.v, b.v)}; }
template <class T> Lane<bool> isnan(Lane<T> a) { return {a.v != a.v}; }
template <class T> Lane<double> to_double(Lane<T> a) { return {static_cast<double>(a.v)}; }
template <class T> Lane<float> to_float(Lane<T> a) { return {static_cast<float>(a.v)}; }
Lane<std::int32_t> bits(Lane<float> a) { return {std::bit_cast<std::int32_t>(a.v)}; }
Lane<std::int64_t> bits(Lane<double> a) { return {std::bit_cast<std::int64_t>(a.v)}; }
Lane<float> from_bits(Lane<std::int32_t> a) { return {std::bit_cast<float>(a.v)}; }
Lane<double> from_bits(Lane<std::int64_t> a) { return {std::bit_cast<double>(a.v)}; }
template <class T> Lane<T> shift_left(Lane<T> a, int n) { return {static_cast<T>(a.v << n)}; }
template <class T> Lane<T> shift_right(Lane<T> a, int n) { return {static_cast<T>(a.v >> n)}; }
/// Selects, because a load for each lane costs more.
template <class T, class N> Lane<T> lookup(const T (&table)[8], Lane<N> n) {
  const Lane<bool> odd{(n.v & 1) != 0}, second{(n.v & 2) != 0}, upper{(n.v & 4) != 0};
  const auto one_of = [&](int k) { return select(odd, Lane<T>{table[k + 1]}, Lane<T>{table[k]}); };
  return select(upper, select(second, one_of(6), one_of(4)), select(second, one_of(2), one_of(0)));
}
template <class T, class F> Lane<T> ldexp_or(Lane<T>, Lane<T>, const F& steps) { return steps(); }
template <class T, class F> Lane<T> logarithm_limits_or(Lane<T>, Lane<T>, const F& selects) { return selects(); }
/// Returns the fast result. The library is called afterwards (unary below), because a call in the loop would prevent vectorisation.
template <class T> Lane<T> or_libm(Lane<T> fast, Lane<bool>, const char*, Lane<T>) { return fast; }
constexpr auto library(Op op) -> double (*)(double) { return op == Op::sin ? &::sin : op == Op::cos ? &::cos : op == Op::tan ? &::tan : nullptr; }
bool beyond_circular(Lane<float> x) { return jit::float32_math::beyond_circular(x).v; }
bool beyond_circular(Lane<double> x) { return jit::float64_math::beyond_circular(x).v; }

// Everything is inlined, for the same reason.
template <class T, Op op, auto function> [[gnu::flatten]] void unary(std::int64_t n, const void* const* args, void* out) {
  const auto* x = static_cast<const T*>(args[0]);
  auto* to = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = function(Lane<T>{x[i]}).v;
  if constexpr (library(op) != nullptr)
    for (std::int64_t i = 0; i < n; ++i)
      if (beyond_circular(Lane<T>{x[i]})) to[i] = static_cast<T>(library(op)(static_cast<double>(x[i])));
}
template <class T, auto function> [[gnu::flatten]] void binary(std::int64_t n, const void* const* args, void* out) {
  const auto *x = static_cast<const T*>(args[0]), *y = static_cast<const T*>(args[1]);
  auto* to = static_cast<T*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = function(Lane<T>{x[i]}, Lane<T>{y[i]}).v;
}
template <class T, Op op, int arity, auto function> TileFn kernel() {
  if constexpr (arity == 1) return &unary<T, op, function>;
  else return &binary<T, function>;
}

}  // namespace

TileFn SINTER_FUNCTIONS(Op op, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64) return nullptr;
  const bool narrow = dtype == DType::float32;
  switch (op) {
#define SINTER_FUNCTION(id, arity, ...)                                                                        \
  case Op::id:                                                                                                 \
    return narrow ? kernel<float, Op::id, arity, [](auto... x) { return jit::float32_math::id##_32(x...); }>() \
                  : kernel<double, Op::id, arity, [](auto... x) { return jit::float64_math::id##_64(x...); }>();
    SINTER_FUNCTION(power, 2)
#include "trace/primitives.def"
    default: return nullptr;
  }
}

}  // namespace sinter::kernels
