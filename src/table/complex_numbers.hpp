// Complex numbers in an expression: pairs of real tensors that count as one value.
#pragma once
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/complex.hpp"
#include "table/functions.hpp"

namespace sinter::table {

Value complex_value(const Complex& z, std::size_t offset, bool is_weak = false);
/// Returns the real part (0) or the imaginary part (1) of a complex value.
const Tensor& part(const Value& pair, std::size_t which);
/// Converts a complex value, real numbers, or lists with either. Throws Fault for anything else.
Complex complex_of(const Value& value, std::string_view user);
/// Does the same with parts of this type.
Complex complex_of_type(const Value& value, std::string_view user, DType type);
/// Returns true for a complex value, or a list that contains one.
bool holds_complex(const Value& value);

/// Converts both to the complex type of the operation's result. A Python number, such as 2j, takes the other operand's precision.
std::pair<Complex, Complex> common_complex(const Value& left, const Value& right, std::string_view user);
/// Computes a binary operator with a complex operand. Throws Fault for operators that are not defined for complex numbers.
Value complex_binary(std::string_view symbol, const Value& left, const Value& right, std::size_t offset);

/// Calls the function if an argument or the requested dtype is complex. Returns nullopt for a function without a special definition for complex numbers.
std::optional<Value> complex_call(const Function& function, const std::vector<Argument>& arguments, std::size_t offset);

/// Finds the type of the parts of complex, complex64 and complex128.
std::optional<DType> find_complex_type(std::string_view name);
std::string_view complex_type_name(DType of_parts);

}  // namespace sinter::table
