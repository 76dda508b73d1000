// What a part of an expression is worth: a tensor, or one of the few Python values that arguments and indexes are made of.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter::tools {

struct None {};
struct Value;
using Tuple = std::vector<Value>;

struct Value {
  std::variant<None, bool, std::int64_t, double, Tensor, DType, std::string, Ellipsis, Tuple> is;
  std::size_t offset = 0;  // where in the expression it came from

  template <class T> const T* as() const { return std::get_if<T>(&is); }
  bool is_number() const { return as<bool>() || as<std::int64_t>() || as<double>(); }
  bool is_operand() const { return as<Tensor>() || is_number(); }
};

/// "an integer", "a tuple", ...: for messages.
std::string_view kind_name(const Value& value);

/// The value as an operand of sinter's functions; numbers stay weak scalars. Throws Fault for anything but a tensor or a
/// number. Refers to the value.
Arg operand(const Value& value, std::string_view user);

}  // namespace sinter::tools
