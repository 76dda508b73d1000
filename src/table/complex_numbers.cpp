// Complex numbers as values of the table, and their operators.
#include "table/complex_numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sinter/creation.hpp"
#include "sinter/ops.hpp"
#include "sinter/shapes.hpp"
#include "sinter/types.hpp"
#include "table/arguments.hpp"
#include "table/complex_order.hpp"
#include "table/fault.hpp"

namespace sinter::table {
namespace {

bool is_weak(const Value& value) { return value.is_number() || (value.is_complex() && value.as<Tuple>()->is_weak); }

/// Returns the type of the result's parts: floating and wide enough for both operands; float64 if both are Python numbers.
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

}  // namespace

const Tensor& part(const Value& pair, std::size_t which) { return *(*pair.as<Tuple>())[which].as<Tensor>(); }

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

Complex complex_of_type(const Value& value, std::string_view user, DType type) {
  if (!holds_complex(value)) {
    const Tensor re = real_of(value, user, type);
    return {re, zeros_like(re)};
  }
  const Complex z = complex_of(value, user);
  return {astype(z.re, type), astype(z.im, type)};
}

bool holds_complex(const Value& value) {
  if (value.is_complex()) return true;
  const auto* items = value.as<Tuple>();
  return items && std::any_of(items->begin(), items->end(), holds_complex);
}

std::pair<Complex, Complex> common_complex(const Value& left, const Value& right, std::string_view user) {
  const DType type = parts_type(left, right);
  return {complex_of_type(left, user, type), complex_of_type(right, user, type)};
}

Value complex_binary(std::string_view symbol, const Value& left, const Value& right, std::size_t offset) {
  const DType type = parts_type(left, right);
  const bool weak = is_weak(left) && is_weak(right), left_real = !holds_complex(left), right_real = !holds_complex(right);
  const auto made = [&](const Complex& z) { return complex_value(z, offset, weak); };
  const auto left_numbers = [&] { return complex_of_type(left, symbol, type); };
  const auto right_numbers = [&] { return complex_of_type(right, symbol, type); };
  // A real operand is not converted, because zeros times infinities would be NaN.
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
  if (symbol == "<") return {is_less(a, b), offset};
  if (symbol == "<=") return {is_less_equal(a, b), offset};
  if (symbol == ">") return {is_less(b, a), offset};
  if (symbol == ">=") return {is_less_equal(b, a), offset};
  throw Fault{
      offset,
      fmt::format("{} does not take complex numbers; there are +, -, *, /, **, @ and comparisons of them, and abs(z), z.real and z.imag are real", symbol)};
}

std::optional<DType> find_complex_type(std::string_view name) {
  if (name == "complex" || name == "complex128" || name == "complex_" || name == "cdouble" || name == "c16" || name == "<c16" || name == "D")
    return DType::float64;
  if (name == "complex64" || name == "csingle" || name == "c8" || name == "<c8" || name == "F") return DType::float32;
  return std::nullopt;
}
std::string_view complex_type_name(DType of_parts) { return of_parts == DType::float64 ? "complex128" : "complex64"; }

}  // namespace sinter::table
