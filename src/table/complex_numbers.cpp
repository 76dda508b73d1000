#include "table/complex_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "sinter/creation.hpp"
#include "sinter/decompositions.hpp"
#include "sinter/elementary.hpp"
#include "sinter/linalg.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/fault.hpp"

namespace sinter::table {
namespace {

const Tensor& part(const Value& pair, std::size_t which) { return *(*pair.as<Tuple>())[which].as<Tensor>(); }
bool is_weak(const Value& value) { return value.is_number() || (value.is_complex() && value.as<Tuple>()->is_weak); }

/// What the parts of the result are of: floating, wide enough for both; float64 of Python's numbers alone.
DType parts_type(const Value& left, const Value& right) {
  std::optional<DType> type;
  for (const Value* side : {&left, &right}) {
    if (is_weak(*side)) continue;
    const DType own = side->as<Tensor>() ? side->as<Tensor>()->dtype() : complex_of(*side, "").re.dtype();
    type = type ? promote_types(*type, own, Location{}) : own;
  }
  if (!type || *type == DType::float64) return DType::float64;
  return promote_types(*type, is_floating(*type) ? DType::float32 : DType::float64, Location{});
}
Tensor real_of(const Value& value, std::string_view user, DType type) {
  return value.is_number() ? full({}, operand(value, user), type) : astype(array_of(value, user), type);
}
Complex of_type(const Value& value, std::string_view user, DType type) {
  if (!holds_complex(value)) {
    const Tensor re = real_of(value, user, type);
    return {re, zeros_like(re)};
  }
  const Complex z = complex_of(value, user);
  return {astype(z.re, type), astype(z.im, type)};
}

/// Functions that move or choose elements, or are linear: the value of complex numbers is that of their real and that of their imaginary parts.
/// Which arguments are numbers, by their places.
struct ByParts {
  std::string_view name;
  unsigned numbers = 1;
};
constexpr ByParts kByParts[] = {
    {"append", 3},
    {"array_split"},
    {"around"},
    {"ascontiguousarray"},
    {"atleast_1d"},
    {"atleast_2d"},
    {"atleast_3d"},
    {"broadcast_to"},
    {"column_stack"},
    {"compress", 2},
    {"concat"},
    {"concatenate"},
    {"contiguous"},
    {"copy"},
    {"cumsum"},
    {"delete"},
    {"diag"},
    {"diagflat"},
    {"diagonal"},
    {"diff"},
    {"dstack"},
    {"expand_dims"},
    {"extract", 2},
    {"fftshift"},
    {"flatten"},
    {"flip"},
    {"fliplr"},
    {"flipud"},
    {"full", 2},
    {"full_like", 2},
    {"hsplit"},
    {"hstack"},
    {"ifftshift"},
    {"insert", 5},
    {"matrix_transpose"},
    {"mean"},
    {"moveaxis"},
    {"nan_to_num"},
    {"negative"},
    {"pad"},
    {"permute_dims"},
    {"positive"},
    {"ravel"},
    {"repeat"},
    {"reshape"},
    {"roll"},
    {"rollaxis"},
    {"rot90"},
    {"round"},
    {"select", 6},
    {"split"},
    {"squeeze"},
    {"stack"},
    {"sum"},
    {"swapaxes"},
    {"take"},
    {"take_along_axis"},
    {"tile"},
    {"trace"},
    {"transpose"},
    {"tril"},
    {"triu"},
    {"vsplit"},
    {"vstack"},
    {"where", 6},
};

/// The real or the imaginary part of numbers, however deep they lie in lists.
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
/// Two results as one: pairs of tensors, and lists of them.
Value joined(const Value& re, const Value& im, std::size_t offset) {
  const auto *all_re = re.as<Tuple>(), *all_im = im.as<Tuple>();
  if (!all_re) return complex_value({array_of(re, ""), array_of(im, "")}, offset);
  Tuple pairs;
  pairs.is_list = all_re->is_list;
  for (std::size_t k = 0; k < all_re->size(); ++k) pairs.push_back(joined((*all_re)[k], (*all_im)[k], offset));
  return {std::move(pairs), offset};
}
Value by_parts(const Function& function, const ByParts& row, const std::vector<Argument>& arguments, std::size_t offset) {
  const std::vector<Parameter> parameters = parameters_of(function);
  std::array<Value, 2> results;
  for (std::size_t which = 0; which < 2; ++which) {
    std::vector<Argument> of_part = arguments;
    for (std::size_t k = 0; k < of_part.size(); ++k) {
      std::size_t place = std::min(k, parameters.size() - 1);
      for (std::size_t p = 0; p < parameters.size() && !of_part[k].keyword.empty(); ++p)
        if (parameters[p].name == of_part[k].keyword || parameters[p].other_name == of_part[k].keyword) place = p;
      if (row.numbers >> place & 1u) of_part[k].value = part_of(of_part[k].value, which);
      else if (holds_complex(of_part[k].value))
        throw Fault{of_part[k].value.offset, fmt::format("{} of {}() is real, and this is complex", parameters[place].name, function.name)};
    }
    results[which] = call(function, std::move(of_part), offset);
  }
  return joined(results[0], results[1], offset);
}

Complex first(const Arguments& a) { return complex_of(*a.given(0), a.function()); }
Value of(const Complex& z) { return complex_value(z, 0); }

template <Complex (*f)(const ComplexArg&)> Value map(const Arguments& a) { return of(f(first(a))); }
template <Tensor (*f)(const Arg&, Location)> Value either(const Arguments& a) {
  const Complex z = first(a);
  return {logical_or(f(z.re, Location{}), f(z.im, Location{}))};
}
template <char symbol> Value arithmetic(const Arguments& a) {
  constexpr char text[] = {symbol, 0};
  return complex_binary(text, *a.given(0), *a.given(1), a.given(0)->offset);
}
Value power_(const Arguments& a) { return complex_binary("**", *a.given(0), *a.given(1), a.given(0)->offset); }
Value equal_(const Arguments& a) { return complex_binary("==", *a.given(0), *a.given(1), a.given(0)->offset); }
Value not_equal_(const Arguments& a) { return complex_binary("!=", *a.given(0), *a.given(1), a.given(0)->offset); }
Value square_(const Arguments& a) { return of(first(a) * first(a)); }
Value reciprocal_(const Arguments& a) {
  const Complex z = first(a);
  return of(Complex{ones_like(z.re), -zeros_like(z.im)} / z);
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
Value any_(const Arguments& a) {
  const Complex z = first(a);
  return {any(logical_or(z.re != 0, z.im != 0), a.axes(1))};
}
Value all_(const Arguments& a) {
  const Complex z = first(a);
  return {all(logical_or(z.re != 0, z.im != 0), a.axes(1))};
}
Value array_(const Arguments& a) {
  const std::optional<DType> wanted = !a.given(1)                     ? std::nullopt
                                      : a.given(1)->as<ComplexType>() ? a.given(1)->as<ComplexType>()->of_parts
                                                                      : find_complex_type(a.text(1, ""));
  if (a.given(1) && !wanted) a.fail(1, fmt::format("complex numbers are made of complex64 and complex128, not of '{}'", a.text(1, "")));
  if (wanted) return of(of_type(*a.given(0), a.function(), *wanted));
  return of(complex_of(*a.given(0), a.function()));
}

/// The products of halves, until one slice is left.
Value prod_(const Arguments& a) {
  Complex z = first(a);
  const bool flat = !a.given(1);
  const std::int64_t axis = flat ? 0 : a.integer(1, 0);
  z = flat ? Complex{reshape(z.re, Shape{-1}), reshape(z.im, Shape{-1})} : Complex{moveaxis(z.re, axis, 0), moveaxis(z.im, axis, 0)};
  const auto slices = [&](std::int64_t begin, std::int64_t end) {
    const std::vector<Index> index{Index(Slice{begin, end}, Location{})};
    return Complex{std::as_const(z.re).at(index, Location{}), std::as_const(z.im).at(index, Location{})};
  };
  if (z.re.shape()[0] == 0)
    return of(
        {ones(Shape(z.re.shape().begin() + 1, z.re.shape().end()), z.re.dtype()), zeros(Shape(z.re.shape().begin() + 1, z.re.shape().end()), z.re.dtype())});
  for (std::int64_t size = z.re.shape()[0]; size > 1; size = z.re.shape()[0]) {
    const Complex both = slices(0, size / 2) * slices(size / 2, size / 2 * 2), last = slices(size / 2 * 2, size);
    z = size % 2 == 0 ? both : Complex{concatenate({both.re, last.re}, 0, Location{}), concatenate({both.im, last.im}, 0, Location{})};
  }
  return of({squeeze(z.re, {0}), squeeze(z.im, {0})});
}
/// The mean of the squared distances from the mean.
Tensor variance(const Arguments& a) {
  const Complex z = first(a);
  const Axes axes = a.axes(1);
  const Tensor re = z.re - mean(z.re, axes, true), im = z.im - mean(z.im, axes, true);
  const Tensor total = sum(re * re + im * im, axes, a.flag(4));
  return total / (static_cast<double>(z.re.size()) / static_cast<double>(std::max<std::int64_t>(1, total.size())) - a.number(3, 0));
}
Value var_(const Arguments& a) { return {variance(a)}; }
Value std_(const Arguments& a) { return {sqrt(variance(a))}; }

Value matmul_(const Arguments& a) { return complex_binary("@", *a.given(0), *a.given(1), a.given(0)->offset); }
Value dot_(const Arguments& a) {
  const auto axes = [](const Value& value) { return value.is_number() ? 0 : complex_of(value, "dot").re.ndim(); };
  return complex_binary(axes(*a.given(0)) == 0 || axes(*a.given(1)) == 0 ? "*" : "@", *a.given(0), *a.given(1), a.given(0)->offset);
}
Value vdot_(const Arguments& a) {
  const auto flat = [](const Complex& z) { return Complex{reshape(z.re, Shape{-1}), reshape(z.im, Shape{-1})}; };
  return complex_binary("@", of(conj(flat(complex_of(*a.given(0), "vdot")))), of(flat(complex_of(*a.given(1), "vdot"))), a.given(0)->offset);
}
Value outer_(const Arguments& a) {
  const Complex x = complex_of(*a.given(0), "outer"), y = complex_of(*a.given(1), "outer");
  return of(Complex{reshape(x.re, Shape{-1, 1}), reshape(x.im, Shape{-1, 1})} * Complex{reshape(y.re, Shape{1, -1}), reshape(y.im, Shape{1, -1})});
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
Value norm_(const Arguments& a) { return {norm(abs(first(a)))}; }
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
/// The real matrix [[re, -im], [im, re]] does to [re; im] what the complex one does.
Tensor doubled(const Complex& z) {
  return concatenate({concatenate({z.re, -z.im}, -1, Location{}), concatenate({z.im, z.re}, -1, Location{})}, -2, Location{});
}
Complex halves_of(const Tensor& both, std::int64_t axis) {
  const std::vector<Tensor> parts = split(both, 2, axis);
  return {parts[0], parts[1]};
}
Value solve_(const Arguments& a) {
  const Complex x = complex_of(*a.given(0), "solve"), y = complex_of(*a.given(1), "solve");
  const std::int64_t axis = y.re.ndim() == 1 ? 0 : -2;
  return of(halves_of(solve(doubled(x), concatenate({y.re, y.im}, axis, Location{})), axis));
}
Value inv_(const Arguments& a) {
  const Tensor both = inv(doubled(first(a)));
  return of(halves_of(split(both, 2, -1)[0], -2));
}
Value zeros_like_(const Arguments& a) {
  const Complex z = first(a);
  return of({zeros_like(z.re), zeros_like(z.re)});
}
Value ones_like_(const Arguments& a) {
  const Complex z = first(a);
  return of({ones_like(z.re), zeros_like(z.re)});
}
Value shape_(const Arguments& a) {
  Tuple sizes;
  for (const std::int64_t size : first(a).re.shape()) sizes.push_back({size, 0});
  return {std::move(sizes)};
}
Value ndim_(const Arguments& a) { return {std::int64_t{first(a).re.ndim()}}; }
Value size_(const Arguments& a) { return {first(a).re.size()}; }

struct Row {
  std::string_view name;
  Value (*build)(const Arguments&);
};
constexpr Row kRows[] = {
    {"acos", map<acos>},
    {"acosh", map<acosh>},
    {"add", arithmetic<'+'>},
    {"all", all_},
    {"allclose", allclose_},
    {"any", any_},
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
    {"cos", map<cos>},
    {"cosh", map<cosh>},
    {"divide", arithmetic<'/'>},
    {"dot", dot_},
    {"empty_like", zeros_like_},
    {"equal", equal_},
    {"exp", map<exp>},
    {"expm1", map<expm1>},
    {"inv", inv_},
    {"isclose", isclose_},
    {"isfinite", isfinite_},
    {"isinf", isinf_},
    {"isnan", isnan_},
    {"log", map<log>},
    {"log10", log10_},
    {"log1p", map<log1p>},
    {"log2", log2_},
    {"matmul", matmul_},
    {"multiply", arithmetic<'*'>},
    {"ndim", ndim_},
    {"norm", norm_},
    {"not_equal", not_equal_},
    {"ones_like", ones_like_},
    {"outer", outer_},
    {"polyval", polyval_},
    {"pow", power_},
    {"power", power_},
    {"prod", prod_},
    {"reciprocal", reciprocal_},
    {"shape", shape_},
    {"sign", map<sign>},
    {"sin", map<sin>},
    {"sinh", map<sinh>},
    {"size", size_},
    {"solve", solve_},
    {"sqrt", map<sqrt>},
    {"square", square_},
    {"std", std_},
    {"subtract", arithmetic<'-'>},
    {"tan", map<tan>},
    {"tanh", map<tanh>},
    {"true_divide", arithmetic<'/'>},
    {"var", var_},
    {"vdot", vdot_},
    {"zeros_like", zeros_like_},
};

/// The complex type that dtype= asks for, taken out of the arguments where it can be made of the real function.
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
/// zeros(3, dtype=complex), x.astype(complex64): the real function of the parts' type beside zeros.
Value made_complex(const Function& function, std::vector<Argument> arguments, DType type, std::size_t offset) {
  const std::vector<Parameter> parameters = parameters_of(function);
  for (std::size_t k = 0; k < arguments.size(); ++k)
    if (arguments[k].keyword == "dtype" || (arguments[k].keyword.empty() && k < parameters.size() && parameters[k].name == "dtype"))
      arguments[k].value.is = type;
  const bool complex = std::any_of(arguments.begin(), arguments.end(), [](const Argument& argument) { return holds_complex(argument.value); });
  const ByParts* row = std::find_if(std::begin(kByParts), std::end(kByParts), [&](const ByParts& r) { return r.name == function.name; });
  if (complex && row != std::end(kByParts)) return by_parts(function, *row, arguments, offset);
  if (complex && (function.name == "zeros_like" || function.name == "ones_like" || function.name == "empty_like"))
    arguments[0].value = {complex_of(arguments[0].value, function.name).re, offset};
  else if (complex) return complex_value(of_type(arguments[0].value, function.name, type), offset);
  const Tensor re = array_of(call(function, std::move(arguments), offset), function.name);
  return complex_value({re, zeros_like(re)}, offset);
}

}  // namespace

Value complex_value(const Complex& z, std::size_t offset, bool is_weak) {
  const std::vector<Tensor> parts = z.re.shape() == z.im.shape() ? std::vector<Tensor>{z.re, z.im} : broadcast_arrays({z.re, z.im}, Location{});
  Tuple pair{{parts[0], offset}, {parts[1], offset}};
  pair.is_complex = true;
  pair.is_weak = is_weak;
  return {std::move(pair), offset};
}

Complex complex_of(const Value& value, std::string_view user) {
  if (value.is_complex()) return {part(value, 0), part(value, 1)};
  if (holds_complex(value)) {
    std::vector<Tensor> re, im;
    for (const Value& item : *value.as<Tuple>()) {
      const Complex z = complex_of(item, user);
      re.push_back(is_floating(z.re.dtype()) ? z.re : astype(z.re, DType::float64));
      im.push_back(astype(z.im, re.back().dtype()));
      if (re.back().shape() != re.front().shape()) throw Fault{item.offset, fmt::format("the lists of {}() are not of one shape", user)};
    }
    return {stack(re, 0, Location{}), stack(im, 0, Location{})};
  }
  const Tensor re = array_of(value, user);
  return {re, zeros_like(re)};
}

bool holds_complex(const Value& value) {
  if (value.is_complex()) return true;
  const auto* items = value.as<Tuple>();
  return items && std::any_of(items->begin(), items->end(), holds_complex);
}

Value complex_binary(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
  const DType type = parts_type(left, right);
  const bool weak = is_weak(left) && is_weak(right), left_real = !holds_complex(left), right_real = !holds_complex(right);
  const auto made = [&](const Complex& z) { return complex_value(z, offset, weak); };
  const auto left_numbers = [&] { return of_type(left, symbol, type); };
  const auto right_numbers = [&] { return of_type(right, symbol, type); };
  // A real side takes part as it is: zeros times infinities would be NaN.
  if (symbol == "*" && (left_real || right_real)) {
    const Tensor x = real_of(left_real ? left : right, symbol, type);
    const Complex z = left_real ? right_numbers() : left_numbers();
    return made(left_real ? Complex{x * z.re, x * z.im} : Complex{z.re * x, z.im * x});
  }
  if (symbol == "/" && right_real) {
    const Tensor x = real_of(right, symbol, type);
    const Complex z = left_numbers();
    return made({z.re / x, z.im / x});
  }
  if (symbol == "@" && (left_real || right_real)) {
    const Tensor x = real_of(left_real ? left : right, symbol, type);
    const Complex z = left_real ? right_numbers() : left_numbers();
    return made(left_real ? Complex{matmul(x, z.re), matmul(x, z.im)} : Complex{matmul(z.re, x), matmul(z.im, x)});
  }
  if (symbol == "**") {
    if (const auto* exponent = right.as<std::int64_t>()) return made(power(left_numbers(), *exponent));
    return made(power(left_numbers(), right_numbers()));
  }
  const Complex a = left_numbers(), b = right_numbers();
  if (symbol == "+") return made(a + b);
  if (symbol == "-") return made(a - b);
  if (symbol == "*") return made(a * b);
  if (symbol == "/") return made(a / b);
  if (symbol == "@") return made(matmul(a, b));
  if (symbol == "==") return {logical_and(a.re == b.re, a.im == b.im), offset};
  if (symbol == "!=") return {logical_or(a.re != b.re, a.im != b.im), offset};
  throw Fault{offset,
              fmt::format("{} does not take complex numbers; there are +, -, *, /, **, @, == and != of them, and abs(z), z.real and z.imag are real", symbol)};
}

std::optional<Value> complex_call(const Function& function, const std::vector<Argument>& arguments, std::size_t offset) {
  if (const auto type = complex_dtype(function, arguments)) return made_complex(function, arguments, *type, offset);
  const auto complex = [](const Argument& argument) { return holds_complex(argument.value); };
  if (std::none_of(arguments.begin(), arguments.end(), complex)) return std::nullopt;
  for (const ByParts& row : kByParts)
    if (row.name == function.name) return by_parts(function, row, arguments, offset);
  for (const Row& row : kRows)
    if (row.name == function.name) {
      Value result = row.build(Arguments(function, arguments, offset));
      result.offset = offset;
      return result;
    }
  return std::nullopt;
}

std::optional<DType> find_complex_type(std::string_view name) {
  if (name == "complex" || name == "complex128" || name == "complex_" || name == "cdouble" || name == "c16" || name == "<c16" || name == "D")
    return DType::float64;
  if (name == "complex64" || name == "csingle" || name == "c8" || name == "<c8" || name == "F") return DType::float32;
  return std::nullopt;
}
std::string_view complex_type_name(DType of_parts) { return of_parts == DType::float64 ? "complex128" : "complex64"; }

}  // namespace sinter::table
