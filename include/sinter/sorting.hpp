// Order: sorting, the largest and the smallest, and places in what is sorted. NaN counts as the largest number; equal elements keep their
// order everywhere.
//
// A CPU sorts by digits, in parallel; a device without such a library counts elements into place, n^2 comparisons a row.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Along an axis, NaN last; without an axis the flat tensor. Descending is the ascending order read backwards: NaN first.
Tensor sort(const Arg& x, std::optional<std::int64_t> axis = -1, bool descending = false);
/// The places from which sort would take the elements, int64. Descending too, equal elements keep their order.
Tensor argsort(const Arg& x, std::optional<std::int64_t> axis = -1, bool descending = false);
/// The order of the last key, equal elements by the key before it, and so on: NumPy's lexsort.
Tensor lexsort(const std::vector<Tensor>& keys, std::int64_t axis = -1, Location where = Location::current());

/// The `count` largest (smallest) elements along an axis, in order, and where they lie. ValueError for more than there are.
std::pair<Tensor, Tensor> topk(const Arg& x, std::int64_t count, std::int64_t axis = -1, bool largest = true);

/// Elements before the kth are not larger than it, those behind not smaller. These are sorted altogether: any kth serves.
Tensor partition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis = -1);
Tensor argpartition(const Arg& x, std::int64_t kth, std::optional<std::int64_t> axis = -1);

enum class Side : std::uint8_t {
  left,   ///< before equal elements
  right,  ///< behind them
};
/// Where in the ascending vector each value belongs so that the order stays: int64 of the values' shape. Both are compared in their
/// common type. `sorter` is the vector's argsort, where it is not sorted itself. Log2(n) reads an element, fused into what uses them.
Tensor searchsorted(const Arg& ascending, const Arg& values, Side side = Side::left, const Tensor& sorter = {});
/// The number of each value's bin between monotonous edges: i where edges[i-1] <= x < edges[i], with `right` edges[i-1] < x <= edges[i];
/// of descending edges the other way round. Evaluates the edges, to see which way they run.
Tensor digitize(const Arg& x, const Arg& edges, bool right = false);

}  // namespace sinter
