// Writing at computed indices.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// Returns the whole with `value` written at an index (Op::scatter) or combined with its elements there (Op::scatter_add and others), in order. The value has
/// the shape of whole(index), but not yet its type.
RecordedPtr make_scatter(const Site& site, Op op, const RecordedPtr& whole, const std::vector<Index>& index, const Arg& value);

/// Writes the value into the whole's own elements and returns true if that is possible and saves a copy of the whole (ops/in_place.hpp).
bool scatter_in_place(const Site& site, Tensor& whole, const std::vector<Index>& index, const Arg& value);

/// Returns the argument in the type and shape of the part that it replaces. Throws DTypeError if its kind is higher, and ShapeError if it does not broadcast to
/// the part (assign.cpp).
RecordedPtr fitted(const Site& site, const Arg& value, DType dtype, const Shape& part);

}  // namespace sinter::ops
