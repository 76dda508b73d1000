// Arithmetic of numbers in an expression. It is computed immediately, as in Python: 2**-1 is 0.5, 7//2 is 3, -7 % 3 is 2.
#pragma once
#include <string_view>

#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// Both values are numbers. Throws Fault (at `offset`) for a division by zero or an integer beyond 64 bits.
Value number_binary(std::string_view symbol, const Value& a, const Value& b, std::size_t offset);
Value number_unary(std::string_view symbol, const Value& x, std::size_t offset);

}  // namespace sinter::tools
