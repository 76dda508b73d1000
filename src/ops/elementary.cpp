#include "sinter/elementary.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/recording.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"

namespace sinter {

using namespace ops;

Tensor round(const Arg& arg, int decimals) {
  const Scope scope("round", arg.where());
  const Tensor x(as_node(scope.site(), arg));
  if (decimals == 0) return round(x);
  if (!is_floating(x.dtype())) {
    if (decimals > 0) return x;
    // Integers are computed in float64, as in NumPy.
    const double unit = std::pow(10.0, -decimals);
    return astype(rint(astype(x, DType::float64) / unit) * unit, x.dtype());
  }
  const Composed c = floating(scope.site(), x);
  const double unit = std::pow(10.0, std::abs(decimals));
  return c(decimals > 0 ? rint(c.values * unit) / unit : rint(c.values / unit) * unit);
}
Tensor fix(const Arg& x) {
  const Scope scope("fix", x.where());
  return trunc(x);
}
Tensor clamp(const Arg& x, const Arg& low, const Arg& high) {
  const Scope scope("clamp", x.where());
  return clip(x, low, high);
}
Tensor popcount(const Arg& x) {
  const Scope scope("popcount", x.where());
  return bitwise_count(x);
}
Tensor float_power(const Arg& a, const Arg& b) {
  const Scope scope("float_power", a.where());
  return power(astype(Tensor(as_node(scope.site(), a)), DType::float64), astype(Tensor(as_node(scope.site(), b)), DType::float64));
}
Tensor isposinf(const Arg& x) {
  const Scope scope("isposinf", x.where());
  return logical_and(isinf(x), logical_not(signbit(x)));
}
Tensor isneginf(const Arg& x) {
  const Scope scope("isneginf", x.where());
  return logical_and(isinf(x), signbit(x));
}
Tensor array_equal(const Arg& a, const Arg& b, bool equal_nan) {
  const Scope scope("array_equal", a.where());
  const Tensor x(as_node(scope.site(), a)), y(as_node(scope.site(), b));
  if (x.shape() != y.shape()) return full({}, false);
  Tensor same = x == y;
  if (equal_nan) same = logical_or(same, logical_and(isnan(x), isnan(y)));
  return all(same);
}
Tensor nanargmax(const Arg& x, std::optional<std::int64_t> axis, bool keepdims) {
  const Scope scope("nanargmax", x.where());
  const Tensor values(as_node(scope.site(), x));
  return argmax(without_nan(values, neutral(Op::reduce_max, values.dtype()).as_double()), axis, keepdims);
}
Tensor nanargmin(const Arg& x, std::optional<std::int64_t> axis, bool keepdims) {
  const Scope scope("nanargmin", x.where());
  const Tensor values(as_node(scope.site(), x));
  return argmin(without_nan(values, neutral(Op::reduce_min, values.dtype()).as_double()), axis, keepdims);
}

Tensor vdot(const Arg& a, const Arg& b) {
  const Scope scope("vdot", a.where());
  return vecdot(reshape(a, {-1}), reshape(b, {-1}));
}
Tensor matvec(const Arg& a, const Arg& x) {
  const Scope scope("matvec", a.where());
  return squeeze(matmul(a, expand_dims(x, -1)), -1);
}
Tensor vecmat(const Arg& x, const Arg& a) {
  const Scope scope("vecmat", x.where());
  return squeeze(matmul(expand_dims(x, -2), a), -2);
}

}  // namespace sinter
