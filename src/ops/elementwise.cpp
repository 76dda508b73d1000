// The public elementwise functions: each determines the type by the table's rule, casts and broadcasts the operands, and records one node.
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "ops/recording.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

using namespace ops;

void require(const Site& site, const Arg& arg) {
  if (arg.is_tensor()) node_of(site, arg.tensor());
}

Tensor unary(Op op, const char* name, const Arg& x) {
  const Site site = site_of(name, x.where());
  require(site, x);
  const std::array operands{&x};
  const DType type = operand_type(op, site, operands);
  return Tensor(make_elementwise(site, op, {operand(site, x, type, shape_of(site, x))}));
}

/// Records a node; with `swapped` it takes b, then a. Messages use the user's order.
Tensor binary_as(Op op, const Site& site, DType type, const Arg& a, const Arg& b, bool swapped = false) {
  const auto make = [&](const auto& shape) {
    RecordedPtr x = operand(site, a, type, shape), y = operand(site, b, type, shape);
    return Tensor(swapped ? make_elementwise(site, op, {std::move(y), std::move(x)}) : make_elementwise(site, op, {std::move(x), std::move(y)}));
  };
  if (a.is_tensor() != b.is_tensor()) return make((a.is_tensor() ? a : b).tensor().node()->shape_owner);
  const Shape& sa = shape_of(site, a);
  const Shape& sb = shape_of(site, b);
  if (const Shape* shape = a.is_tensor() ? broader(sa, sb) : nullptr) return make((shape == &sa ? a : b).tensor().node()->shape_owner);
  const std::array shapes{&sa, &sb};
  return make(broadcast_shape(site, shapes));
}

Tensor binary(Op op, const char* name, const Arg& a, const Arg& b) {
  const Site site = site_of(name, a.where());
  require(site, a);
  require(site, b);
  const std::array operands{&a, &b};
  return binary_as(op, site, operand_type(op, site, operands), a, b);
}

bool is_signed(const Arg& x) { return x.is_tensor() && is_integer(x.tensor().dtype()) && !is_unsigned(x.tensor().dtype()); }
bool is_uint64(const Arg& x) { return x.is_tensor() && x.tensor().dtype() == DType::uint64; }

/// Compares uint64 with a signed type. No integer type contains both, and float64 would round them, so they are compared as uint64, before which negative
/// numbers come.
Tensor compare_signs(Op op, const char* name, const Arg& a, const Arg& b, bool swapped) {
  const Scope scope(name, a.where());
  const bool left = is_signed(a) != swapped;  // whether the signed operand is on the left
  const Tensor as_unsigned = binary_as(op, scope.site(), DType::uint64, a, b, swapped), is_negative = less(is_signed(a) ? a : b, 0);
  if (op == Op::not_equal || (op != Op::equal && left)) return logical_or(is_negative, as_unsigned);
  return logical_and(logical_not(is_negative), as_unsigned);
}

/// Records a comparison. An integer literal that the other operand's type does not hold is not refused: it is less or greater than every element.
Tensor compare(Op op, const char* name, const Arg& a, const Arg& b, bool swapped = false) {
  const Site site = site_of(name, a.where());
  require(site, a);
  require(site, b);
  const std::array operands{&a, &b};
  if ((is_signed(a) && is_uint64(b)) || (is_uint64(a) && is_signed(b))) return compare_signs(op, name, a, b, swapped);
  const DType type = operand_type(op, site, operands);
  for (const Arg* x : operands) {
    const bool integer = x->kind() == Arg::Kind::integer || x->kind() == Arg::Kind::too_large;
    if (!integer || fits(*x, type)) continue;
    const bool above = x->kind() == Arg::Kind::too_large || x->integer() > 0;
    const bool on_the_left = (x == &a) != swapped;
    const bool holds = op == Op::not_equal || (op != Op::equal && above != on_the_left);
    return Tensor(make_constant(site, make_scalar_int(DType::bool_, holds), shape_of(site, x == &a ? b : a)));
  }
  return binary_as(op, site, type, a, b, swapped);
}

/// Records floor and similar functions; integers and bool are returned unchanged.
Tensor rounding(Op op, const char* name, const Arg& x) {
  const Site site = site_of(name, x.where());
  RecordedPtr node = as_node(site, x);
  return Tensor(is_floating(node->dtype) ? make_elementwise(site, op, {node}) : node);
}

/// Records isnan and similar functions; integers and bool have one constant answer.
Tensor classify(Op op, const char* name, const Arg& x, bool of_integers) {
  const Site site = site_of(name, x.where());
  RecordedPtr node = as_node(site, x);
  if (is_floating(node->dtype)) return Tensor(make_elementwise(site, op, {node}));
  return Tensor(make_constant(site, make_scalar_int(DType::bool_, of_integers), node->shape));
}

Tensor truth(const char* name, const Arg& x) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  return Tensor(make_cast(site, node, DType::bool_));
}

Tensor logical(Op op, const char* name, const Arg& a, const Arg& b) {
  const Tensor x = truth(name, a), y = truth(name, b);
  return binary(op, name, Arg(x, a.where()), Arg(y, b.where()));
}

/// Converts bool to int8, because NumPy has no arithmetic on bool.
Tensor number_of(const char* name, const Arg& x) {
  const Site site = site_of(name, x.where());
  const RecordedPtr node = as_node(site, x);
  return Tensor(is_bool(node->dtype) ? make_cast(site, node, DType::int8) : node);
}

/// Refuses negative integer powers of integers. NumPy does so depending on the values; when recording, sinter knows only literals.
void check_power(const Site& site, DType type, const Arg& exponent) {
  if (is_floating(type)) return;
  const bool literal = exponent.kind() == Arg::Kind::integer;
  const bool constant = exponent.is_tensor() && exponent.tensor().node()->op == Op::constant && !is_unsigned(exponent.tensor().dtype());
  const std::int64_t value = literal ? exponent.integer() : constant ? exponent.tensor().node()->scalar.i : 0;
  if (value < 0) {
    fail<ValueError>(site, fmt::format("integers to negative integer powers are not allowed ({} ** {}); make one of them floating", name(type), value));
  }
}

bool is_literal(const Arg& x, double value) { return !x.is_tensor() && x.as_double() == value; }

/// A number in two parts, of which the second has the digits that are lost by rounding. Only float64 has the second part; other types are computed in a wider
/// type.
struct Parts {
  Tensor hi, lo;
};
/// Powers of a few factors, as products, quotients and square roots.
class FewFactors {
 public:
  FewFactors(const Site& site, bool in_parts) : site_(site), in_parts_(in_parts) {}

  /// Returns x^n for n = 1, 1.5, 2, 2.5, .. and -1, -1.5, ..
  Tensor power(const Tensor& base, double n) const {
    const auto factors = static_cast<unsigned>(std::fabs(n));
    const bool half = factors != std::fabs(n);
    Parts x{half ? base + 0.0 : base, {}};  // -0 has the root 0 here
    std::optional<Parts> result;
    // In parts, the reciprocal comes first, so that the power does not overflow. A wider type has room for it.
    const bool last = n < 0 && !in_parts_, first = n < 0 && in_parts_;
    if (half) result = first ? reciprocal(root(x)) : root(x);
    if (first && factors > 0) x = reciprocal(x);
    for (unsigned left = factors; left > 0; left /= 2) {
      if (left % 2 != 0) result = result ? times(*result, x) : x;
      if (left > 1) x = times(x, x);
    }
    if (last) result = reciprocal(*result);
    Tensor y = result->hi;
    if (!result->lo.empty_handle()) {
      const Tensor sum = y + result->lo;
      y = where(logical_and(isfinite(sum), y != 0.0), sum, y);  // zero keeps its sign
    }
    return half ? where(isinf(base), n > 0 ? std::numeric_limits<double>::infinity() : 0.0, y) : y;
  }

 private:
  Tensor rest(const Tensor& a, const Tensor& b) const { return Tensor(make_elementwise(site_, Op::product_rest, {a.node(), b.node()})); }
  Parts times(const Parts& a, const Parts& b) const {
    if (!in_parts_) return {a.hi * b.hi, {}};
    Tensor lo = rest(a.hi, b.hi);
    if (!a.lo.empty_handle()) lo = lo + a.lo * b.hi;
    if (!b.lo.empty_handle()) lo = lo + a.hi * b.lo;
    return {a.hi * b.hi, lo};
  }
  Parts reciprocal(const Parts& a) const {
    const Tensor q = 1.0 / a.hi;
    if (!in_parts_) return {q, {}};
    Tensor left = (1.0 - q * a.hi) - rest(q, a.hi);
    if (!a.lo.empty_handle()) left = left - q * a.lo;
    return {q, q * left};
  }
  Parts root(const Parts& a) const {
    const Tensor s = sqrt(a.hi);
    if (!in_parts_) return {s, {}};
    return {s, ((a.hi - s * s) - rest(s, s)) * (0.5 / s)};
  }

  Site site_;
  bool in_parts_;
};

/// Returns whether x^n is recorded as products and roots: for integers n up to 8 and halves up to 4.5. Negative powers of integers were refused before.
bool has_few_factors(double n) {
  const double twice = std::fabs(n) * 2;
  return twice == std::trunc(twice) && twice >= 1 && (twice <= 9 || (twice <= 16 && std::trunc(n) == n));
}

}  // namespace

Tensor power(const Arg& a, const Arg& b) {
  const Site site = site_of("power", a.where());
  require(site, a);
  require(site, b);
  const std::array operands{&a, &b};
  const DType type = operand_type(Op::power, site, operands);
  check_power(site, type, b);
  if (a.is_tensor() && is_literal(b, 2)) {  // a square costs one multiplication and is correctly rounded
    const RecordedPtr x = operand(site, a, type, shape_of(site, a));
    return Tensor(make_elementwise(site, Op::multiply, {x, x}));
  }
  if (a.is_tensor() && is_literal(b, 0.5) && is_floating(type)) {  // as in NumPy: -0.0 stays, -inf gives NaN
    return Tensor(make_elementwise(site, Op::sqrt, {operand(site, a, type, shape_of(site, a))}));
  }
  if (a.is_tensor() && !b.is_tensor() && b.kind() != Arg::Kind::too_large && has_few_factors(b.as_double())) {
    const double n = b.as_double();
    const Scope scope("power", a.where());
    // Up to four roundings in float32 stay within 2 ULP. More factors, and quotients by what may overflow, are computed in float64.
    const bool direct = type != DType::float32 || n == 1 || n == 1.5 || n == 3 || n == 4 || n == -0.5 || n == -1;
    const Tensor x(operand(site, a, type, shape_of(site, a)));
    const Tensor wide = x.astype(direct ? traits(type).compute : DType::float64);
    return FewFactors(site, type == DType::float64 && n != 1 && n != -1).power(wide, n).astype(type);
  }
  return binary_as(Op::power, site, type, a, b);
}
Tensor pow(const Arg& a, const Arg& b) { return power(a, b); }

Tensor add(const Arg& a, const Arg& b) { return binary(Op::add, "add", a, b); }
Tensor subtract(const Arg& a, const Arg& b) { return binary(Op::subtract, "subtract", a, b); }
Tensor multiply(const Arg& a, const Arg& b) { return binary(Op::multiply, "multiply", a, b); }
Tensor divide(const Arg& a, const Arg& b) { return binary(Op::divide, "divide", a, b); }
Tensor floor_divide(const Arg& a, const Arg& b) { return binary(Op::floor_divide, "floor_divide", a, b); }
Tensor remainder(const Arg& a, const Arg& b) { return binary(Op::remainder, "remainder", a, b); }
Tensor minimum(const Arg& a, const Arg& b) { return binary(Op::minimum, "minimum", a, b); }
Tensor maximum(const Arg& a, const Arg& b) { return binary(Op::maximum, "maximum", a, b); }
Tensor atan2(const Arg& y, const Arg& x) { return binary(Op::atan2, "atan2", y, x); }
Tensor hypot(const Arg& a, const Arg& b) { return binary(Op::hypot, "hypot", a, b); }
Tensor copysign(const Arg& a, const Arg& b) { return binary(Op::copysign, "copysign", a, b); }
Tensor gcd(const Arg& a, const Arg& b) { return binary(Op::gcd, "gcd", a, b); }
Tensor bitwise_and(const Arg& a, const Arg& b) { return binary(Op::bitwise_and, "bitwise_and", a, b); }
Tensor bitwise_or(const Arg& a, const Arg& b) { return binary(Op::bitwise_or, "bitwise_or", a, b); }
Tensor bitwise_xor(const Arg& a, const Arg& b) { return binary(Op::bitwise_xor, "bitwise_xor", a, b); }
Tensor left_shift(const Arg& a, const Arg& b) { return binary(Op::left_shift, "left_shift", a, b); }
Tensor right_shift(const Arg& a, const Arg& b) { return binary(Op::right_shift, "right_shift", a, b); }

Tensor equal(const Arg& a, const Arg& b) { return compare(Op::equal, "equal", a, b); }
Tensor not_equal(const Arg& a, const Arg& b) { return compare(Op::not_equal, "not_equal", a, b); }
Tensor less(const Arg& a, const Arg& b) { return compare(Op::less, "less", a, b); }
Tensor less_equal(const Arg& a, const Arg& b) { return compare(Op::less_equal, "less_equal", a, b); }
Tensor greater(const Arg& a, const Arg& b) { return compare(Op::less, "greater", a, b, true); }
Tensor greater_equal(const Arg& a, const Arg& b) { return compare(Op::less_equal, "greater_equal", a, b, true); }

Tensor logical_and(const Arg& a, const Arg& b) { return logical(Op::bitwise_and, "logical_and", a, b); }
Tensor logical_or(const Arg& a, const Arg& b) { return logical(Op::bitwise_or, "logical_or", a, b); }
Tensor logical_xor(const Arg& a, const Arg& b) { return logical(Op::bitwise_xor, "logical_xor", a, b); }
Tensor logical_not(const Arg& x) {
  const Tensor t = truth("logical_not", x);
  return unary(Op::bitwise_not, "logical_not", Arg(t, x.where()));
}

Tensor negative(const Arg& x) { return unary(Op::negative, "negative", x); }
Tensor positive(const Arg& x) {
  const Site site = site_of("positive", x.where());
  const RecordedPtr node = as_node(site, x);
  if (is_bool(node->dtype)) fail<DTypeError>(site, "not supported for bool; convert with astype(int32) or another type first");
  return Tensor(node);
}
Tensor absolute(const Arg& x) { return unary(Op::absolute, "absolute", x); }
Tensor abs(const Arg& x) { return unary(Op::absolute, "absolute", x); }
Tensor sign(const Arg& x) { return unary(Op::sign, "sign", x); }
Tensor bitwise_not(const Arg& x) { return unary(Op::bitwise_not, "bitwise_not", x); }
Tensor sqrt(const Arg& x) { return unary(Op::sqrt, "sqrt", x); }
Tensor rsqrt(const Arg& x) { return unary(Op::rsqrt, "rsqrt", x); }
Tensor exp(const Arg& x) { return unary(Op::exp, "exp", x); }
Tensor exp2(const Arg& x) { return unary(Op::exp2, "exp2", x); }
Tensor expm1(const Arg& x) { return unary(Op::expm1, "expm1", x); }
Tensor log(const Arg& x) { return unary(Op::log, "log", x); }
Tensor log2(const Arg& x) { return unary(Op::log2, "log2", x); }
Tensor log10(const Arg& x) { return unary(Op::log10, "log10", x); }
Tensor log1p(const Arg& x) { return unary(Op::log1p, "log1p", x); }
Tensor sin(const Arg& x) { return unary(Op::sin, "sin", x); }
Tensor cos(const Arg& x) { return unary(Op::cos, "cos", x); }
Tensor tan(const Arg& x) { return unary(Op::tan, "tan", x); }
Tensor asin(const Arg& x) { return unary(Op::asin, "asin", x); }
Tensor acos(const Arg& x) { return unary(Op::acos, "acos", x); }
Tensor atan(const Arg& x) { return unary(Op::atan, "atan", x); }
Tensor sinh(const Arg& x) { return unary(Op::sinh, "sinh", x); }
Tensor cosh(const Arg& x) { return unary(Op::cosh, "cosh", x); }
Tensor tanh(const Arg& x) { return unary(Op::tanh, "tanh", x); }
Tensor asinh(const Arg& x) { return unary(Op::asinh, "asinh", x); }
Tensor acosh(const Arg& x) { return unary(Op::acosh, "acosh", x); }
Tensor atanh(const Arg& x) { return unary(Op::atanh, "atanh", x); }
Tensor cbrt(const Arg& x) { return unary(Op::cbrt, "cbrt", x); }
Tensor erf(const Arg& x) { return unary(Op::erf, "erf", x); }
Tensor erfc(const Arg& x) { return unary(Op::erfc, "erfc", x); }
Tensor erfinv(const Arg& x) { return unary(Op::erfinv, "erfinv", x); }
Tensor lgamma(const Arg& x) { return unary(Op::lgamma, "lgamma", x); }
Tensor digamma(const Arg& x) { return unary(Op::digamma, "digamma", x); }
Tensor ndtr(const Arg& x) { return unary(Op::ndtr, "ndtr", x); }

Tensor floor(const Arg& x) { return rounding(Op::floor, "floor", x); }
Tensor ceil(const Arg& x) { return rounding(Op::ceil, "ceil", x); }
Tensor round(const Arg& x) { return rounding(Op::rint, "round", x); }
Tensor rint(const Arg& x) {  // a function of real numbers, as in NumPy
  const Site site = site_of("rint", x.where());
  const RecordedPtr node = as_node(site, x);
  return rounding(Op::rint, "rint", Arg(Tensor(make_cast(site, node, traits(node->dtype).real)), x.where()));
}
Tensor trunc(const Arg& x) { return rounding(Op::trunc, "trunc", x); }

Tensor isnan(const Arg& x) { return classify(Op::isnan, "isnan", x, false); }
Tensor isinf(const Arg& x) { return classify(Op::isinf, "isinf", x, false); }
Tensor isfinite(const Arg& x) { return classify(Op::isfinite, "isfinite", x, true); }

// For bool, NumPy computes both in int8; for an integer, the reciprocal is truncated to its type again.
Tensor square(const Arg& x) {
  const Tensor widened = number_of("square", x);
  return binary(Op::multiply, "square", Arg(widened, x.where()), Arg(widened, x.where()));
}
Tensor reciprocal(const Arg& x) {
  const Tensor widened = number_of("reciprocal", x);
  const Tensor inverse = binary(Op::divide, "reciprocal", Arg(1, x.where()), Arg(widened, x.where()));
  return is_floating(widened.dtype()) ? inverse : Tensor(make_cast(site_of("reciprocal", x.where()), inverse.node(), widened.dtype()));
}

Tensor clip(const Arg& x, const Arg& low, const Arg& high) {
  const Scope scope("clip", x.where());
  const std::array operands{&x, &low, &high};
  for (const Arg* a : operands) require(scope.site(), *a);
  const DType type = operand_type(Op::minimum, scope.site(), operands);
  const Tensor raised = binary_as(Op::maximum, scope.site(), type, x, low);
  return binary_as(Op::minimum, scope.site(), type, raised, high);
}

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  const Site site = site_of("where", condition.where());
  for (const Arg* x : {&condition, &a, &b}) require(site, *x);
  const std::array branches{&a, &b};
  const DType type = operand_type(Op::where, site, branches);
  const Tensor chosen = truth("where", condition);
  const std::array shapes{&shape_of(site, condition), &shape_of(site, a), &shape_of(site, b)};
  const Shape shape = broadcast_shape(site, shapes);
  return Tensor(make_elementwise(site, Op::where, {make_broadcast(site, chosen.node(), shape), operand(site, a, type, shape), operand(site, b, type, shape)}));
}

Tensor astype(const Arg& x, DType dtype) {
  const Site site = site_of("astype", x.where());
  const RecordedPtr node = as_node(site, x);
  if (node->dtype == dtype) return Tensor(node);
  return Tensor(make_cast(site, node, dtype));
}

Tensor operator+(const Arg& a, const Arg& b) { return add(a, b); }
Tensor operator-(const Arg& a, const Arg& b) { return subtract(a, b); }
Tensor operator*(const Arg& a, const Arg& b) { return multiply(a, b); }
Tensor operator/(const Arg& a, const Arg& b) { return divide(a, b); }
Tensor operator%(const Arg& a, const Arg& b) { return remainder(a, b); }
Tensor operator&(const Arg& a, const Arg& b) { return bitwise_and(a, b); }
Tensor operator|(const Arg& a, const Arg& b) { return bitwise_or(a, b); }
Tensor operator^(const Arg& a, const Arg& b) { return bitwise_xor(a, b); }
Tensor operator<<(const Arg& a, const Arg& b) { return left_shift(a, b); }
Tensor operator>>(const Arg& a, const Arg& b) { return right_shift(a, b); }
Tensor operator==(const Arg& a, const Arg& b) { return equal(a, b); }
Tensor operator!=(const Arg& a, const Arg& b) { return not_equal(a, b); }
Tensor operator<(const Arg& a, const Arg& b) { return less(a, b); }
Tensor operator<=(const Arg& a, const Arg& b) { return less_equal(a, b); }
Tensor operator>(const Arg& a, const Arg& b) { return greater(a, b); }
Tensor operator>=(const Arg& a, const Arg& b) { return greater_equal(a, b); }
Tensor operator+(const Arg& x) { return positive(x); }
Tensor operator-(const Arg& x) { return negative(x); }
Tensor operator~(const Arg& x) { return bitwise_not(x); }
Tensor operator!(const Arg& x) { return logical_not(x); }
Tensor operator!(const Tensor& x) { return logical_not(Arg(x, node_of({"logical_not", {}}, x)->where)); }

}  // namespace sinter
