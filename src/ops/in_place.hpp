// Small assignments to elements to which no other handle refers are written in place and not recorded.
//
// `for (i..) for (j..) x(i, j) = f(i, j)` would record a pad for every element, and plan a kernel for every hundred of them. If only the assigned handle refers
// to the elements, a changed value cannot be distinguished from a new one. docs/decisions.md says when the value is evaluated for this.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/recording.hpp"
#include "ops/selection.hpp"
#include "sinter/tensor.hpp"
#include "trace/record.hpp"

namespace sinter::ops {

/// Evaluates a large value with eight pending assignments to parts, or with one at integer indices, which copies it, so that the next ones are written into it.
/// One kernel with all of them would test at each element in which part it lies.
void settle(const RecordedPtr& node);

/// Writes the value to the block and returns true if this is possible: the block is small, the value is a number, is evaluated or is worth evaluating now, and
/// only this handle refers to the elements, which are in host memory without other users, or have only pending small assignments. The caller has checked that
/// the value's type and shape fit.
bool write_in_place(const Site& site, Tensor& whole, const Selection& block, const RecordedPtr& value);

/// Returns whether to evaluate what an assignment reads now, and write it into the whole's elements: these are so many that a copy takes longer than the
/// evaluation, they are in memory (or will be, after some assignments), and no other node has them.
bool is_worth_evaluating(const Recorded& whole);
/// Writes rows of `columns` elements at the rows with these numbers, in order, and returns true, under the same conditions.
bool write_rows_in_place(const Site& site, Tensor& whole, const RecordedPtr& places, const RecordedPtr& value, std::int64_t columns);

/// Does the same as write_in_place for `x(i, j) += 2`: applies op to each element and a number of its type, if the result is certain to equal a kernel's to the
/// last bit.
bool update_in_place(const Site& site, Tensor& whole, const Selection& block, Op op, const Scalar& number);

}  // namespace sinter::ops
