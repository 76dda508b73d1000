// Small assignments to elements that nobody else can see: they are written in place, not recorded.
//
// `for (i..) for (j..) x(i, j) = f(i, j)` would record a pad for every element, and plan a kernel for every hundred of them. If only the assigned handle holds
// the elements, nobody can distinguish a new value from the old one changed.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "ops/selection.hpp"
#include "sinter/tensor.hpp"
#include "trace/record.hpp"

namespace sinter::ops {

/// Writes the value to the block and returns true, if the block is small, the value is a number or a few evaluated elements, and the handle alone holds the
/// elements, in host memory that nothing else refers to, or waits only for small assignments to such elements. The caller has checked that the value's type and
/// shape fit.
bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value);

/// Does the same for `x(i, j) += 2`: applies op to each element and a number of its type, if the result is certain to equal a kernel's to the last bit.
bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number);

}  // namespace sinter::ops
