// Elementwise functions composed of primitives, with NumPy's types and special values.
#include <array>
#include <limits>
#include <numbers>

#include <fmt/format.h>

#include "ops/composed.hpp"
#include "ops/recording.hpp"
#include "sinter/counted.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

constexpr double kLn2 = std::numbers::ln2, kLog2e = std::numbers::log2e;

/// Several arguments in the type that a primitive's rule gives, converted to its compute type.
template <std::size_t N> struct Operands {
  std::array<Tensor, N> values;
  DType type;

  Tensor operator()(const Tensor& result) const { return result.astype(type); }
};
template <class... Args> Operands<sizeof...(Args)> operands_of(const Site& site, Op rule, const Args&... args) {
  const std::array<const Arg*, sizeof...(Args)> list{&args...};
  for (const Arg* x : list)
    if (x->is_tensor()) node_of(site, x->tensor());
  const DType type = operand_type(rule, site, list);
  return {{Tensor(operand(site, args, traits(type).compute, shape_of(site, args)))...}, type};
}

/// Returns the neighbour of x towards y in a narrow type; both are float32 values. It is one unit in the last place away, which is half as large below a power
/// of two.
Tensor next_of_narrow(const Tensor& x, const Tensor& y, DType type) {
  int digits = 0, min_exponent = 0;
  double largest = 0, smallest = 0;
  visit_storage(type, [&]<class T>() {
    using limits = std::numeric_limits<T>;
    digits = limits::digits, min_exponent = limits::min_exponent;
    largest = static_cast<double>(limits::max()), smallest = static_cast<double>(limits::denorm_min());
  });
  const auto [fraction, exponent] = frexp(x);
  const Tensor away = (x < y) == (x > 0), shrinks = (!away) & (abs(fraction) == 0.5);
  const Tensor unit = ldexp(full({}, 1.0f), maximum(exponent - digits - shrinks.astype(DType::int32), min_exponent - digits));
  const Tensor moved = copysign(abs(x) + where(away, unit, -unit), x);
  const Tensor next = where(x == 0, copysign(smallest, y), where(isinf(x), copysign(largest, x), moved));
  return where(x == y, y, where(isnan(x) | isnan(y), x + y, next));
}

/// Returns the unsigned type of the same size.
DType unsigned_type(DType t) { return itemsize(t) == 1 ? DType::uint8 : itemsize(t) == 2 ? DType::uint16 : itemsize(t) == 4 ? DType::uint32 : DType::uint64; }

}  // namespace

Tensor fmod(const Arg& a, const Arg& b) {
  const Scope scope("fmod", a.where());
  const auto fmod = operands_of(scope.site(), Op::remainder, a, b);
  const auto& [x, y] = fmod.values;
  if (is_floating(fmod.type)) return fmod(copysign(remainder(abs(x), abs(y)), x));
  const Tensor rest = remainder(x, y);  // has the divisor's sign
  return fmod(where((rest != 0) & ((x < 0) != (y < 0)), rest - y, rest));
}

std::pair<Tensor, Tensor> divmod(const Arg& a, const Arg& b) {
  const Scope scope("divmod", a.where());
  return {floor_divide(a, b), remainder(a, b)};
}

Tensor fmin(const Arg& a, const Arg& b) {
  const Scope scope("fmin", a.where());
  const auto fmin = operands_of(scope.site(), Op::minimum, a, b);
  const auto& [x, y] = fmin.values;
  return fmin(where(isnan(x), y, where(isnan(y), x, minimum(x, y))));
}
Tensor fmax(const Arg& a, const Arg& b) {
  const Scope scope("fmax", a.where());
  const auto fmax = operands_of(scope.site(), Op::maximum, a, b);
  const auto& [x, y] = fmax.values;
  return fmax(where(isnan(x), y, where(isnan(y), x, maximum(x, y))));
}

Tensor lcm(const Arg& a, const Arg& b) {
  const Scope scope("lcm", a.where());
  const auto lcm = operands_of(scope.site(), Op::gcd, a, b);
  const DType magnitude = unsigned_type(lcm.type);
  const Tensor x = abs(lcm.values[0]).astype(magnitude), y = abs(lcm.values[1]).astype(magnitude);
  return lcm(floor_divide(x, maximum(gcd(x, y), 1)) * y);  // the result for 0 and 0 is 0
}

Tensor lerp(const Arg& a, const Arg& b, const Arg& t) {
  const Scope scope("lerp", a.where());
  const auto lerp = operands_of(scope.site(), Op::atan2, a, b, t);
  const auto& [x, y, at] = lerp.values;
  const Tensor way = y - x;
  return lerp(where(at < 0.5, x + at * way, y - (1 - at) * way));
}

Tensor select(const std::vector<Tensor>& conditions, const std::vector<Tensor>& choices, const Arg& otherwise) {
  const Scope scope("select", otherwise.where());
  if (conditions.size() != choices.size() || conditions.empty())
    fail<ValueError>(scope.site(), fmt::format("{} and {}: one choice for each condition, and at least one", counted(conditions.size(), "condition"),
                                               counted(choices.size(), "choice")));
  Tensor result = where(conditions.back(), choices.back(), otherwise);
  for (std::size_t k = conditions.size() - 1; k-- > 0;) result = where(conditions[k], choices[k], result);
  return result;
}

Tensor piecewise(const Arg& x, const std::vector<Tensor>& conditions, const std::vector<Tensor>& values) {
  const Scope scope("piecewise", x.where());
  const std::size_t n = conditions.size();
  if (values.size() != n && values.size() != n + 1)
    fail<ValueError>(scope.site(), fmt::format("{} conditions take {} or {} values, not {}", n, n, n + 1, values.size()));
  const RecordedPtr node = as_node(scope.site(), x);
  const DType type = node->dtype;
  Tensor result = broadcast_to(values.size() > n ? values.back().astype(type) : zeros({}, type), Tensor(node).shape());
  for (std::size_t k = 0; k < n; ++k) result = where(conditions[k], values[k].astype(type), result);
  return result;
}

Tensor heaviside(const Arg& x, const Arg& at_zero) {
  const Scope scope("heaviside", x.where());
  const auto heaviside = operands_of(scope.site(), Op::atan2, x, at_zero);
  const auto& [v, middle] = heaviside.values;
  return heaviside(where(v < 0, 0, where(v > 0, 1, where(v == 0, middle, v))));  // a NaN remains
}

Tensor nan_to_num(const Arg& x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
  const Scope scope("nan_to_num", x.where());
  const RecordedPtr node = as_node(scope.site(), x);
  if (!is_floating(node->dtype)) return Tensor(node);
  const double largest = visit_storage(node->dtype, []<class T>() { return static_cast<double>(std::numeric_limits<T>::max()); });
  const Composed nan_to_num = floating(scope.site(), x);
  const Tensor& v = nan_to_num.values;
  const Tensor infinite = where(v > 0, posinf.value_or(largest), neginf.value_or(-largest));
  return nan_to_num(where(isnan(v), nan, where(isinf(v), infinite, v)));
}

std::pair<Tensor, Tensor> modf(const Arg& x) {
  const Scope scope("modf", x.where());
  const Composed modf = real(scope.site(), x);
  const Tensor& v = modf.values;
  const Tensor whole = trunc(v);
  return {modf(copysign(where(isinf(v), 0, v - whole), v)), modf(whole)};
}

Tensor nextafter(const Arg& a, const Arg& b) {
  const Scope scope("nextafter", a.where());
  const auto nextafter = operands_of(scope.site(), Op::nextafter, a, b);
  const auto& [x, y] = nextafter.values;
  if (is_storage_only(nextafter.type)) return nextafter(next_of_narrow(x, y, nextafter.type));
  const std::array shapes{&x.shape(), &y.shape()};
  const Shape shape = broadcast_shape(scope.site(), shapes);
  return Tensor(make_elementwise(scope.site(), Op::nextafter, {make_broadcast(scope.site(), x.node(), shape), make_broadcast(scope.site(), y.node(), shape)}));
}

Tensor signbit(const Arg& x) {
  const Scope scope("signbit", x.where());
  return copysign(1, real(scope.site(), x).values) < 0;
}

Tensor ldexp(const Arg& x, const Arg& n) {
  const Scope scope("ldexp", x.where());
  const RecordedPtr exponent = as_node(scope.site(), n);
  if (is_floating(exponent->dtype)) fail<DTypeError>(scope.site(), fmt::format("the exponent is {}; it has to be an integer", name(exponent->dtype)));
  const Composed ldexp = real(scope.site(), x);
  const DType type = ldexp.values.dtype();
  // Exponents far beyond the range have the same effect as those slightly beyond it, which are exact in every type.
  const Tensor near =
      is_bool(exponent->dtype) || itemsize(exponent->dtype) == 1 ? Tensor(exponent) : clip(Tensor(exponent), is_unsigned(exponent->dtype) ? 0 : -4000, 4000);
  const Tensor whole = near.astype(type);
  const std::array shapes{&ldexp.values.shape(), &whole.shape()};
  const Shape shape = broadcast_shape(scope.site(), shapes);
  return ldexp(Tensor(make_elementwise(scope.site(), Op::ldexp,
                                       {make_broadcast(scope.site(), ldexp.values.node(), shape), make_broadcast(scope.site(), whole.node(), shape)})));
}

std::pair<Tensor, Tensor> frexp(const Arg& x) {
  const Scope scope("frexp", x.where());
  const Composed frexp = real(scope.site(), x);
  const Tensor& v = frexp.values;
  const Tensor ordinary = isfinite(v) & (v != 0);
  // The logarithm near a power of two may be wrong by one.
  const Tensor guess = where(ordinary, floor(log2(abs(v))) + 1, 0).astype(DType::int32);
  const Tensor fraction = ldexp(v, -guess), size = abs(fraction);
  const Tensor above = ordinary & (size >= 1), below = ordinary & (size < 0.5);
  return {frexp(where(above, fraction * 0.5, where(below, fraction * 2, where(ordinary, fraction, v)))),
          where(above, guess + 1, where(below, guess - 1, guess))};
}

Tensor sinc(const Arg& x) {
  const Scope scope("sinc", x.where());
  const Composed sinc = floating(scope.site(), x);
  const Tensor angle = std::numbers::pi * sinc.values;
  return sinc(where(sinc.values == 0, 1, sin(angle) / angle));
}

Tensor deg2rad(const Arg& x) {
  const Scope scope("deg2rad", x.where());
  const Composed deg2rad = real(scope.site(), x);
  return deg2rad(deg2rad.values * (std::numbers::pi / 180));
}
Tensor rad2deg(const Arg& x) {
  const Scope scope("rad2deg", x.where());
  const Composed rad2deg = real(scope.site(), x);
  return rad2deg(rad2deg.values * (180 / std::numbers::pi));
}

// The difference of equal infinities is NaN, so they are returned directly.
Tensor logaddexp(const Arg& a, const Arg& b) {
  const Scope scope("logaddexp", a.where());
  const auto logaddexp = operands_of(scope.site(), Op::atan2, a, b);
  const auto& [x, y] = logaddexp.values;
  const Tensor top = maximum(x, y);
  return logaddexp(where(x == y, top + kLn2, top + log1p(exp(-abs(x - y)))));
}
Tensor logaddexp2(const Arg& a, const Arg& b) {
  const Scope scope("logaddexp2", a.where());
  const auto logaddexp2 = operands_of(scope.site(), Op::atan2, a, b);
  const auto& [x, y] = logaddexp2.values;
  const Tensor top = maximum(x, y);
  return logaddexp2(where(x == y, top + 1, top + kLog2e * log1p(exp2(-abs(x - y)))));
}

Tensor isclose(const Arg& a, const Arg& b, double rtol, double atol, bool equal_nan) {
  const Scope scope("isclose", a.where());
  const auto [values, type] = operands_of(scope.site(), Op::divide, a, b);
  const auto& [x, y] = values;
  const Tensor close = ((abs(x - y) <= atol + rtol * abs(y)) & isfinite(y)) | (x == y);
  return equal_nan ? close | (isnan(x) & isnan(y)) : close;
}
Tensor allclose(const Arg& a, const Arg& b, double rtol, double atol, bool equal_nan) {
  const Scope scope("allclose", a.where());
  return all(isclose(a, b, rtol, atol, equal_nan));
}

Tensor bitwise_count(const Arg& x) {
  const Scope scope("bitwise_count", x.where());
  const RecordedPtr node = as_node(scope.site(), x);
  if (is_floating(node->dtype)) fail<DTypeError>(scope.site(), fmt::format("not supported for {}; it counts the bits of integers", name(node->dtype)));
  const Tensor whole = Tensor(node).astype(node->dtype == DType::bool_ ? DType::uint8 : node->dtype);
  return Tensor(trace::make_elementwise(scope.site(), Op::bitwise_count, {as_node(scope.site(), abs(whole))})).astype(DType::uint8);
}

}  // namespace sinter
