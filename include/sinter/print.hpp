// How tensors are written as text.
#pragma once
#include <cstdint>
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// NumPy's set_printoptions: digits after the point at most; elements up to which all are shown, and how many at each end of an axis
/// beyond that; characters in a line; whether small numbers stay without an exponent. Beside them what stands between elements, and how far all lines but the
/// first are moved to the right: ", " and 6 write an array as NumPy's repr does behind "array(".
struct PrintOptions {
  int precision = 8;
  std::int64_t threshold = 1000;
  std::int64_t edgeitems = 3;
  int linewidth = 75;
  bool suppress = false;
  std::string separator = " ";
  int indent = 0;
};
PrintOptions printoptions();
/// From now on, for all threads. Throws ValueError for a negative number.
void set_printoptions(const PrintOptions& options, Location where = Location::current());
/// NumPy's name of the type.
std::ostream& operator<<(std::ostream& out, DType dtype);
std::string to_string(const Tensor& tensor, const PrintOptions& options, Location where = Location::current());

}  // namespace sinter
