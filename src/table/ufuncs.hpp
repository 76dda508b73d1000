// What NumPy's elementwise functions have beside their operands: add(x, y, out=z, where=m, dtype=float32), add.reduce(x, axis=1).
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

/// Whether the function is computed element by element of x, or of x1 and x2.
bool is_elementwise(const Function& function);
/// reduce, accumulate, outer, reduceat, at.
bool is_ufunc_method(std::string_view name);

/// Calls the function with NumPy's keywords obeyed: `out` gives the result its type and shape, and its own elements where the condition
/// `where` does not hold; `dtype` is what an elementwise function is computed in. Throws Fault for arguments that do not fit.
Value call_with_keywords(const Function& function, std::vector<Argument> arguments, std::size_t offset);

/// add.reduce(x, axis=1), add.accumulate(x), add.outer(x, y), add.reduceat(x, places), add.at(x, places, values): the last one is x changed.
Value call_ufunc_method(const Function& function, std::string_view method, std::vector<Argument> arguments, std::size_t offset);

}  // namespace sinter::table
