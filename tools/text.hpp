// Strings: Python's methods of them, and its older ways to put values into them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table/functions.hpp"

namespace sinter::tools {

using namespace table;

/// \n, \t, \x41, … as the characters they stand for.
std::string unescaped(std::string_view text);

/// How a value is written by a format that stands behind a colon; an empty one is str().
using InFormat = std::function<std::string(const Value&, const std::string&)>;
/// 'x = %5.2f' % x
std::string percent_formatted(std::string_view text, const Value& values, const InFormat& in_format, const std::function<std::string(const Value&)>& repr,
                              std::size_t offset);
/// '{} of {n:d}'.format(x, n=3)
std::string brace_formatted(std::string_view text, const std::vector<Argument>& arguments, const InFormat& in_format, std::size_t offset);

/// text.split(), text.join(list), …; nothing for an unknown method. Throws Fault for arguments that do not fit.
std::optional<Value> string_method(const std::string& text, std::string_view method, const std::vector<Value>& arguments, std::size_t offset);

}  // namespace sinter::tools
