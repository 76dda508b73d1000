// The expressions of the command: NumPy's syntax, recorded while it is parsed.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// The value of each name: a tensor, or a number, which is a weak scalar in promotion.
using Bindings = std::map<std::string, Value, std::less<>>;

struct Evaluated {
  std::vector<Tensor> results;              // results of the last statement, recorded and not computed; at least one
  std::vector<std::string> labels;          // the text of each result, shortened
  std::map<std::string, Tensor> variables;  // given and assigned values by name
  std::vector<std::string> unused;          // bindings that the expression does not use
};

/// Reads statements separated by `;` or newlines. The last statement is the result; a tuple such as `y, y[:, 0:3]` gives several results. Earlier statements
/// assign:
///   name = expression      a, b = f(x)      name += expression      name[1:3] = expression
/// Throws ValueError for a fault in the expression and sinter's other errors for what does not fit; either message ends
/// with the line and a caret under the column.
Evaluated evaluate(std::string_view text, const Bindings& bindings);

}  // namespace sinter::tools
