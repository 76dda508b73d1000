// Small assignments to elements that nobody else can see: written where they lie, instead of recorded.
//
// `for (i..) for (j..) x(i, j) = f(i, j)` would record a pad for every element, and plan a kernel for every hundred of them. Where the handle that is
// assigned to is all that holds the elements, nobody can tell a new value from the old one changed.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "ops/selection.hpp"
#include "sinter/tensor.hpp"
#include "trace/record.hpp"

namespace sinter::ops {

/// Writes the value to the block, if the handle is all that holds its elements, in host memory that nothing else refers to, or what it waits for are small
/// assignments to such; if the block is small; and if the value is a number or a few elements that are there already. Returns whether it did. Checked
/// before: the value's type and shape fit.
bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value);

/// The same for `x(i, j) += 2`: op of each element and a number of its type, where that is certain to the last bit what a kernel would compute.
bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number);

}  // namespace sinter::ops
