// The description of a function of the table: a line of text and an example.
#pragma once
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

struct Description {
  std::string_view name, text;
  std::string_view example;  // an expression without external names
};

/// Returns the description of the function, or of another name of the same function; null if there is none.
const Description* find_description(const Function& function);

/// Returns the other names of the same function.
std::vector<std::string_view> other_names(const Function& function);

}  // namespace sinter::table
