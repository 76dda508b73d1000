// Arithmetic on literals, exactly as the executors compute it.
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
      if (a == b && std::signbit(a) != std::signbit(b)) return false;  // which zero comes out is the executor's choice
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
  if (std::isnan(value)) return false;  // the sign of a NaN is the executor's choice too
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
  switch (a.dtype) {
    case DType::float32: return fold_float(op, a.dtype, static_cast<float>(a.f), static_cast<float>(b.f), result);
    case DType::float64: return fold_float(op, a.dtype, a.f, b.f, result);
    case DType::int32:
      return fold_integer(op, a.dtype, static_cast<std::int32_t>(a.i), static_cast<std::int32_t>(b.i), result);
    case DType::int64: return fold_integer(op, a.dtype, a.i, b.i, result);
    case DType::bool_: return fold_bool(op, a.i != 0, b.i != 0, result);
    default: return false;
  }
}

bool fold_cast(const Scalar& x, DType dtype, Scalar& result) {
  if (!is_floating(x.dtype)) {
    result = make_scalar_int(dtype, x.i);
    return true;
  }
  if (is_integer(dtype)) {  // beyond the range, what comes out is the executor's choice
    const double low = dtype == DType::int32 ? -0x1p31 : -0x1p63;
    if (!(std::trunc(x.f) >= low && std::trunc(x.f) < -low)) return false;
  }
  result = make_scalar(dtype, x.f);
  return true;
}

bool lossless(DType from, DType to) {
  if (from == to || is_bool(from)) return true;
  if (is_bool(to)) return false;
  if (is_integer(from)) return from == DType::int32 && (to == DType::int64 || to == DType::float64);
  return from == DType::float32 && to == DType::float64;
}

}  // namespace sinter::trace
