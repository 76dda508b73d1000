// The arguments of one call, bound to a function's parameters.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

struct Parameter {
  std::string_view name, other_name;
  bool optional = false, takes_rest = false, keyword_only = false;
};
/// Read once from the row; the reference stays valid.
const std::vector<Parameter>& parameters_of(const Function& function);
/// "a, axis=…, *, keepdims=…"
std::string signature(const std::vector<Parameter>& parameters);

/// An integer, or a tensor of one integer, which is evaluated. Throws Fault for anything else.
std::int64_t whole_number(const Value& value);
/// Whether whole_number takes it.
bool is_whole_number(const Value& value);

/// A dtype, or a string that names one. Throws Fault for anything else.
DType dtype_of(const Value& value, std::string_view parameter, std::string_view function);

/// Reads arguments by parameter number; an absent one (or None, which only parameters that may be left out take) gives the default. Throws Fault, at the
/// argument, for a value of the wrong kind.
class Arguments {
 public:
  Arguments(const Function& function, std::vector<Argument> arguments, std::size_t offset);

  /// The value, or null when it was left out or is None.
  const Value* given(int parameter) const;
  /// True for None that was written: NumPy's word for the flat tensor where leaving an axis out means another one.
  bool none(int parameter) const;
  /// A list becomes a tensor, which lives as long as the arguments.
  Arg operand(int parameter) const;
  /// A list of what array_of takes; of arguments written one after another each of them, of which one may be a list.
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
  mutable std::map<int, Tensor> lists_;  // by parameter: what operand() made of a list
  std::size_t offset_;
  bool gathered_ = false;  // what is left of the positional arguments was several
};

}  // namespace sinter::table
