// The value of a part of an expression: a tensor, or one of the few Python values that arguments and indexes consist of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter::table {

struct None {};
struct Value;
/// A tuple or a list. Both can be shapes, axes and numbers. As an index, (1, 2) has one item for each axis, and [1, 2] is an index array for one axis.
struct Tuple : std::vector<Value> {
  using vector::vector;
  bool is_list = false;
  bool is_complex = false;  // a pair (re, im) of tensors; functions of real numbers refuse it
  bool is_weak = false;     // a Python complex number, such as 2j, which takes the precision of the other operand
};

/// The result of finfo(dtype) or iinfo(dtype), which has attributes.
struct Limits {
  DType dtype;
};

/// complex64 or complex128, which are not element types of tensors.
struct ComplexType {
  DType of_parts;
};

struct Value {
  std::variant<None, bool, std::int64_t, double, Tensor, DType, std::string, Ellipsis, Tuple, Limits, std::uint64_t, Slice, ComplexType>
      is;                  // std::uint64_t: an integer above 2^63 - 1
  std::size_t offset = 0;  // position of the value in the expression

  template <class T> const T* as() const { return std::get_if<T>(&is); }
  bool is_number() const { return as<bool>() || as<std::int64_t>() || as<double>() || as<std::uint64_t>(); }
  bool is_complex() const { return as<Tuple>() && as<Tuple>()->is_complex; }
  bool is_operand() const { return as<Tensor>() || is_number(); }
};

/// Returns "an integer", "a tuple", ... for messages.
std::string_view kind_name(const Value& value);

/// Returns the value as an operand of sinter's functions; numbers stay weak scalars. Throws Fault for anything but a tensor or a number. The operand refers to
/// the value.
Arg operand(const Value& value, std::string_view user);

/// Converts a tensor, a number or lists of them as NumPy's asarray does: numbers give bool, int64 or float64, tensors their promoted type. Throws Fault, at the
/// item, for lists that do not have one shape and for anything else.
Tensor array_of(const Value& value, std::string_view user);

}  // namespace sinter::table
