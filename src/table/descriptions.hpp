// What a function of the table is, in a line and an example.
#pragma once
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::table {

struct Description {
  std::string_view name, text;
  std::string_view example;  // an expression that needs no names from outside
};

/// The function's own, or that of another name of the same function; null where there is none.
const Description* find_description(const Function& function);

/// The other names of the same function.
std::vector<std::string_view> other_names(const Function& function);

}  // namespace sinter::table
