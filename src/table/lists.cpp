// Converts lists of numbers and tensors to tensors.
#include <fmt/format.h>

#include "sinter/ops.hpp"
#include "sinter/types.hpp"
#include "table/fault.hpp"
#include "table/value.hpp"

namespace sinter::table {
namespace {

/// Flattens the numbers of nested lists of one shape.
struct Numbers {
  Shape shape;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  DType dtype = DType::bool_;
};

bool holds_tensor(const Value& value) {
  if (const Tuple* items = value.as<Tuple>()) {
    for (const Value& item : *items)
      if (holds_tensor(item)) return true;
    return false;
  }
  return value.as<Tensor>() != nullptr;
}

[[noreturn]] void ragged(const Value& value, std::string_view user) { throw Fault{value.offset, fmt::format("the lists of {}() are not of one shape", user)}; }
[[noreturn]] void not_a_number(const Value& value, std::string_view user) {
  throw Fault{value.offset, fmt::format("{}() takes tensors, numbers and lists of them, but this is {}", user, kind_name(value)), true};
}

void collect(const Value& value, std::string_view user, std::size_t depth, Numbers& numbers, bool first) {
  if (const Tuple* items = value.as<Tuple>()) {
    const auto size = static_cast<std::int64_t>(items->size());
    if (first) numbers.shape.push_back(size);
    if (depth >= numbers.shape.size() || numbers.shape[depth] != size) ragged(value, user);
    for (std::size_t k = 0; k < items->size(); ++k) collect((*items)[k], user, depth + 1, numbers, first && k == 0);
    return;
  }
  if (!value.is_number()) not_a_number(value, user);
  if (depth != numbers.shape.size()) ragged(value, user);
  const auto* integer = value.as<std::int64_t>();
  const auto* large = value.as<std::uint64_t>();
  const DType dtype = value.as<double>() ? DType::float64 : integer ? DType::int64 : large ? DType::uint64 : DType::bool_;
  numbers.dtype = promote_types(numbers.dtype, dtype, Location{});
  numbers.integers.push_back(integer ? *integer : large ? static_cast<std::int64_t>(*large) : value.as<bool>() ? *value.as<bool>() : 0);
  numbers.floats.push_back(operand(value, user).as_double());
}

[[noreturn]] void not_real(const Value& value, std::string_view user) {
  throw Fault{value.offset,
              fmt::format("{} takes real numbers, but this is complex, a pair (re, im): take abs(z), angle(z), z.real or z.imag of it first", user), true};
}

Tensor stacked(const Value& value, std::string_view user) {
  if (value.is_complex()) not_real(value, user);
  if (!value.as<Tuple>()) return array_of(value, user);
  std::vector<Tensor> parts;
  for (const Value& item : *value.as<Tuple>()) {
    parts.push_back(stacked(item, user));
    if (parts.back().shape() != parts.front().shape()) ragged(item, user);
  }
  return stack(parts, 0, Location{});
}

}  // namespace

Tensor array_of(const Value& value, std::string_view user) {
  if (const Tensor* tensor = value.as<Tensor>()) return *tensor;
  if (value.is_complex()) not_real(value, user);
  if (holds_tensor(value)) return stacked(value, user);
  if (value.is_number()) return full({}, operand(value, user));
  if (!value.as<Tuple>()) not_a_number(value, user);
  Numbers numbers;
  collect(value, user, 0, numbers, true);
  if (numbers.floats.empty() || numbers.dtype == DType::float64) return from_span(numbers.floats, numbers.shape, Location{});
  return astype(Arg(from_span(numbers.integers, numbers.shape, Location{}), Location{}), numbers.dtype);
}

}  // namespace sinter::table
