// The arguments of one call, bound to a function's parameters.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

struct Parameter {
  std::string_view name, other_name;
  bool optional = false, takes_rest = false, keyword_only = false;
};
/// Returns the parameters of a function. The row is parsed once; the reference stays valid.
const std::vector<Parameter>& parameters_of(const Function& function);
/// Returns a text such as "a, axis=…, *, keepdims=…".
std::string signature(const std::vector<Parameter>& parameters);

/// Returns an integer; a tensor of one integer is evaluated. Throws Fault for anything else.
std::int64_t whole_number(const Value& value);
/// Returns whether whole_number accepts the value.
bool is_whole_number(const Value& value);
/// Returns the integers of a pair; nothing for another value.
std::optional<std::pair<std::int64_t, std::int64_t>> whole_pair(const Value& value);

/// Converts an index: an integer, slice, None, an ellipsis, a tensor, or a list. Throws Fault for anything else.
Index index_of(const Value& value);
/// Converts an index of several axes, which is a tuple, or of one: x[(1, 2)] is x[1, 2].
std::vector<Index> indices_of(const Value& value);

/// Converts a dtype, or a string that names one. Throws Fault for anything else.
DType dtype_of(const Value& value, std::string_view parameter, std::string_view function);

/// Reads arguments by parameter number; an absent one gives the default. So does None, for parameters that may be omitted. Throws Fault, at the argument, for a
/// value of the wrong kind.
class Arguments {
 public:
  Arguments(const Function& function, std::vector<Argument> arguments, std::size_t offset);

  /// Returns the value, or null if it was omitted or is None.
  const Value* given(int parameter) const;
  /// Returns true for an explicit None, which in NumPy means the flat tensor, for functions with another default axis.
  bool none(int parameter) const;
  /// Returns an operand; a list becomes a tensor, which exists as long as the arguments.
  Arg operand(int parameter) const;
  /// Converts the items of a list like array_of. Separate arguments give one tensor each, or there is one argument, which is a list.
  std::vector<Tensor> tensors(int parameter) const;
  std::optional<std::int64_t> axis(int parameter) const;  // absent: none
  std::vector<std::int64_t> list(int parameter) const;    // an integer or a tuple of integers
  Tensor tensor(int parameter) const;                     // absent: an empty handle; numbers and lists become tensors
  Axes axes(int parameter, const Axes& otherwise = {}) const;
  Shape shape(int parameter) const;  // an integer or a tuple of integers
  bool flag(int parameter, bool otherwise = false) const;
  std::int64_t integer(int parameter, std::int64_t otherwise) const;
  int small_integer(int parameter, int otherwise) const;
  double number(int parameter, double otherwise) const;
  std::string text(int parameter, std::string_view otherwise) const;
  std::optional<DType> dtype(int parameter) const;

  std::string_view function() const { return function_.name; }
  [[noreturn]] void fail(int parameter, const std::string& message) const;

 private:
  [[noreturn]] void wrong_kind(int parameter, std::string_view wanted) const;
  std::vector<std::int64_t> integers(int parameter, std::string_view wanted) const;

  const Function& function_;
  const std::vector<Parameter>& parameters_;
  std::vector<std::optional<Value>> values_;
  mutable std::map<int, Tensor> lists_;  // by parameter: the tensors that operand() made of lists
  std::size_t offset_;
  bool gathered_ = false;  // true: several positional arguments were left for the last parameter
};

}  // namespace sinter::table
