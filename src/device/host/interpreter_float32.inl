// The float32 functions of jit/float32_math.hpp over tiles. Included once for each instruction set, with SINTER_FLOAT32 the name
// of its table; the loops are plain, for the compiler to vectorise.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "device/host/interpreter_float32.hpp"
#include "jit/float32_math.hpp"

namespace sinter::device {
namespace {

/// One number. Of this file alone, so that code for one instruction set is never linked in place of another's.
template <class T>
struct Lane {
  T v;
  template <class U>
  Lane like(U value) const {
    return {static_cast<T>(value)};
  }
};
template <class U>
concept Number = std::is_arithmetic_v<U>;

#define SINTER_LANE(symbol, Result)                                                                        \
  template <class T>                                                                                       \
  Lane<Result> operator symbol(Lane<T> a, Lane<T> b) { return {static_cast<Result>(a.v symbol b.v)}; }     \
  template <class T, Number U>                                                                             \
  Lane<Result> operator symbol(Lane<T> a, U b) { return a symbol a.like(b); }                              \
  template <class T, Number U>                                                                             \
  Lane<Result> operator symbol(U a, Lane<T> b) { return b.like(a) symbol b; }
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
template <class T>
Lane<T> operator-(Lane<T> a) { return {-a.v}; }

Lane<float> multiply_add(Lane<float> a, Lane<float> b, Lane<float> c) {
#if defined(__FMA__)
  return {__builtin_fmaf(a.v, b.v, c.v)};
#else
  return a * b + c;
#endif
}
Lane<double> multiply_add(Lane<double> a, Lane<double> b, Lane<double> c) {
#if defined(__FMA__)
  return {__builtin_fma(a.v, b.v, c.v)};
#else
  return a * b + c;
#endif
}
template <class T>
Lane<T> as_lane(Lane<T>, Lane<T> b) { return b; }
template <class T, Number U>
Lane<T> as_lane(Lane<T> a, U b) { return a.like(b); }
template <class T, class B, class C>
Lane<T> fma(Lane<T> a, B b, C c) { return multiply_add(a, as_lane(a, b), as_lane(a, c)); }

/// By bits: the compiler makes a branch of ?:, and no vectors of a loop with branches.
template <class T>
Lane<T> select(Lane<bool> c, Lane<T> a, Lane<T> b) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  const auto x = std::bit_cast<Bits>(a.v), y = std::bit_cast<Bits>(b.v), mask = -static_cast<Bits>(c.v);
  return {std::bit_cast<T>((x & mask) | (y & ~mask))};
}
template <class T, Number U>
Lane<T> select(Lane<bool> c, U a, Lane<T> b) { return select(c, b.like(a), b); }
template <class T, Number U>
Lane<T> select(Lane<bool> c, Lane<T> a, U b) { return select(c, a, a.like(b)); }

Lane<float> abs(Lane<float> a) { return {__builtin_fabsf(a.v)}; }
Lane<double> abs(Lane<double> a) { return {__builtin_fabs(a.v)}; }
Lane<double> sqrt(Lane<double> a) { return {__builtin_sqrt(a.v)}; }
Lane<float> trunc(Lane<float> a) { return {__builtin_truncf(a.v)}; }
Lane<float> copysign(Lane<float> a, Lane<float> b) { return {__builtin_copysignf(a.v, b.v)}; }
Lane<double> copysign(Lane<double> a, Lane<double> b) { return {__builtin_copysign(a.v, b.v)}; }
template <class T>
Lane<bool> isnan(Lane<T> a) { return {a.v != a.v}; }
template <class T>
Lane<double> to_double(Lane<T> a) { return {static_cast<double>(a.v)}; }
template <class T>
Lane<float> to_float(Lane<T> a) { return {static_cast<float>(a.v)}; }
Lane<std::int32_t> bits(Lane<float> a) { return {std::bit_cast<std::int32_t>(a.v)}; }
Lane<std::int64_t> bits(Lane<double> a) { return {std::bit_cast<std::int64_t>(a.v)}; }
Lane<float> from_bits(Lane<std::int32_t> a) { return {std::bit_cast<float>(a.v)}; }
Lane<double> from_bits(Lane<std::int64_t> a) { return {std::bit_cast<double>(a.v)}; }
template <class T>
Lane<T> shift_left(Lane<T> a, int n) { return {static_cast<T>(a.v << n)}; }
template <class T>
Lane<T> shift_right(Lane<T> a, int n) { return {static_cast<T>(a.v >> n)}; }
/// The library is asked afterwards (by_libm below): a call would keep the loop from being vectorised.
inline Lane<float> or_libm(Lane<float> fast, Lane<bool>, const char*, Lane<float>) { return fast; }

// Everything is inlined, for the same reason.
template <auto function>
[[gnu::flatten]] void unary(std::int64_t n, const void* const* args, void* out) {
  const auto* x = static_cast<const float*>(args[0]);
  auto* to = static_cast<float*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) to[i] = function(Lane<float>{x[i]}).v;
}
template <auto function, double (*library)(double)>
void by_libm(std::int64_t n, const void* const* args, void* out) {
  unary<function>(n, args, out);
  const auto* x = static_cast<const float*>(args[0]);
  auto* to = static_cast<float*>(out);
  for (std::int64_t i = 0; i < n; ++i)
    if (jit::float32_math::beyond_circular(Lane<float>{x[i]}).v) to[i] = static_cast<float>(library(static_cast<double>(x[i])));
}
template <auto function, Uniform uniform>
[[gnu::flatten]] void binary(std::int64_t n, const void* const* args, void* out) {
  const auto *x = static_cast<const float*>(args[0]), *y = static_cast<const float*>(args[1]);
  auto* to = static_cast<float*>(out);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i)
    to[i] = function(Lane<float>{x[uniform == Uniform::first ? 0 : i]}, Lane<float>{y[uniform == Uniform::second ? 0 : i]}).v;
}

}  // namespace

TileFn SINTER_FLOAT32(Op op, Uniform uniform) {
  namespace functions = jit::float32_math;
  switch (op) {
    case Op::sin: return &by_libm<[](Lane<float> x) { return functions::sin_32(x); }, &::sin>;
    case Op::cos: return &by_libm<[](Lane<float> x) { return functions::cos_32(x); }, &::cos>;
    case Op::tan: return &by_libm<[](Lane<float> x) { return functions::tan_32(x); }, &::tan>;
#define SINTER_PLAIN(name) \
    case Op::name: return &unary<[](Lane<float> x) { return functions::name##_32(x); }>;
    SINTER_PLAIN(exp) SINTER_PLAIN(exp2) SINTER_PLAIN(expm1) SINTER_PLAIN(log) SINTER_PLAIN(log2) SINTER_PLAIN(log10) SINTER_PLAIN(log1p)
    SINTER_PLAIN(asin) SINTER_PLAIN(acos) SINTER_PLAIN(atan) SINTER_PLAIN(sinh) SINTER_PLAIN(cosh) SINTER_PLAIN(tanh) SINTER_PLAIN(erf)
#undef SINTER_PLAIN
#define SINTER_PLAIN(op, name)                                                                          \
    case Op::op: {                                                                                      \
      constexpr auto function = [](Lane<float> x, Lane<float> y) { return functions::name##_32(x, y); }; \
      return uniform == Uniform::none    ? &binary<function, Uniform::none>                             \
             : uniform == Uniform::first ? &binary<function, Uniform::first>                            \
                                         : &binary<function, Uniform::second>;                          \
    }
    SINTER_PLAIN(power, pow) SINTER_PLAIN(atan2, atan2)
#undef SINTER_PLAIN
    default: return nullptr;
  }
}

}  // namespace sinter::device
