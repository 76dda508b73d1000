// Graph: what was recorded, as a plain value. Nodes in topological order, referring to each other by number.
// Built from tensors by trace/outline.hpp, by hand in tests, and read by fuse/.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sinter/dtype.hpp"
#include "sinter/location.hpp"
#include "sinter/shape.hpp"
#include "trace/primitives.hpp"

namespace sinter::trace {

/// A literal. Floating dtypes keep `f`, a value of their type; bool and integers keep `i`, a uint64 its bits.
struct Scalar {
  DType dtype = DType::float64;
  double f = 0;
  std::int64_t i = 0;
  double as_double() const;
  /// The value as 8 bytes in the layout of its dtype (a narrower one in the low bytes), as kernels take it.
  std::uint64_t bits() const;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};
Scalar make_scalar(DType dtype, double f);
Scalar make_scalar_int(DType dtype, std::int64_t i);
/// What a reduction starts from: combined with any value it gives that value.
Scalar neutral(Op reduction, DType dtype);

/// One recorded operation. Elementwise ops take operands of their own shape (broadcasts are nodes) and of one dtype
/// (casts are nodes). Attributes by op, in `ints`:
///   reshape, broadcast, contiguous: none (the node's shape says all; broadcast pads missing leading axes, size 1 expands)
///   permute: axes, output axis k is input axis ints[k]
///   slice: ints[2k] start, ints[2k+1] step (may be negative) of axis k; output size is the node's shape
///   windows: an axis, a stride and a dilation; place (.., o, .., k) is the operand's (.., o * stride + k * dilation, ..): the axis counts
///     windows, a new last one the elements of each
///   reduce_*: the reduced axes, ascending; the result has them removed
///   a two-stage reduction's first stage (made by fuse/): chunk > 0, see `chunk`
///   pad: ints[2k] before and ints[2k+1] after axis k; the first operand in the midst of the second, which has the result's shape
///   gather: the axis; result[.., i, ..] = x[.., index[.., i, ..], ..], x the first operand, index the second: int64, of the
///     result's shape; along the other axes x has the result's sizes. An index out of range is an IndexError when it is computed.
///   scan: the axis, and the reduction (an Op) that combines all elements up to each. With chunk > 0 (made by fuse/) each piece of that
///     length is scanned by itself, from a value of the second operand on: of shape (other axes.., pieces), of type scan_carry
///   iota: none; a 1-D int64 tensor 0, 1, 2, ...
///   data: none; a contiguous row-major buffer, number `leaf` of the graph
///   conv: as trace::Convolution holds them (library.hpp)
///   recurrence: as trace::Recurrence does
///   argsort: none, or how many of the first places, and whether of the largest. Other library ops: none; their operands are of shapes that need no broadcast,
///   and of one dtype (but scatter's second, int64):
///     scatter, scatter_add: (n, m), (k), (k, m); row index[i] of the first replaced by, or added to, row i of the third, one after the
///     other; an index that is not in [0, n) is passed over
struct Node {
  Op op{};
  DType dtype = DType::float32;
  Shape shape;
  std::vector<int> inputs;
  std::vector<std::int64_t> ints;
  Scalar scalar;            // constant: every element's value
  int leaf = -1;            // data: index of the buffer
  std::int64_t chunk = 0;   // reduce_*: the single reduced axis is cut in chunks of this length, one partial result
                            // each; the result has the chunk number as its last axis. scan: see there
  const char* called = "";  // the function that recorded it
  Location where;
};

/// How many elements of its operand lie in front of what a node that takes a part of it takes, and behind it: of slice, windows, and argsort of the first
/// few. Below 0: it would read outside.
std::vector<std::int64_t> elements_left(const Node& node, const Shape& operand);

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> outputs;
  int leaves = 0;
};

using sinter::to_string;  // of shapes
/// One line per node: "%3 = add float32 (4096, 1024) %1 %2".
std::string to_string(const Graph& graph);

}  // namespace sinter::trace
