// Looking up elements along an axis, for indexing with tensors.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// The user's indices into an axis of this size as int64 that count from the front.
RecordedPtr checked_places(const Site& site, const Tensor& indices, std::int64_t size, std::int64_t axis);
/// The axis replaced by the axes of `places`: NumPy's take.
RecordedPtr make_take(const Site& site, const RecordedPtr& x, const RecordedPtr& places, std::int64_t axis);
/// As many neighbouring axes as there are tensors of indices, from `axis` on, replaced by the axes of these, broadcast: x[:, i, j].
RecordedPtr make_lookup(const Site& site, const RecordedPtr& x, const std::vector<Tensor>& indices, std::int64_t axis);

/// How many elements of an ascending vector, which is not empty, come before each of the values; those equal to it too where `equal` says so. Of one type
/// that is computed in; NaN is nowhere, unless it is `placed`: then it is the largest number.
Tensor count_before(const Site& site, const Tensor& ascending, const Tensor& values, bool equal, bool placed);

}  // namespace sinter::ops
