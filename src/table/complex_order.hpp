// Functions that need an order of complex numbers.
#pragma once
#include <optional>
#include <vector>

#include "sinter/complex.hpp"
#include "table/functions.hpp"

namespace sinter::table {

/// Compares element by element in NumPy's order: real parts first, imaginary parts where these are equal. A number with a NaN is neither less nor greater.
Tensor is_less(const Complex& a, const Complex& b);
Tensor is_less_equal(const Complex& a, const Complex& b);
/// Calls a function that orders its elements (sort, max, unique, searchsorted, ...); nullopt for other functions.
std::optional<Value> ordered_call(const Function& function, std::vector<Argument> arguments, std::size_t offset);

}  // namespace sinter::table
