// What masks select: a number of elements that is known when the mask is computed.
#pragma once
#include <vector>

#include "ops/recording.hpp"

namespace sinter::ops {

/// The numbers of the elements that are not zero, in row-major order: int64. Evaluates.
RecordedPtr places_of_trues(const Site& site, const RecordedPtr& mask);
/// A vector of indices for each axis of a shape, from places in the flat tensor.
std::vector<Tensor> indices_of(const Site& site, const RecordedPtr& places, const Shape& shape);

/// The mask's shape has to be that of x's first axes; ShapeError.
void check_mask(const Site& site, const Shape& mask, const Shape& shape);
/// x(mask): the elements, or slices over the axes that the mask has not, one after the other. Evaluates the mask.
RecordedPtr selected_by(const Site& site, const RecordedPtr& x, const RecordedPtr& mask);
/// The same, which evaluates when it is read (Tensor::node): it may be written over before.
RecordedPtr make_unread(const Site& site, const RecordedPtr& x, const RecordedPtr& mask);

/// An index in which a mask is replaced by the indices of its elements. Evaluates.
std::vector<Index> without_masks(const Site& site, const Shape& shape, std::span<const Index* const> index);

}  // namespace sinter::ops
