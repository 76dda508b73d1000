// Gathers elements along an axis, for indexing with tensors.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// Converts the user's indices into an axis of this size to int64 indices that count from the front.
RecordedPtr checked_places(const Site& site, const Tensor& indices, std::int64_t size, std::int64_t axis);
/// Replaces the axis by the axes of `places`: NumPy's take.
RecordedPtr make_take(const Site& site, const RecordedPtr& x, const RecordedPtr& places, std::int64_t axis);
/// Replaces as many adjacent axes as there are index tensors, from `axis` on, by the broadcast axes of these tensors: x[:, i, j].
RecordedPtr make_lookup(const Site& site, const RecordedPtr& x, const std::vector<Tensor>& indices, std::int64_t axis);

/// For each value, counts the elements of an ascending, non-empty vector that are less, or with `equal` also those that are equal. All have one compute type. A
/// NaN is the largest number if `placed` is set; otherwise its count is undefined.
Tensor count_before(const Site& site, const Tensor& ascending, const Tensor& values, bool equal, bool placed);

}  // namespace sinter::ops
