// The sizes of a tensor's axes.
#pragma once
#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace sinter {

/// A vector of sizes. One number is a shape of one axis: zeros(5).
struct Shape : std::vector<std::int64_t> {
  using vector::vector;
  Shape() = default;
  Shape(std::vector<std::int64_t> sizes) : vector(std::move(sizes)) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Shape(T size) : vector(1, static_cast<std::int64_t>(size)) {}
};
std::string to_string(const Shape& shape);  ///< "(4096, 1024)", "()", "(3,)"
std::ostream& operator<<(std::ostream& out, const Shape& shape);
std::int64_t element_count(const Shape& shape);  ///< the product of the sizes; 1 for a scalar

}  // namespace sinter
