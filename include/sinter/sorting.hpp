// Sorting, selection of the largest and the smallest elements, and search in sorted vectors. NaN counts as the largest number. Every sort is stable.
//
// A CPU sorts by vectorised quicksort, in parallel. A CUDA GPU sorts short rows by comparing all pairs, and longer ones by digits, in time that grows with the
// number of elements. For an OpenCL device the host sorts longer rows.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Sorts along an axis, NaN last; without an axis it sorts the flat tensor. The descending order is the ascending order read backwards: NaN first.
Tensor sort(const Arg& x, std::optional<std::int64_t> axis = -1, bool descending = false);
/// Returns the places from which sort would take the elements, int64. Equal elements keep their order, also in descending order.
Tensor argsort(const Arg& x, std::optional<std::int64_t> axis = -1, bool descending = false);
/// Returns the indices that sort by the last key; elements with equal last keys are ordered by the key before it, and so on: NumPy's lexsort.
Tensor lexsort(const std::vector<Tensor>& keys, std::int64_t axis = -1, Location where = Location::current());

/// Returns the `count` largest (smallest) elements along an axis in order, and their places. Throws ValueError if `count` exceeds the axis.
std::pair<Tensor, Tensor> topk(const Arg& x, std::int64_t count, std::int64_t axis = -1, bool largest = true);

/// Returns the elements in such an order that those before the kth are not larger than it, and those after it are not smaller. The function sorts the whole
/// axis.
Tensor partition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis = -1);
Tensor argpartition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis = -1);

enum class Side : std::uint8_t {
  left,   ///< before equal elements
  right,  ///< after equal elements
};
/// Returns for each value the place in the vector where it can be inserted so that the order stays: int64 of the values' shape. Elements and values are
/// compared in their common type. If the vector is not sorted, `sorter` has to be its argsort. Each value takes log2(n) reads, in the kernel that uses the
/// result.
Tensor searchsorted(const Arg& ascending, const Arg& values, Side side = Side::left, const Tensor& sorter = {});
/// Returns the number of each value's bin between edges that ascend or descend: the i with edges[i-1] <= x < edges[i], or with `right` the i with edges[i-1] <
/// x <= edges[i]. For descending edges the comparisons are reversed. Evaluates the edges to find their direction.
Tensor digitize(const Arg& x, const Arg& edges, bool right = false);

}  // namespace sinter
