// Construction of nodes: every function returns the simplest node with the required value, which may be an existing one. Operands must fit (types, shapes and
// axes are checked by the public functions, which then call these).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"
#include "trace/record.hpp"
#include "trace/site.hpp"

namespace sinter::trace {

/// Links a new node to its operands, and requests an evaluation if the chain is long.
RecordedPtr record(RecordedPtr node, Operands&& inputs);
/// Records the same operation on other operands with the same shapes and types; for a view the types may differ.
RecordedPtr with_operands(const Recorded& node, Operands&& inputs);

// --- leaves
/// Allocates host memory for existing elements. Throws DeviceError with the site if that fails.
StoragePtr host_storage(const Site& site, std::size_t bytes);
RecordedPtr make_data(const Site& site, DType dtype, Shape shape, StoragePtr storage, std::shared_ptr<void> history = {});
RecordedPtr make_constant(const Site& site, const Scalar& value, const Shape& shape);
RecordedPtr make_constant(const Site& site, const Scalar& value, ShapePtr shape);
RecordedPtr make_iota(const Site& site, std::int64_t count);

// --- elementwise: inputs have the node's shape and one type (except where's condition)
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
/// Makes a slice. start_step: [2k] start, [2k+1] step of axis k. If the slice takes all of x, the result is x, unless `keep_whole`.
RecordedPtr make_slice(const Site& site, const RecordedPtr& x, std::vector<std::int64_t> start_step, Shape shape, bool keep_whole = false);
/// Surrounds x by elements of `fill`. before_after: [2k] elements before x, [2k+1] after it along axis k.
RecordedPtr make_pad(const Site& site, const RecordedPtr& x, const RecordedPtr& fill, std::vector<std::int64_t> before_after);
/// Makes all windows along the axis: `count` of them, `stride` apart, each of `width` elements `dilation` apart, which form a new last axis.
RecordedPtr make_windows(const Site& site, const RecordedPtr& x, std::size_t axis, std::int64_t count, std::int64_t stride, std::int64_t width,
                         std::int64_t dilation);
RecordedPtr make_contiguous(const Site& site, const RecordedPtr& x);

// --- reductions and library calls
/// Reduces over axes, which are ascending and not empty. Only sums and products may have no elements (the others then have no value, which the caller reports).
RecordedPtr make_reduction(const Site& site, Op op, const RecordedPtr& x, std::vector<std::int64_t> axes);
/// Returns x[.., index[.., i, ..], ..] along the axis; int64 indices of the result's shape; negative ones are already converted.
RecordedPtr make_gather(const Site& site, const RecordedPtr& x, const RecordedPtr& index, std::int64_t axis);
/// Combines each element with all before it along the axis by a reduction.
RecordedPtr make_scan(const Site& site, Op reduction, const RecordedPtr& x, std::int64_t axis);
RecordedPtr make_library(const Site& site, Op op, Operands operands, std::vector<std::int64_t> ints = {});

// --- from arguments
[[noreturn]] void refuse_empty_handle(const Site& site);
/// Returns the node of a tensor argument. Throws ValueError for an empty handle.
inline const RecordedPtr& node_of(const Site& site, const Tensor& tensor) {
  if (tensor.node() == nullptr) refuse_empty_handle(site);
  return tensor.node();
}
/// Returns the shape of an argument; () for a scalar.
const Shape& shape_of(const Site& site, const Arg& arg);
/// Returns true if an integer argument is a value of the type.
bool fits(const Arg& arg, DType dtype);
/// Returns true if a whole number is a value of the integer type.
bool holds(DType dtype, double whole);
/// Converts the argument to a literal of the type. Throws ValueError for an integer that does not fit.
Scalar literal(const Site& site, const Arg& arg, DType dtype);
/// Casts the argument to a type and broadcasts it to a shape.
RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const Shape& shape);
RecordedPtr operand(const Site& site, const Arg& arg, DType dtype, const ShapePtr& shape);
/// Returns the argument as a node; a scalar becomes a 0-d constant of bool, int64 (uint64 where only that holds it) or its own floating type.
RecordedPtr as_node(const Site& site, const Arg& arg);
/// Returns the one of two shapes to which both broadcast, or null if there is none.
const Shape* broader(const Shape& a, const Shape& b);
/// Returns the shape to which operands broadcast. Throws ShapeError, which names the axis, if they do not. `whole`: for the message, shapes of matrices whose
/// first axes these are.
Shape broadcast_shape(const Site& site, std::span<const Shape* const> shapes, std::span<const Shape* const> whole = {});
/// Checks the axes and returns them ascending, counted from the front; `all` gives all of them.
std::vector<std::int64_t> checked_axes(const Site& site, const Axes& axes, std::int64_t ndim);
/// Does the same for a reduction: for a 0-d tensor axis 0 or -1 means no axis, as in NumPy.
std::vector<std::int64_t> reduced_axes(const Site& site, const Axes& axes, std::int64_t ndim);
/// Replaces the -1 of the shape so that it has as many elements as `from`. Throws ShapeError if that is impossible.
Shape completed_shape(const Site& site, const Shape& from, Shape shape);
/// Checks one axis and counts it from the front.
std::int64_t checked_axis(const Site& site, std::int64_t axis, std::int64_t ndim);
/// Throws ShapeError for a negative size or more elements than fit in 2^62 bytes; where a size is 0, the product of the others is checked, too.
void check_shape(const Site& site, const Shape& shape, DType dtype);
/// Throws ValueError for more than `limit` of `what`, such as "sections", because recording each costs time.
inline constexpr std::int64_t kMaxParts = std::int64_t{1} << 20;
void check_parts(const Site& site, std::int64_t count, std::string_view what, std::int64_t limit = kMaxParts);
/// Returns the product of two sizes. Throws ShapeError if it does not fit in int64.
std::int64_t size_product(const Site& site, std::int64_t a, std::int64_t b);
/// Returns a number without its fraction as an integer. Throws ValueError, with the argument's name, for NaN and for numbers that do not fit in int64.
std::int64_t whole(const Site& site, double number, std::string_view argument);

/// Computes an op on literals of its operand type, if the result is certain to equal an executor's to the last bit. Returns false otherwise. `result` has the
/// type of the op's result.
bool fold(Op op, std::span<const Scalar> operands, Scalar& result);
bool fold_cast(const Scalar& x, DType dtype, Scalar& result);
/// Returns true if every value of `from` is a value of `to`.
bool lossless(DType from, DType to);

}  // namespace sinter::trace
