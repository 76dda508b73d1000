// Sets: the distinct elements of a tensor, in ascending order, and what is made of them. All evaluate their argument, since how many
// there are is not known before; isin alone stays lazy, but of many integers.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sinter/tensor.hpp"

namespace sinter {

struct Unique {
  Tensor values;   // ascending
  Tensor indices;  // where each is met first in the flat tensor (or along the axis)
  Tensor inverse;  // of x's shape (or a vector along the axis): the number of each element among the values
  Tensor counts;   // how often each is met
};
/// The Array API's: every NaN is a value of its own.
Unique unique_all(const Arg& x);
Tensor unique_values(const Arg& x);
std::pair<Tensor, Tensor> unique_counts(const Arg& x);   // values, counts
std::pair<Tensor, Tensor> unique_inverse(const Arg& x);  // values, inverse
/// NumPy's: all NaN are one value, unless equal_nan is false. Along an axis, its distinct slices in the order of their elements.
Tensor unique(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);
/// With indices, inverse and counts.
Unique unique_with(const Arg& x, std::optional<std::int64_t> axis = {}, bool equal_nan = true);

/// Whether each element is among those of the other tensor (with `invert`, is not); NaN never is. A sort of the other tensor and a
/// search in it; of more than a few integers in a narrow range a look into a table, for which the range is evaluated.
Tensor isin(const Arg& element, const Arg& test_elements, bool invert = false);
/// isin of the flat tensor.
Tensor in1d(const Arg& element, const Arg& test_elements, bool invert = false);
/// Distinct elements of both, of either, of a alone, of exactly one; of the flat tensors, ascending.
Tensor intersect1d(const Arg& a, const Arg& b);
Tensor union1d(const Arg& a, const Arg& b);
Tensor setdiff1d(const Arg& a, const Arg& b);
Tensor setxor1d(const Arg& a, const Arg& b);

}  // namespace sinter
