// What a part of an expression is worth: a tensor, or one of the few Python values that arguments and indexes are made of.
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
/// A tuple or a list: both stand for shapes, axes and numbers; as an index (1, 2) is one for each axis, [1, 2] the places along one.
struct Tuple : std::vector<Value> {
  using vector::vector;
  bool is_list = false;
  bool is_complex = false;  // (re, im), two tensors: functions of real numbers refuse it
  bool is_weak = false;     // a complex number of Python's, as 2j, which takes the precision of what it meets
};

/// finfo(dtype), iinfo(dtype): what its attributes are read from.
struct Limits {
  DType dtype;
};

/// complex64, complex128, which are no element types of tensors.
struct ComplexType {
  DType of_parts;
};

struct Value {
  std::variant<None, bool, std::int64_t, double, Tensor, DType, std::string, Ellipsis, Tuple, Limits, std::uint64_t, Slice, ComplexType>
      is;                  // std::uint64_t: an integer above 2^63 - 1
  std::size_t offset = 0;  // where in the expression it came from

  template <class T> const T* as() const { return std::get_if<T>(&is); }
  bool is_number() const { return as<bool>() || as<std::int64_t>() || as<double>() || as<std::uint64_t>(); }
  bool is_complex() const { return as<Tuple>() && as<Tuple>()->is_complex; }
  bool is_operand() const { return as<Tensor>() || is_number(); }
};

/// "an integer", "a tuple", ...: for messages.
std::string_view kind_name(const Value& value);

/// The value as an operand of sinter's functions; numbers stay weak scalars. Throws Fault for anything but a tensor or a
/// number. Refers to the value.
Arg operand(const Value& value, std::string_view user);

/// What NumPy's asarray makes of a tensor, a number or lists of them: bool, int64 or float64 of numbers, what all promote to of tensors.
/// Throws Fault, at the item, for lists that are not of one shape and for anything else.
Tensor array_of(const Value& value, std::string_view user);

}  // namespace sinter::table
