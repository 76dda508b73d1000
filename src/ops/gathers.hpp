// Lookup of elements along an axis, for indexing with tensors.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// Converts the user's indices into an axis of this size to int64 indices that count from the front.
RecordedPtr checked_places(const Site& site, const Tensor& indices, std::int64_t size, std::int64_t axis);
/// Replaces the axis by the axes of `places`: NumPy's take.
RecordedPtr make_take(const Site& site, const RecordedPtr& x, const RecordedPtr& places, std::int64_t axis);
/// Replaces as many neighbouring axes as there are tensors of indices, from `axis` on, by the axes of these, broadcast: x[:, i, j].
RecordedPtr make_lookup(const Site& site, const RecordedPtr& x, const std::vector<Tensor>& indices, std::int64_t axis);

/// Counts the elements of an ascending vector, which is not empty, before each of the values, with `equal` also those equal to it. All are of one compute type.
/// NaN has no place unless `placed`: then it is the largest number.
Tensor count_before(const Site& site, const Tensor& ascending, const Tensor& values, bool equal, bool placed);

}  // namespace sinter::ops
