// Writes an array whose elements another program formats. sinter.hpp does not include this header.
#pragma once
#include <functional>

#include "sinter/print.hpp"

namespace sinter {

/// Writes an array of this shape. `element` returns the text of the element at a row-major place.
std::string to_string(const Shape& shape, const std::function<std::string(std::int64_t)>& element, const PrintOptions& options,
                      Location where = Location::current());

}  // namespace sinter
