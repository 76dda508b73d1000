// Set functions: the distinct elements of a tensor in ascending order, and unions, intersections and differences of them. All functions except isin and in1d
// evaluate their arguments, because the number of distinct elements depends on the data. isin and in1d only record, unless they use a table (see below).
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sinter/tensor.hpp"

namespace sinter {

struct Unique {
  Tensor values;   ///< ascending
  Tensor indices;  ///< the place where each value first appears in the flat tensor (or along the axis)
  Tensor inverse;  ///< for each element, the index of its value in `values`; has x's shape, or is a vector along the axis
  Tensor counts;   ///< how often each value appears
};
/// Follows the Array API: every NaN counts as a value of its own, unless equal_nan is true.
Unique unique_all(const Arg& x);
Tensor unique_values(const Arg& x);
std::pair<Tensor, Tensor> unique_counts(const Arg& x, bool equal_nan = false);  ///< values, counts
std::pair<Tensor, Tensor> unique_inverse(const Arg& x);                         ///< values, inverse
/// Follows NumPy: all NaN count as one value, unless equal_nan is false. With an axis, the function returns the distinct slices in lexicographic order.
Tensor unique(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);
/// Returns unique together with indices, inverse and counts.
Unique unique_with(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);

/// Tests whether each element is (with `invert`, is not) among the elements of test_elements; NaN never is. The function sorts test_elements and searches in
/// them. If the types are integers and `element` has at least 4096 elements, it evaluates the range of test_elements first, and uses a table instead if the
/// range is narrow.
Tensor isin(const Arg& element, const Arg& test_elements, bool invert = false);
/// Applies isin to the flat tensor.
Tensor in1d(const Arg& element, const Arg& test_elements, bool invert = false);
/// These return distinct elements of the flat tensors in ascending order: intersect1d those in both, union1d those in either, setdiff1d those in a but not in
/// b, setxor1d those in exactly one.
Tensor intersect1d(const Arg& a, const Arg& b);
Tensor union1d(const Arg& a, const Arg& b);
Tensor setdiff1d(const Arg& a, const Arg& b);
Tensor setxor1d(const Arg& a, const Arg& b);

}  // namespace sinter
