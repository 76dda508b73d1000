// The functions of the table that accept complex numbers, and their implementations.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

#include "sinter/creation.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/elementary.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/sets.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/complex_numbers.hpp"
#include "table/complex_order.hpp"
#include "table/fault.hpp"

namespace sinter::table {
namespace {

/// Returns the real or the imaginary part of numbers, also within nested lists.
Value part_of(const Value& value, std::size_t which) {
  if (value.is_complex()) return {part(value, which), value.offset};
  if (const auto* items = value.as<Tuple>()) {
    Tuple parts;
    parts.is_list = items->is_list;
    for (const Value& item : *items) parts.push_back(part_of(item, which));
    return {std::move(parts), value.offset};
  }
  if (which == 0) return value;
  if (const auto* tensor = value.as<Tensor>()) return {zeros_like(*tensor), value.offset};
  return value.is_number() ? Value{0.0, value.offset} : value;
}
/// Joins two results: pairs of tensors, and lists of them.
Value joined(const Value& re, const Value& im, std::size_t offset) {
  const auto *all_re = re.as<Tuple>(), *all_im = im.as<Tuple>();
  if (!all_re) return complex_value({array_of(re, ""), array_of(im, "")}, offset);
  Tuple pairs;
  pairs.is_list = all_re->is_list;
  for (std::size_t k = 0; k < all_re->size(); ++k) pairs.push_back(joined((*all_re)[k], (*all_im)[k], offset));
  return {std::move(pairs), offset};
}
Value by_parts(const Function& function, const std::vector<Argument>& arguments, std::size_t offset) {
  const std::vector<Parameter> parameters = parameters_of(function);
  const auto takes_rest = std::find_if(parameters.begin(), parameters.end(), [](const Parameter& parameter) { return parameter.takes_rest; });
  const auto rest = std::min(static_cast<std::size_t>(takes_rest - parameters.begin()), parameters.size() - 1);
  std::array<Value, 2> results;
  for (std::size_t which = 0; which < 2; ++which) {
    std::vector<Argument> of_part = arguments;
    for (std::size_t k = 0; k < of_part.size(); ++k) {
      std::size_t place = std::min(k, rest);
      for (std::size_t p = 0; p < parameters.size() && !of_part[k].keyword.empty(); ++p)
        if (parameters[p].name == of_part[k].keyword || parameters[p].other_name == of_part[k].keyword) place = p;
      if (function.by_parts >> place & 1u) of_part[k].value = part_of(of_part[k].value, which);
      else if (holds_complex(of_part[k].value))
        throw Fault{of_part[k].value.offset, fmt::format("{} of {}() must be real, but this is complex", parameters[place].name, function.name)};
    }
    results[which] = call(function, std::move(of_part), offset);
  }
  return joined(results[0], results[1], offset);
}

Complex first(const Arguments& a) { return complex_of(*a.given(0), a.function()); }
Value of(const Complex& z) { return complex_value(z, 0); }

template <Complex (*f)(const ComplexArg&)> Value map(const Arguments& a) { return of(f(first(a))); }
template <char symbol> Value arithmetic(const Arguments& a) {
  constexpr char text[] = {symbol, 0};
  return complex_binary(text, *a.given(0), *a.given(1), a.given(0)->offset);
}
Value power_(const Arguments& a) { return complex_binary("**", *a.given(0), *a.given(1), a.given(0)->offset); }
Value equal_(const Arguments& a) { return complex_binary("==", *a.given(0), *a.given(1), a.given(0)->offset); }
Value not_equal_(const Arguments& a) { return complex_binary("!=", *a.given(0), *a.given(1), a.given(0)->offset); }
template <char symbol, bool or_equal> Value compared(const Arguments& a) {
  constexpr char text[] = {symbol, or_equal ? '=' : '\0', 0};
  return complex_binary(text, *a.given(0), *a.given(1), a.given(0)->offset);
}
Value square_(const Arguments& a) { return of(first(a) * first(a)); }
Value reciprocal_(const Arguments& a) {
  const Complex z = first(a), inverse = Complex{ones_like(z.re), zeros_like(z.im)} / z;
  return of({copysign(inverse.re, z.re), copysign(inverse.im, -z.im)});
}
Value exp2_(const Arguments& a) {
  const Complex z = first(a);
  return of(exp(Complex{z.re * std::numbers::ln2, z.im * std::numbers::ln2}));
}
Value sinc_(const Arguments& a) {
  const Complex z = first(a), turned{z.re * std::numbers::pi, z.im * std::numbers::pi}, found = sin(turned) / turned;
  const Tensor zero = logical_and(z.re == 0, z.im == 0);
  return of({where(zero, 1, found.re), where(zero, 0, found.im)});
}
Value log_to(const Arguments& a, double base) {
  const Complex z = log(first(a));
  const double scale = std::log(base);
  return of({z.re / scale, z.im / scale});
}
Value log10_(const Arguments& a) { return log_to(a, 10); }
Value log2_(const Arguments& a) { return log_to(a, 2); }
Value isfinite_(const Arguments& a) {
  const Complex z = first(a);
  return {logical_and(isfinite(z.re), isfinite(z.im))};
}
Value isnan_(const Arguments& a) {
  const Complex z = first(a);
  return {logical_or(isnan(z.re), isnan(z.im))};
}
Value isinf_(const Arguments& a) {
  const Complex z = first(a);
  return {logical_or(isinf(z.re), isinf(z.im))};
}
Value array_(const Arguments& a) {
  const std::optional<DType> wanted = !a.given(1)                     ? std::nullopt
                                      : a.given(1)->as<ComplexType>() ? a.given(1)->as<ComplexType>()->of_parts
                                                                      : find_complex_type(a.text(1, ""));
  if (a.given(1) && !wanted) a.fail(1, fmt::format("complex numbers are made of complex64 and complex128, not of '{}'", a.text(1, "")));
  if (wanted) return of(complex_of_type(*a.given(0), a.function(), *wanted));
  return of(complex_of(*a.given(0), a.function()));
}

Complex slices(const Complex& z, std::int64_t begin, std::int64_t end) {
  const std::vector<Index> index{Index(Slice{begin, end}, Location{})};
  return {z.re.at(index, Location{}), z.im.at(index, Location{})};
}
Complex joined(const Complex& a, const Complex& b) { return {concatenate({a.re, b.re}, 0, Location{}), concatenate({a.im, b.im}, 0, Location{})}; }
Complex ones_of(const Complex& z, const Shape& shape) { return {ones(shape, z.re.dtype()), zeros(shape, z.re.dtype())}; }
/// Multiplies both halves along the first axis until one slice is left; the axis then has size 1.
Complex product(Complex z) {
  if (z.re.shape()[0] == 0) {
    Shape shape = z.re.shape();
    shape[0] = 1;
    return ones_of(z, shape);
  }
  for (std::int64_t size = z.re.shape()[0]; size > 1; size = z.re.shape()[0]) {
    const Complex both = slices(z, 0, size / 2) * slices(z, size / 2, size / 2 * 2);
    z = size % 2 == 0 ? both : joined(both, slices(z, size / 2 * 2, size));
  }
  return z;
}
Value prod_(const Arguments& a) {
  Complex z = first(a);
  if (a.given(5)) {  // where=: skipped elements count as 1
    const Tensor chosen = a.tensor(5);
    z = {where(chosen, z.re, 1), where(chosen, z.im, 0)};
  }
  const int rank = z.re.ndim();
  std::vector<std::int64_t> axes = a.given(1) ? a.list(1) : std::vector<std::int64_t>{};
  for (std::int64_t axis = 0; axis < rank && !a.given(1); ++axis) axes.push_back(axis);
  for (const std::int64_t axis : axes) {
    z = product({moveaxis(z.re, axis, 0), moveaxis(z.im, axis, 0)});
    z = {moveaxis(z.re, 0, axis), moveaxis(z.im, 0, axis)};
  }
  if (a.given(4)) z = z * complex_of(*a.given(4), a.function());
  if (!a.flag(3) && !axes.empty()) z = {squeeze(z.re, axes), squeeze(z.im, axes)};
  return of(z);
}
/// Returns the cumulative product along an axis. Each pass multiplies by the element that is twice as far back as in the pass before.
Complex products_so_far(Complex z, std::int64_t axis) {
  z = {moveaxis(z.re, axis, 0), moveaxis(z.im, axis, 0)};
  const std::int64_t size = z.re.shape()[0];
  for (std::int64_t step = 1; step < size; step *= 2) z = joined(slices(z, 0, step), slices(z, step, size) * slices(z, 0, size - step));
  return {moveaxis(z.re, 0, axis), moveaxis(z.im, 0, axis)};
}
Value cumprod_(const Arguments& a) {
  const Complex z = first(a);
  if (!a.given(1)) return of(products_so_far({reshape(z.re, Shape{-1}), reshape(z.im, Shape{-1})}, 0));
  return of(products_so_far(z, a.integer(1, 0)));
}
Value cumulative_prod_(const Arguments& a) {
  const Complex z = first(a);
  if (!a.given(1) && z.re.ndim() != 1) a.fail(0, "cumulative_prod() of more than one axis needs axis=");
  const std::int64_t axis = a.integer(1, 0);
  Complex found = products_so_far(z, axis);
  if (a.flag(3)) {
    Shape shape = moveaxis(z.re, axis, 0).shape();
    shape[0] = 1;
    found = joined(ones_of(z, shape), {moveaxis(found.re, axis, 0), moveaxis(found.im, axis, 0)});
    found = {moveaxis(found.re, 0, axis), moveaxis(found.im, 0, axis)};
  }
  return of(found);
}

Value matmul_(const Arguments& a) { return complex_binary("@", *a.given(0), *a.given(1), a.given(0)->offset); }
Value dot_(const Arguments& a) {
  const auto axes = [](const Value& value) { return value.is_number() ? 0 : complex_of(value, "dot").re.ndim(); };
  if (axes(*a.given(0)) > 0 && axes(*a.given(1)) > 2) {
    const auto one = [](std::int64_t axis) { return Value{Tuple{{axis}}}; };
    return call(*find_function("tensordot"), {{{}, *a.given(0)}, {{}, *a.given(1)}, {{}, {Tuple{one(-1), one(-2)}}}}, a.given(0)->offset);
  }
  return complex_binary(axes(*a.given(0)) == 0 || axes(*a.given(1)) == 0 ? "*" : "@", *a.given(0), *a.given(1), a.given(0)->offset);
}
Value vdot_(const Arguments& a) {
  const auto flat = [](const Complex& z) { return Complex{reshape(z.re, Shape{-1}), reshape(z.im, Shape{-1})}; };
  return complex_binary("@", of(conj(flat(complex_of(*a.given(0), "vdot")))), of(flat(complex_of(*a.given(1), "vdot"))), a.given(0)->offset);
}
Value polyval_(const Arguments& a) {
  const Complex p = complex_of(*a.given(0), "polyval"), x = complex_of(*a.given(1), "polyval");
  Complex sum{zeros_like(x.re), zeros_like(x.re)};
  for (std::int64_t k = 0; k < p.re.size(); ++k) {
    const std::vector<Index> index{Index(k, Location{})};
    sum = sum * x + Complex{std::as_const(p.re).at(index, Location{}), std::as_const(p.im).at(index, Location{})};
  }
  return of(sum);
}
Tensor distances_within(const Arguments& a) {
  const Complex x = complex_of(*a.given(0), a.function()), y = complex_of(*a.given(1), a.function());
  return logical_or(abs(x - y) <= a.number(3, 1e-8) + a.number(2, 1e-5) * abs(y), logical_and(x.re == y.re, x.im == y.im));
}
Value isclose_(const Arguments& a) { return {distances_within(a)}; }
Value allclose_(const Arguments& a) { return {all(distances_within(a))}; }
Value array_equal_(const Arguments& a) {
  const Complex x = complex_of(*a.given(0), a.function()), y = complex_of(*a.given(1), a.function());
  return {logical_and(array_equal(x.re, y.re), array_equal(x.im, y.im))};
}
Value solve_(const Arguments& a) { return of(solve(complex_of(*a.given(0), "solve"), complex_of(*a.given(1), "solve"))); }
Value matrix_power_(const Arguments& a) { return of(matrix_power(first(a), a.integer(1, 1))); }
Value pinv_(const Arguments& a) {
  const int rtol = a.given(3) ? 3 : 1;
  return of(pinv(first(a), a.given(rtol) ? std::optional(a.number(rtol, 0)) : std::nullopt));
}
Value matrix_rank_(const Arguments& a) {
  const auto number = [&](int k) { return a.given(k) ? std::optional(a.number(k, 0)) : std::nullopt; };
  return {matrix_rank(first(a), number(3), number(1))};
}
Value slogdet_(const Arguments& a) {
  const auto [sign, logarithm] = slogdet(first(a));
  return {Tuple{of(sign), {logarithm}}};
}
Value cholesky_(const Arguments& a) { return of(cholesky(first(a), a.flag(1))); }
Value qr_(const Arguments& a) {
  const std::string mode = a.text(1, "reduced");
  if (mode != "reduced" && mode != "complete" && mode != "r") a.fail(1, "mode must be 'reduced', 'complete' or 'r'");
  const auto [q, r] = qr(first(a), mode == "complete" ? QRMode::complete : QRMode::reduced);
  if (mode == "r") return of(r);
  return {Tuple{of(q), of(r)}};
}
Value svd_(const Arguments& a) {
  if (!a.flag(2, true)) return {svdvals(first(a))};
  const auto [u, s, vh] = svd(first(a), a.flag(1, true));
  return {Tuple{of(u), {s}, of(vh)}};
}
Value svdvals_(const Arguments& a) { return {svdvals(first(a))}; }
Triangle triangle(const Arguments& a) { return a.text(1, "L") == "U" ? Triangle::upper : Triangle::lower; }
Value eigh_(const Arguments& a) {
  const auto [values, vectors] = eigh(first(a), triangle(a));
  return {Tuple{{values}, of(vectors)}};
}
Value eigvalsh_(const Arguments& a) { return {eigvalsh(first(a), triangle(a))}; }
Value eig_(const Arguments& a) {
  const auto [values, vectors] = eig(first(a));
  return {Tuple{of(values), of(vectors)}};
}
/// Orders numbers by their real, then their imaginary parts. The positions of both parts in their sorted lists give one integer for each number.
Value unique_of(const Arguments& a) {
  const Complex z = first(a);
  const Unique all = unique_all(unique_inverse(z.re).second * std::max<std::int64_t>(z.re.size(), 1) + unique_inverse(z.im).second);
  const auto chosen = [&](const Tensor& part) { return take(reshape(part, Shape{-1}), all.indices, 0); };
  const Value values = of({chosen(z.re), chosen(z.im)});
  if (a.function() == "unique_values") return values;
  if (a.function() == "unique_counts") return {Tuple{values, {all.counts}}};
  if (a.function() == "unique_inverse") return {Tuple{values, {all.inverse}}};
  return {Tuple{values, {all.indices}, {all.inverse}, {all.counts}}};
}

struct Row {
  std::string_view name;
  Value (*build)(const Arguments&);
};
constexpr Row kRows[] = {
    {"acos", map<acos>},
    {"acosh", map<acosh>},
    {"add", arithmetic<'+'>},
    {"allclose", allclose_},
    {"arccos", map<acos>},
    {"arccosh", map<acosh>},
    {"arcsin", map<asin>},
    {"arcsinh", map<asinh>},
    {"arctan", map<atan>},
    {"arctanh", map<atanh>},
    {"array", array_},
    {"array_equal", array_equal_},
    {"asanyarray", array_},
    {"asarray", array_},
    {"asin", map<asin>},
    {"asinh", map<asinh>},
    {"atan", map<atan>},
    {"atanh", map<atanh>},
    {"cholesky", cholesky_},
    {"cos", map<cos>},
    {"cosh", map<cosh>},
    {"cumprod", cumprod_},
    {"cumulative_prod", cumulative_prod_},
    {"det", map<det>},
    {"divide", arithmetic<'/'>},
    {"dot", dot_},
    {"eig", eig_},
    {"eigh", eigh_},
    {"eigvals", map<eigvals>},
    {"eigvalsh", eigvalsh_},
    {"equal", equal_},
    {"exp", map<exp>},
    {"exp2", exp2_},
    {"expm1", map<expm1>},
    {"greater", compared<'>', false>},
    {"greater_equal", compared<'>', true>},
    {"inv", map<inv>},
    {"isclose", isclose_},
    {"isfinite", isfinite_},
    {"isinf", isinf_},
    {"isnan", isnan_},
    {"less", compared<'<', false>},
    {"less_equal", compared<'<', true>},
    {"log", map<log>},
    {"log10", log10_},
    {"log1p", map<log1p>},
    {"log2", log2_},
    {"matmul", matmul_},
    {"matrix_power", matrix_power_},
    {"matrix_rank", matrix_rank_},
    {"multiply", arithmetic<'*'>},
    {"not_equal", not_equal_},
    {"pinv", pinv_},
    {"polyval", polyval_},
    {"pow", power_},
    {"power", power_},
    {"prod", prod_},
    {"qr", qr_},
    {"reciprocal", reciprocal_},
    {"sign", map<sign>},
    {"sin", map<sin>},
    {"sinc", sinc_},
    {"sinh", map<sinh>},
    {"slogdet", slogdet_},
    {"solve", solve_},
    {"sqrt", map<sqrt>},
    {"square", square_},
    {"subtract", arithmetic<'-'>},
    {"svd", svd_},
    {"svdvals", svdvals_},
    {"tan", map<tan>},
    {"tanh", map<tanh>},
    {"true_divide", arithmetic<'/'>},
    {"unique_all", unique_of},
    {"unique_counts", unique_of},
    {"unique_inverse", unique_of},
    {"unique_values", unique_of},
    {"vdot", vdot_},
};

/// Functions that are linear in each array: numbers are split into their parts one after another. Some functions use the conjugate of their first array.
struct Multilinear {
  std::string_view name;
  bool conjugate = false;
};
constexpr Multilinear kMultilinear[] = {{"convolve"},     {"cross"},     {"einsum"}, {"inner"},     {"kron"},
                                        {"linalg.cross"}, {"multi_dot"}, {"outer"},  {"tensordot"}, {"vecdot", true}};

/// Returns the value with its lists of numbers converted to complex arrays, each of which is split as a whole; for a list of arrays its items are converted.
Value with_whole_arrays(const Value& value, bool of_arrays) {
  if (value.is_complex() || !holds_complex(value)) return value;
  if (!of_arrays) return of(complex_of(value, ""));
  Tuple items = *value.as<Tuple>();
  for (Value& item : items) item = with_whole_arrays(item, false);
  return {std::move(items), value.offset};
}
/// Replaces the first complex number of the value by its real or imaginary part.
Value with_part(const Value& value, std::size_t which, bool& done) {
  if (done || !holds_complex(value)) return value;
  if (value.is_complex()) {
    done = true;
    return {part(value, which), value.offset};
  }
  Tuple items = *value.as<Tuple>();
  for (Value& item : items) item = with_part(item, which, done);
  return {std::move(items), value.offset};
}
Complex multilinear(const Function& function, const std::vector<Argument>& arguments, std::size_t offset) {
  const auto complex = [](const Argument& argument) { return holds_complex(argument.value); };
  const auto found = std::find_if(arguments.begin(), arguments.end(), complex);
  if (found == arguments.end()) return complex_of(call(function, arguments, offset), function.name);
  const auto with = [&](std::size_t which) {
    std::vector<Argument> parts = arguments;
    bool done = false;
    Value& value = parts[static_cast<std::size_t>(found - arguments.begin())].value;
    value = with_part(value, which, done);
    const bool is_real = std::none_of(parts.begin(), parts.end(), complex);
    return std::pair{multilinear(function, parts, offset), is_real};
  };
  const auto [re, real] = with(0);
  const Complex im = with(1).first;
  return real ? Complex{re.re, im.re} : Complex{re.re - im.im, re.im + im.re};
}

/// Functions that use a real array in place of a complex one: whether elements are not 0, or their magnitudes.
Tensor nonzero_of(const Complex& z) { return logical_or(z.re != 0, z.im != 0); }
Tensor size_of(const Complex& z) { return abs(z); }
Tensor real_part_of(const Complex& z) { return z.re; }
struct Through {
  std::string_view name;
  Tensor (*made)(const Complex&);
};
constexpr Through kThrough[] = {
    {"all", nonzero_of},         {"any", nonzero_of},         {"argwhere", nonzero_of},    {"count_nonzero", nonzero_of},
    {"flatnonzero", nonzero_of}, {"logical_and", nonzero_of}, {"logical_not", nonzero_of}, {"logical_or", nonzero_of},
    {"logical_xor", nonzero_of}, {"matrix_norm", size_of},    {"ndim", real_part_of},      {"nonzero", nonzero_of},
    {"norm", size_of},           {"shape", real_part_of},     {"size", real_part_of},      {"vector_norm", size_of},
};
Value through(const Function& function, Tensor (*made)(const Complex&), std::vector<Argument> arguments, std::size_t offset) {
  for (Argument& argument : arguments)
    if (holds_complex(argument.value)) argument.value = {made(complex_of(argument.value, function.name)), argument.value.offset};
  return call(function, std::move(arguments), offset);
}
/// Computes a norm from singular values; nullopt for other norms.
std::optional<Value> norm_of_values(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  const std::vector<Parameter>& parameters = parameters_of(function);
  const auto find = [&](std::string_view name) -> const Value* {
    for (std::size_t k = 0; k < arguments.size(); ++k)
      if (arguments[k].keyword == name || (arguments[k].keyword.empty() && k < parameters.size() && parameters[k].name == name)) return &arguments[k].value;
    return nullptr;
  };
  const Value *order = find("ord"), *axes = find("axis"), *keep = find("keepdims");
  const Complex z = complex_of(arguments[0].value, function.name);
  const bool nuclear = order && order->as<std::string>() && *order->as<std::string>() == "nuc";
  const bool two =
      order && ((order->as<std::int64_t>() && std::abs(*order->as<std::int64_t>()) == 2) || (order->as<double>() && std::fabs(*order->as<double>()) == 2));
  const Tuple* both = axes ? axes->as<Tuple>() : nullptr;
  const bool matrix = both ? both->size() == 2 : !(axes && axes->as<std::int64_t>()) && (function.name == "matrix_norm" || z.re.ndim() == 2);
  if (!(nuclear || two) || !matrix) return std::nullopt;
  const std::vector<std::int64_t> at = both ? std::vector{whole_number((*both)[0]), whole_number((*both)[1])} : std::vector<std::int64_t>{-2, -1};
  const Tensor s = svdvals(Complex{moveaxis(z.re, at, {-2, -1}), moveaxis(z.im, at, {-2, -1})});
  const bool smallest = two && (order->as<double>() ? *order->as<double>() < 0 : *order->as<std::int64_t>() < 0);
  Tensor found = nuclear ? sum(s, -1) : smallest ? min(s, -1) : max(s, -1);
  if (keep && keep->as<bool>() && *keep->as<bool>()) found = moveaxis(expand_dims(found, {-2, -1}), {-2, -1}, at);
  return Value{found, offset};
}
/// Returns the variance of complex numbers, the sum of the variances of their parts.
Value spread_of_parts(const Function& function, const std::vector<Argument>& arguments, std::size_t offset) {
  const Function& variance = *find_function("var");
  Tensor sum;
  for (std::size_t which = 0; which < 2; ++which) {
    std::vector<Argument> of_part = arguments;
    for (Argument& argument : of_part)
      if (holds_complex(argument.value)) argument.value = part_of(argument.value, which);
    const Tensor one = array_of(call(variance, std::move(of_part), offset), function.name);
    sum = which == 0 ? one : sum + one;
  }
  return {function.name == "std" ? sqrt(sum) : sum, offset};
}

bool is_like(const Function& function) { return function.name == "zeros_like" || function.name == "ones_like" || function.name == "empty_like"; }

/// Returns the complex type that dtype= names, or nullopt.
std::optional<DType> complex_dtype(const Function& function, const std::vector<Argument>& arguments) {
  const std::vector<Parameter> parameters = parameters_of(function);
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    const bool named = arguments[k].keyword == "dtype", placed = arguments[k].keyword.empty() && k < parameters.size() && parameters[k].name == "dtype";
    if (!named && !placed) continue;
    if (const auto* type = arguments[k].value.as<ComplexType>()) return type->of_parts;
    if (const auto* text = arguments[k].value.as<std::string>()) return find_complex_type(*text);
  }
  return std::nullopt;
}
/// Returns whether the argument is a mode of pad() that compares elements; comparing their parts would give numbers that are not among them.
bool names_an_order(const Argument& argument) {
  const auto* text = argument.value.as<std::string>();
  return text && (*text == "maximum" || *text == "minimum" || *text == "median");
}
std::optional<Value> of_complex(const Function& function, std::vector<Argument> arguments, std::size_t offset);
/// Sums, products and means that skip elements with a NaN.
std::optional<Value> without_nan(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  const std::string_view name = function.name.substr(3);
  if (name != "sum" && name != "prod" && name != "cumsum" && name != "cumprod" && name != "mean") return std::nullopt;
  const Complex z = complex_of(arguments[0].value, function.name);
  const Tensor counted = logical_not(logical_or(isnan(z.re), isnan(z.im)));
  arguments[0].value = of({where(counted, z.re, name.ends_with("prod") ? 1 : 0), where(counted, z.im, 0)});
  const auto summed = of_complex(*find_function(name == "mean" ? "sum" : name), arguments, offset);
  if (name != "mean" || !summed) return summed;
  arguments[0].value = {counted};
  const Tensor count = array_of(call(*find_function("sum"), std::move(arguments), offset), function.name);
  const Complex sum = complex_of(*summed, function.name);
  return of({sum.re / astype(count, sum.re.dtype()), sum.im / astype(count, sum.re.dtype())});
}
/// Calls a function with complex arguments. Returns nullopt if the function is not defined for them.
std::optional<Value> of_complex(const Function& function, std::vector<Argument> arguments, std::size_t offset) {
  const std::string_view name = function.name.substr(function.name.rfind('.') + 1);  // linalg.diagonal is treated as diagonal
  const auto row_of = [&](const auto& rows) {
    const auto* const row = std::find_if(std::begin(rows), std::end(rows), [&](const auto& r) { return r.name == name; });
    return row == std::end(rows) ? nullptr : row;
  };
  if (name == "where" && holds_complex(arguments[0].value)) {
    arguments[0].value = {nonzero_of(complex_of(arguments[0].value, name)), arguments[0].value.offset};
    return call(function, std::move(arguments), offset);
  }
  for (const Argument& argument : arguments)
    if (const auto* dtype = argument.keyword == "dtype" ? argument.value.as<DType>() : nullptr; dtype && !is_floating(*dtype))
      throw Fault{offset, fmt::format("{}(): complex numbers do not become {} without a loss; reduce x.real", name, sinter::name(*dtype))};
  if (name.starts_with("nan") && name != "nan_to_num") return without_nan(function, std::move(arguments), offset);
  if (name == "pad" && std::any_of(arguments.begin(), arguments.end(), names_an_order)) return std::nullopt;
  if (function.by_parts != 0) return by_parts(function, arguments, offset);
  if (const Multilinear* row = row_of(kMultilinear)) {
    Value& left = arguments[0].value;
    if (row->conjugate && holds_complex(left)) left = of(conj(complex_of(left, name)));
    for (Argument& argument : arguments) argument.value = with_whole_arrays(argument.value, name == "multi_dot");
    return of(multilinear(function, arguments, offset));
  }
  if (name == "norm" || name == "matrix_norm")
    if (auto norm = norm_of_values(function, arguments, offset)) return norm;
  if (const Through* row = row_of(kThrough)) return through(function, row->made, std::move(arguments), offset);
  if (name == "var" || name == "std") return spread_of_parts(function, arguments, offset);
  if (const Row* row = row_of(kRows)) {
    Value result = row->build(Arguments(function, std::move(arguments), offset));
    result.offset = offset;
    return result;
  }
  return ordered_call(function, std::move(arguments), offset);
}
/// Handles zeros(3, dtype=complex), x.astype(complex64) and sum(x, dtype=complex), with the real function for the parts' type or the complex function after a
/// cast.
Value made_complex(const Function& function, std::vector<Argument> arguments, DType type, std::size_t offset) {
  const std::vector<Parameter>& parameters = parameters_of(function);
  for (std::size_t k = 0; k < arguments.size(); ++k)
    if (arguments[k].keyword == "dtype" || (arguments[k].keyword.empty() && k < parameters.size() && parameters[k].name == "dtype"))
      arguments[k].value.is = type;
  const bool complex = std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) { return holds_complex(argument.value); });
  const bool converts = function.name == "astype" || function.name == "array" || function.name == "asarray" || function.name == "asanyarray";
  if (complex && converts) return complex_value(complex_of_type(arguments[0].value, function.name, type), offset);
  if (complex && !is_like(function)) {
    if (holds_complex(arguments[0].value)) arguments[0].value = of(complex_of_type(arguments[0].value, function.name, type));
    if (auto result = of_complex(function, arguments, offset)) return *std::move(result);
  }
  if (complex) arguments[0].value = {complex_of(arguments[0].value, function.name).re, offset};
  const Tensor re = array_of(call(function, std::move(arguments), offset), function.name);
  return complex_value({re, zeros_like(re)}, offset);
}

}  // namespace

std::optional<Value> complex_call(const Function& function, const std::vector<Argument>& arguments, std::size_t offset) {
  if (const auto type = complex_dtype(function, arguments)) return made_complex(function, arguments, *type, offset);
  const auto complex = [](const Argument& argument) { return holds_complex(argument.value); };
  if (std::none_of(arguments.begin(), arguments.end(), complex)) return std::nullopt;
  if (is_like(function) && holds_complex(arguments[0].value)) {
    std::vector<Argument> of_real = arguments;
    of_real[0].value = {complex_of(arguments[0].value, function.name).re, offset};
    const bool other_type =
        std::any_of(arguments.begin() + 1, arguments.end(), [](const Argument& a) { return a.value.as<DType>() || a.value.as<std::string>(); });
    const Value made = call(function, std::move(of_real), offset);
    return other_type ? made : complex_value({array_of(made, function.name), zeros_like(array_of(made, function.name))}, offset);
  }
  return of_complex(function, arguments, offset);
}

}  // namespace sinter::table
