// The sizes of a tensor's axes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

using Shape = std::vector<std::int64_t>;
std::string to_string(const Shape& shape);       ///< "(4096, 1024)", "()", "(3,)"
std::int64_t element_count(const Shape& shape);  ///< the product of the sizes; 1 for a scalar

}  // namespace sinter
