// Options and functions that write tensors as text.
#pragma once
#include <cstdint>
#include <string>

#include "sinter/complex.hpp"
#include "sinter/tensor.hpp"

namespace sinter {

/// The digits of floating-point numbers. maxprec: as many as distinguish a number from all others, at most `precision`; fixed: exactly `precision`; unique: as
/// maxprec without a limit; maxprec_equal: as maxprec, the same number for all elements.
enum class FloatMode : std::uint8_t { maxprec, fixed, unique, maxprec_equal };

/// NumPy's set_printoptions: the most digits after the point; the number of elements up to which all are shown, and how many are shown at each end of an axis
/// beyond it; characters in a line; whether small numbers are written without an exponent; '+' or ' ' in front of numbers that are not negative; the words for
/// NaN and infinity. In addition: the text between elements, and the indentation of all lines but the first. With ", " and 6 an array is written as in NumPy's
/// repr after "array(".
struct PrintOptions {
  int precision = 8;
  std::int64_t threshold = 1000;
  std::int64_t edgeitems = 3;
  int linewidth = 75;
  bool suppress = false;
  std::string separator = " ";
  int indent = 0;
  FloatMode floatmode = FloatMode::maxprec;
  char sign = '-';
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
