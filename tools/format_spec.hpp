// What stands behind the colon in f'{x:8.3f}'.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "table/value.hpp"

namespace sinter::tools {

using namespace table;

/// The value by Python's format: [[fill]align][sign][#][0][width][grouping][.precision][type]. `shown` makes what it is printed as without one, which
/// is asked for where the format says no other way. Nothing where the format is none of the value's.
std::optional<std::string> by_format(const Value& value, std::string_view format, const std::function<std::string()>& shown);

}  // namespace sinter::tools
