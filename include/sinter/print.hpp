// Options and functions that write tensors as text.
#pragma once
#include <cstdint>
#include <string>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// The number of digits of a floating-point number.
enum class FloatMode : std::uint8_t {
  maxprec,        ///< as many as distinguish the number from all others, at most `precision`
  fixed,          ///< exactly `precision`
  unique,         ///< as many as distinguish the number from all others
  maxprec_equal,  ///< as maxprec, with the same number of digits for all elements
};

/// The options of NumPy's set_printoptions, and two more: separator and indent. With separator ", " and indent 6 an array is written as in NumPy's repr after
/// "array(".
struct PrintOptions {
  int precision = 8;              ///< the most digits after the point
  std::int64_t threshold = 1000;  ///< an array of more elements is abbreviated
  std::int64_t edgeitems = 3;     ///< elements that an abbreviated array shows at each end of an axis
  int linewidth = 75;             ///< characters in a line
  bool suppress = false;          ///< true: small numbers are written without an exponent
  std::string separator = " ";    ///< the text between elements
  int indent = 0;                 ///< spaces at the beginning of all lines but the first
  FloatMode floatmode = FloatMode::maxprec;
  char sign = '-';  ///< '+' or ' ': this character precedes numbers that are not negative
  std::string nan = "nan", infinity = "inf";
};
PrintOptions printoptions();  ///< the options now
/// Sets the options for all threads from now on. Throws ValueError for a negative number.
void set_printoptions(const PrintOptions& options, Location where = Location::current());
/// Writes NumPy's name of the type.
std::ostream& operator<<(std::ostream& out, DType dtype);
std::string to_string(const Tensor& tensor, const PrintOptions& options, Location where = Location::current());
std::string to_string(const Complex& numbers, const PrintOptions& options, Location where = Location::current());

}  // namespace sinter
