// The table of functions that expressions can call: one row per name.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "table/value.hpp"

namespace sinter::table {

class Arguments;

struct Function {
  std::string_view name;
  /// Parameter names in order. "axis?" may be omitted; "shape+" also takes the remaining positional arguments, as in x.reshape(2, -1); parameters after "*" are
  /// keyword-only; "a_min|min" has two names.
  std::string_view parameters;
  Value (*build)(const Arguments&);
  /// Functions that move or select elements, or are linear, are applied to the real and the imaginary parts of complex numbers separately. Bit k is 1 if
  /// argument k may be complex. If no bit is set, the function has a special definition for complex numbers, or none (complex_functions.cpp).
  unsigned by_parts = 0;
};

/// Finds a function by name; null for an unknown one.
const Function* find_function(std::string_view name);
/// Finds a function of NumPy's modules linalg and random, with its order of arguments and defaults there. Null for an unknown one.
const Function* find_member(std::string_view module, std::string_view name);
std::span<const Function> functions();
/// Returns the rows of NumPy's modules, named "linalg.cross", "random.normal", ...
std::span<const Function> members();

struct Argument {
  std::string_view keyword;  // empty for a positional argument
  Value value;
};

/// Binds the arguments to the parameters and records the call. Throws Fault for arguments that do not fit, sinter's own errors for shapes and types that do not
/// fit.
Value call(const Function& function, std::vector<Argument> arguments, std::size_t offset);
/// Calls a function of one operand for a real tensor.
Value call(const Function& function, const Tensor& x);

/// Finds a type by its name: float32, f32, int, half, ...
std::optional<DType> find_dtype(std::string_view name);

/// Finds a type by a string: NumPy's 'f4', '<i8', '|b1', whose numbers count bytes, and the names above.
std::optional<DType> find_type_string(std::string_view text);

/// Returns the names most similar to `name`, for "did you mean"; empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace sinter::table
