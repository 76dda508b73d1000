// The expression language of the command: NumPy's syntax, recorded as it is read.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// What names stand for: tensors, or numbers that stay weak scalars.
using Bindings = std::map<std::string, Value, std::less<>>;

struct Evaluated {
  std::vector<Tensor> results;      // of the last statement, recorded and not computed: at least one, or none of a program that has printed
  std::vector<std::string> labels;  // each result as it was written, shortened
  std::vector<std::string> unused;  // bindings that the expression never mentions
};

/// Statements separated by `;` or newlines, the last of which is the result; `y, y[:, 0:3]`, a tuple, is several. There are
///   name = expression      a, b = f(x)      name += expression      name[1:3] = expression
///   for k in range(3): …   while condition: …   if condition: … elif … else …   break, continue, pass, assert   print(…)
///   def f(x, *, y=2):
///     z = x * y
///     return z + 1, z      on one line: def f(x, y=2): return x * y
/// A function and a loop's body are read anew each time, as if what they record were written there; it may call itself. Conditions are
/// evaluated. What print says goes to `print`; without one it is left out and not computed. A program that has printed may end without a result.
/// Throws ValueError for a fault in the expression and sinter's other errors for what does not fit; either message ends
/// with the line and a caret under the column.
Evaluated evaluate(std::string_view text, const Bindings& bindings, const std::function<void(const std::string&)>& print = {});

}  // namespace sinter::tools
