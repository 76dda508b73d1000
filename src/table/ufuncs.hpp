// Methods and keywords of NumPy's elementwise functions: add(x, y, out=z, where=m, dtype=float32), add.reduce(x, axis=1).
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

/// Returns whether the function works elementwise on x, or on x1 and x2.
bool is_elementwise(const Function& function);
/// Returns true for reduce, accumulate, outer, reduceat and at.
bool is_ufunc_method(std::string_view name);

/// Calls the function with NumPy's keywords: `out` determines the result's type and shape, and its elements where the condition `where` is false; `dtype` is
/// the type of an elementwise computation. Throws Fault for arguments that do not fit.
Value call_with_keywords(const Function& function, std::vector<Argument> arguments, std::size_t offset);

/// Calls add.reduce(x, axis=1), add.accumulate(x), add.outer(x, y), add.reduceat(x, places), add.at(x, places, values); the last one returns the changed x.
Value call_ufunc_method(const Function& function, std::string_view method, std::vector<Argument> arguments, std::size_t offset);

}  // namespace sinter::table
