// Small assignments to elements to which no other handle refers are written in place and not recorded.
//
// `for (i..) for (j..) x(i, j) = f(i, j)` would record a pad for every element, and plan a kernel for every hundred of them. If only the assigned handle refers
// to the elements, a changed value cannot be distinguished from a new one.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "ops/selection.hpp"
#include "sinter/tensor.hpp"
#include "trace/record.hpp"

namespace sinter::ops {

/// Writes the value to the block and returns true if this is possible: the block is small, the value is a number or a few evaluated elements, and only this
/// handle refers to the elements, which are in host memory without other users, or have only pending small assignments. The caller has checked that the value's
/// type and shape fit.
bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value);

/// Does the same for `x(i, j) += 2`: applies op to each element and a number of its type, if the result is certain to equal a kernel's to the last bit.
bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number);

}  // namespace sinter::ops
