// Selection by masks: the number of elements is known only when the mask is computed.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// Returns the numbers of the elements that are not zero, in row-major order: int64. Evaluates.
RecordedPtr places_of_trues(const Site& site, const RecordedPtr& mask);
/// Converts positions in the flat tensor to a vector of indices for each axis of a shape.
std::vector<Tensor> indices_of(const Site& site, const RecordedPtr& places, const Shape& shape);

/// Throws ShapeError unless the mask's shape is that of x's first axes.
void check_mask(const Site& site, const Shape& mask, const Shape& shape);
/// Returns x(mask): the elements, or slices over the axes that the mask lacks, one after the other. Evaluates the mask.
RecordedPtr selected_by(const Site& site, const RecordedPtr& x, const RecordedPtr& mask);
/// Returns the same, but evaluates the mask only when the result is read (Tensor::node), because the result may be overwritten before.
RecordedPtr make_unread(const Site& site, const RecordedPtr& x, const RecordedPtr& mask);

/// Returns an index in which each mask is replaced by the indices of its elements. Evaluates.
std::vector<Index> without_masks(const Site& site, const Shape& shape, std::span<const Index* const> index);

}  // namespace sinter::ops
