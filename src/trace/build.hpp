// Making nodes: every function returns the simplest node with the value asked for, which may be one that exists already.
// Operands fit (types, shapes, axes were checked); public functions check and then call these.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// Links a new node to its operands and asks for an evaluation when the chain is long.
RecordedPtr record(RecordedPtr node, Operands&& inputs);

// --- leaves
/// Host memory for elements that are there before anything runs; DeviceError with the site where there is none.
StoragePtr host_storage(const Site& site, std::size_t bytes);
RecordedPtr make_data(const Site& site, DType dtype, Shape shape, StoragePtr storage);
RecordedPtr make_constant(const Site& site, const Scalar& value, const Shape& shape);
RecordedPtr make_constant(const Site& site, const Scalar& value, ShapePtr shape);
RecordedPtr make_iota(const Site& site, std::int64_t count);

// --- elementwise: inputs of the node's shape and of one type (but where's condition)
RecordedPtr make_elementwise(const Site& site, Op op, Operands&& inputs);
RecordedPtr make_cast(const Site& site, const RecordedPtr& x, DType dtype);

// --- views
RecordedPtr make_reshape(const Site& site, const RecordedPtr& x, std::span<const std::int64_t> shape);
inline RecordedPtr make_reshape(const Site& site, const RecordedPtr& x, const Shape& shape) {
  return make_reshape(site, x, std::span<const std::int64_t>(shape));
}
RecordedPtr make_permute(const Site& site, const RecordedPtr& x, const std::vector<std::int64_t>& axes);
RecordedPtr make_broadcast(const Site& site, const RecordedPtr& x, const Shape& shape);
RecordedPtr make_broadcast(const Site& site, const RecordedPtr& x, const ShapePtr& shape);
/// start_step: [2k] start, [2k+1] step of axis k. All of x is x, or with `keep_whole` a slice too.
RecordedPtr make_slice(const Site& site, const RecordedPtr& x, std::vector<std::int64_t> start_step, Shape shape, bool keep_whole = false);
/// x in the midst of `fill`, before_after: [2k] elements of it before x, [2k+1] after it along axis k.
RecordedPtr make_pad(const Site& site, const RecordedPtr& x, const RecordedPtr& fill, std::vector<std::int64_t> before_after);
/// All windows along the axis: `count` of them, `stride` apart, each of `width` elements `dilation` apart, which are a new last axis.
RecordedPtr make_windows(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t count, std::int64_t stride, std::int64_t width,
                         std::int64_t dilation);
RecordedPtr make_contiguous(const Site& site, const RecordedPtr& x);

// --- reductions and library calls
/// axes ascending, not empty. Of nothing: sums and products alone (the others have no value, which the caller says).
RecordedPtr make_reduction(const Site& site, Op op, const RecordedPtr& x, std::vector<std::int64_t> axes);
/// x[.., index[.., i, ..], ..] along the axis; int64 indices of the result's shape, negative ones already counted from the front.
RecordedPtr make_gather(const Site& site, const RecordedPtr& x, const RecordedPtr& index, std::int64_t axis);
/// Each element combined by a reduction with all before it along the axis.
RecordedPtr make_scan(const Site& site, Op reduction, const RecordedPtr& x, std::int64_t axis);
RecordedPtr make_library(const Site& site, Op op, Operands operands, std::vector<std::int64_t> ints = {});

// --- from arguments
[[noreturn]] void refuse_empty_handle(const Site& site);
/// The node of a tensor argument; ValueError for an empty handle.
inline const RecordedPtr& node_of(const Site& site, const Tensor& tensor) {
  if (tensor.node() == nullptr) refuse_empty_handle(site);
  return tensor.node();
}
/// The shape of an argument; () for a scalar.
const Shape& shape_of(const Site& site, const Arg& arg);
/// True if an integer argument is a value of the type.
bool fits(const Arg& arg, DType dtype);
/// True if a whole number is a value of the integer type.
bool holds(DType dtype, double whole);
/// The argument as a literal of the type; ValueError for an integer that does not fit.
Scalar literal(const Site& site, const Arg& arg, DType dtype);
/// The argument cast to a type and broadcast to a shape.
RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const Shape& shape);
RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const ShapePtr& shape);
/// The argument as a node; a scalar becomes a 0-d constant of bool, int64 (uint64 where only that holds it) or its own floating type.
RecordedPtr as_node(const Site& site, const Arg& arg);
/// The one of two shapes that both broadcast to; null where it is neither.
const Shape* broader(const Shape& a, const Shape& b);
/// The shape that operands broadcast to; ShapeError naming the axis where they do not.
Shape broadcast_shape(const Site& site, std::span<const Shape* const> shapes);
/// The axes, checked, ascending and counted from the front; `all` gives all of them.
std::vector<std::int64_t> checked_axes(const Site& site, const Axes& axes, std::int64_t ndim);
/// Those of a reduction: of a 0-d tensor axis 0 or -1 is none, as in NumPy.
std::vector<std::int64_t> reduced_axes(const Site& site, const Axes& axes, std::int64_t ndim);
/// The shape with its -1 filled in so that it holds what `from` holds; ShapeError where it does not.
Shape completed_shape(const Site& site, const Shape& from, Shape shape);
/// One axis, checked and counted from the front.
std::int64_t checked_axis(const Site& site, std::int64_t axis, std::int64_t ndim);
/// Throws ShapeError for a negative size or for a count of elements beyond 2^62 bytes; where a size is 0, the others are held to it too.
void check_shape(const Site& site, const Shape& shape, DType dtype);
/// Recording takes work for each of so many `what`, "sections": ValueError for more than `most`.
inline constexpr std::int64_t kMostParts = std::int64_t{1} << 20;
void check_parts(const Site& site, std::int64_t count, std::string_view what, std::int64_t most = kMostParts);
/// The product of two sizes; ShapeError where int64 does not hold it.
std::int64_t size_product(const Site& site, std::int64_t a, std::int64_t b);
/// A number without its fraction as an integer; ValueError, with the argument's name, for NaN and for what int64 does not hold.
std::int64_t whole(const Site& site, double number, std::string_view argument);

/// The value of an op on literals of its operand type, when it is certain to the last bit what an executor computes.
/// Returns false otherwise. `result` has the type the op gives.
bool fold(Op op, std::span<const Scalar> operands, Scalar& result);
bool fold_cast(const Scalar& x, DType dtype, Scalar& result);
/// True if every value of `from` is a value of `to`.
bool lossless(DType from, DType to);

}  // namespace sinter::trace
