// Graph: operations as a plain value. Nodes are in topological order and refer to each other by number. trace/structural_key.hpp builds graphs from tensors,
// tests build them by hand, and fuse/ rewrites and schedules them. The numbers of a recorded graph are constants; symbolic() replaces those that may change by
// symbols.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sinter/dtype.hpp"
#include "sinter/shape.hpp"
#include "trace/primitives.hpp"
#include "trace/size.hpp"

namespace sinter::trace {

/// A literal. Floating dtypes use `f`, a value of their type; bool and integers use `i`, which for uint64 holds its bits.
struct Scalar {
  DType dtype = DType::float64;
  double f = 0;
  std::int64_t i = 0;
  double as_double() const;
  /// Returns the value as 8 bytes in the layout of its dtype (a narrower one in the low bytes), which is the form for kernels.
  std::uint64_t bits() const;
  friend bool operator==(const Scalar&, const Scalar&) = default;
};
Scalar make_scalar(DType dtype, double f);
Scalar make_scalar_int(DType dtype, std::int64_t i);
/// Returns the neutral element of a reduction: combined with any value it gives that value.
Scalar neutral(Op reduction, DType dtype);

/// One recorded operation. Elementwise ops take operands of their own shape (broadcasts are nodes) and of one dtype
/// (casts are nodes). Attributes by op, in `ints`:
///   reshape, broadcast, contiguous: none (the node's shape suffices; broadcast adds missing leading axes, size 1 expands)
///   permute: axes, output axis k is input axis ints[k]
///   slice: ints[2k] start, ints[2k+1] step (may be negative) of axis k; output size is the node's shape
///   windows: an axis, a stride and a dilation; place (.., o, .., k) is the operand's (.., o * stride + k * dilation, ..): the axis counts windows, and
///     a new last one counts the elements of each
///   reduce_*: the reduced axes, ascending; the result has them removed
///   pad: ints[2k] before and ints[2k+1] after axis k; the second operand, which has the result's shape, surrounds the first
///   gather: the axis; result[.., i, ..] = x[.., index[.., i, ..], ..], x the first operand, index the second: int64, of the result's shape; along the
///     other axes x has the result's sizes. An index out of range throws IndexError when the value is computed.
///   scan: the axis, and the reduction (an Op) that combines all elements up to each. With chunk > 0 (made by fuse/) each piece of that length is
///     scanned separately and starts from a value of the second operand: of shape (other axes.., pieces), of type scan_carry
///   iota: none; a 1-D int64 tensor 0, 1, 2, ...
///   data: none; a contiguous row-major buffer, number `leaf` of the graph
///   conv: those of trace::Convolution (library.hpp)
///   recurrence: those of trace::Recurrence
///   argsort: none, or the number of places to return, and whether those of the largest. Other library ops: none; their operands need no broadcast
///     and have one dtype (but scatter's second, int64):
///     scatter, scatter_add, scatter_prod, scatter_min, scatter_max: (n, m), (k), (k, m); row i of the third replaces row index[i] of the first, or is
///       combined with it, one after the other; an index outside of [0, n) is skipped
///     invert_index, made by fuse/: (k), (n), of which only the length counts; n + 1 starts, then the k places of the index ordered by the row that each
///       names, and by number: those of row r lie at starts[r] up to starts[r + 1] of these. Places of indices outside of [0, n) are last.
struct Node {
  Op op{};
  DType dtype = DType::float32;
  Sizes shape;
  Size elements;  // number of elements; symbolic() and fuse/ set it
  std::vector<int> inputs;
  std::vector<Size> ints;
  /// permute, reduce_*: the axes; gather: the axis; scan: the axis and the reduction. These are constants.
  int axis(std::size_t k) const { return static_cast<int>(ints[k].hint()); }
  std::vector<int> axes() const;
  Scalar scalar;      // constant: every element's value
  bool made = false;  // a constant of a rewrite, whose value is part of the plan; or a gather of a rewrite, whose indices are in range
  int leaf = -1;      // data: index of the buffer
  int call = -1;      // library ops: the number among the recorded graph's calls, with which an error finds the recorded line; symbolic() sets it
  // reduce_*, made by rewrites: with two further operands, int64 values of the result's shape, the first operand is neutral along the single reduced axis
  // outside of the positions [second, third); `taken` is the mean number of these positions.
  Size taken;
  bool has_range() const { return is_reduction(op) && inputs.size() == 3; }
  Size chunk;  // reduce_*: 0, or the length of the pieces into which the single reduced axis is divided, with one partial result each; scan: see above
  bool chunks_first = false;  // reduce_* in chunks: the chunks are the result's first axis, not its last
  std::size_t chunks_axis() const { return chunks_first ? 0 : shape.size() - 1; }
  int from = -1;  // the recorded node that this node computes, or of which it is a part, for its source line; symbolic() sets it
};

/// Returns how many elements of the operand are before and after the part that is read by a slice, by windows, or by an argsort of the first elements. A
/// negative number means that the node would read outside.
std::vector<std::int64_t> elements_left(const Node& node, const Sizes& operand);

/// The number of changes that a pass made to the recording (fuse/passes.hpp).
struct PassCount {
  std::string name;
  int count = 0;
  friend bool operator==(const PassCount&, const PassCount&) = default;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> outputs;
  int leaves = 0;
  std::vector<PassCount> passes = {};     // passes that changed the recording
  std::shared_ptr<SizeSpace> space = {};  // owns the symbols; null if all numbers are constants
  std::vector<Size> recorded = {};        // the number of elements of each recorded node (Node::from); symbolic() sets it, and rewrites keep it
};

/// Replaces the numbers of a recorded graph by symbols of a new space (symbols.hpp), in the order in which a Traversal of the same nodes has their values.
Graph symbolic(Graph graph);

using sinter::to_string;                    // a list of sizes, for shapes
std::string to_string(const Sizes& shape);  // the present sizes, such as "(4096, 1024)"
/// Writes one line per node: "%3 = add float32 (4096, 1024) %1 %2".
std::string to_string(const Graph& graph);

}  // namespace sinter::trace
