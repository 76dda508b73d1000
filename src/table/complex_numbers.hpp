// Complex numbers of an expression: pairs of real tensors that count as one value.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "sinter/complex.hpp"
#include "table/functions.hpp"

namespace sinter::table {

Value complex_value(const Complex& z, std::size_t offset, bool is_weak = false);
/// Of a complex value, of real numbers, and of lists with either. Throws Fault for anything else.
Complex complex_of(const Value& value, std::string_view user);
/// The same with parts of this type.
Complex complex_of_type(const Value& value, std::string_view user, DType type);
/// A complex value, or a list with one in it.
bool holds_complex(const Value& value);

/// Either side is complex; Python's numbers, 2j among them, take the other side's precision. Throws Fault for what complex numbers have not.
Value complex_binary(std::string_view symbol, const Value& left, const Value& right, std::size_t offset);

/// The function where an argument is complex or its dtype is to be; nothing for a function that has no meaning of its own for them.
std::optional<Value> complex_call(const Function& function, const std::vector<Argument>& arguments, std::size_t offset);

/// complex, complex64, complex128: the type of their parts.
std::optional<DType> find_complex_type(std::string_view name);
std::string_view complex_type_name(DType of_parts);

}  // namespace sinter::table
