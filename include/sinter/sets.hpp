// Set functions: the distinct elements of a tensor in ascending order, and unions, intersections and differences of them. All functions evaluate their
// argument, because the number of distinct elements depends on the data. Only isin stays lazy, except for many integers.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sinter/tensor.hpp"

namespace sinter {

struct Unique {
  Tensor values;   ///< ascending
  Tensor indices;  ///< the place where each value first appears in the flat tensor (or along the axis)
  Tensor inverse;  ///< the number of each element among the values; has x's shape, or is a vector along the axis
  Tensor counts;   ///< how often each value appears
};
/// Follows the Array API: every NaN counts as a value of its own.
Unique unique_all(const Arg& x);
Tensor unique_values(const Arg& x);
std::pair<Tensor, Tensor> unique_counts(const Arg& x);   ///< values, counts
std::pair<Tensor, Tensor> unique_inverse(const Arg& x);  ///< values, inverse
/// Follows NumPy: all NaN count as one value, unless equal_nan is false. With an axis, the function returns the distinct slices in the order of their elements.
Tensor unique(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);
/// Returns unique together with indices, inverse and counts.
Unique unique_with(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);

/// Tests whether each element is (with `invert`, is not) among the elements of the other tensor; NaN never is. The function sorts the other tensor and searches
/// in it. For more than a few integers in a narrow range it uses a table instead, for which it evaluates the range.
Tensor isin(const Arg& element, const Arg& test_elements, bool invert = false);
/// Applies isin to the flat tensor.
Tensor in1d(const Arg& element, const Arg& test_elements, bool invert = false);
/// These return, in ascending order, the distinct elements that are in both flat tensors, in either, in a alone, and in exactly one.
Tensor intersect1d(const Arg& a, const Arg& b);
Tensor union1d(const Arg& a, const Arg& b);
Tensor setdiff1d(const Arg& a, const Arg& b);
Tensor setxor1d(const Arg& a, const Arg& b);

}  // namespace sinter
