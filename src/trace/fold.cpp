// Folds arithmetic on literals exactly as the executors compute it.
#include <cmath>
#include <cstdint>
#include <limits>

#include "trace/build.hpp"

namespace sinter::trace {
namespace {

Scalar boolean(bool value) { return make_scalar_int(DType::bool_, value ? 1 : 0); }

template <class T> bool fold_float(Op op, DType dtype, T a, T b, Scalar& result) {
  T value;
  switch (op) {
    case Op::add: value = a + b; break;
    case Op::subtract: value = a - b; break;
    case Op::multiply: value = a * b; break;
    case Op::divide: value = a / b; break;
    case Op::negative: value = -a; break;
    case Op::absolute: value = std::fabs(a); break;
    case Op::floor: value = std::floor(a); break;
    case Op::ceil: value = std::ceil(a); break;
    case Op::trunc: value = std::trunc(a); break;
    case Op::rint: value = std::nearbyint(a); break;
    case Op::minimum:
    case Op::maximum:
      if (a == b && std::signbit(a) != std::signbit(b)) return false;  // the executor chooses which zero results
      value = (op == Op::minimum) == (a < b) ? a : b;
      if (std::isnan(a) || std::isnan(b)) return false;
      break;
    case Op::equal: result = boolean(a == b); return true;
    case Op::not_equal: result = boolean(a != b); return true;
    case Op::less: result = boolean(a < b); return true;
    case Op::less_equal: result = boolean(a <= b); return true;
    case Op::isnan: result = boolean(std::isnan(a)); return true;
    case Op::isinf: result = boolean(std::isinf(a)); return true;
    case Op::isfinite: result = boolean(std::isfinite(a)); return true;
    default: return false;
  }
  if (std::isnan(value)) return false;  // the executor also chooses the sign of a NaN
  result = make_scalar(dtype, static_cast<double>(value));
  return true;
}

template <class T> bool fold_integer(Op op, DType dtype, T a, T b, Scalar& result) {
  using U = std::make_unsigned_t<T>;  // overflow wraps
  const U x = static_cast<U>(a), y = static_cast<U>(b);
  U value;
  switch (op) {
    case Op::add: value = x + y; break;
    case Op::subtract: value = x - y; break;
    case Op::multiply: value = x * y; break;
    case Op::negative: value = U{0} - x; break;
    case Op::absolute: value = a < 0 ? U{0} - x : x; break;
    case Op::minimum: value = a < b ? x : y; break;
    case Op::maximum: value = a < b ? y : x; break;
    case Op::bitwise_and: value = x & y; break;
    case Op::bitwise_or: value = x | y; break;
    case Op::bitwise_xor: value = x ^ y; break;
    case Op::bitwise_not: value = ~x; break;
    case Op::equal: result = boolean(a == b); return true;
    case Op::not_equal: result = boolean(a != b); return true;
    case Op::less: result = boolean(a < b); return true;
    case Op::less_equal: result = boolean(a <= b); return true;
    default: return false;
  }
  result = make_scalar_int(dtype, static_cast<T>(value));
  return true;
}

bool fold_bool(Op op, bool a, bool b, Scalar& result) {
  switch (op) {
    case Op::add:
    case Op::maximum:
    case Op::bitwise_or: result = boolean(a || b); return true;
    case Op::multiply:
    case Op::minimum:
    case Op::bitwise_and: result = boolean(a && b); return true;
    case Op::absolute: result = boolean(a); return true;
    case Op::bitwise_not: result = boolean(!a); return true;
    case Op::not_equal:
    case Op::bitwise_xor: result = boolean(a != b); return true;
    case Op::equal: result = boolean(a == b); return true;
    case Op::less: result = boolean(!a && b); return true;
    case Op::less_equal: result = boolean(!a || b); return true;
    default: return false;
  }
}

}  // namespace

bool fold(Op op, std::span<const Scalar> operands, Scalar& result) {
  if (operands.size() > 2) return false;
  const Scalar& a = operands.front();
  const Scalar& b = operands.back();
  return visit_compute(a.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, bool>) return fold_bool(op, a.i != 0, b.i != 0, result);
    else if constexpr (std::is_integral_v<T>) return fold_integer(op, a.dtype, static_cast<T>(a.i), static_cast<T>(b.i), result);
    else return fold_float(op, a.dtype, static_cast<T>(a.f), static_cast<T>(b.f), result);
  });
}

bool fold_cast(const Scalar& x, DType dtype, Scalar& result) {
  if (!is_floating(x.dtype)) {
    if (x.dtype == DType::uint64 && x.i < 0 && is_floating(dtype)) return false;  // would round twice
    result = make_scalar_int(dtype, x.i);
    return true;
  }
  if (is_integer(dtype) && !holds(dtype, std::trunc(x.f))) return false;  // the executor chooses the result
  result = make_scalar(dtype, x.f);
  return true;
}

namespace {

/// Digits of the significand and range of the exponent, for integers and floating types.
struct Precision {
  int digits, min_exponent, max_exponent;
  bool infinity;
};
Precision precision(DType t) {
  return visit_storage(t, []<class T>() -> Precision {
    using limits = std::numeric_limits<T>;
    if constexpr (!limits::is_integer) return {limits::digits, limits::min_exponent - limits::digits, limits::max_exponent, limits::has_infinity};
    else return {limits::digits, 0, limits::digits, false};
  });
}

}  // namespace

bool lossless(DType from, DType to) {
  if (from == to || is_bool(from)) return true;
  if (is_bool(to) || (is_floating(from) && is_integer(to))) return false;
  if (is_integer(to)) return (is_unsigned(from) || !is_unsigned(to)) && precision(from).digits <= precision(to).digits;
  const Precision f = precision(from), t = precision(to);
  return f.digits <= t.digits && f.min_exponent >= t.min_exponent && f.max_exponent <= t.max_exponent && f.infinity <= t.infinity;
}

}  // namespace sinter::trace
