// The graph on which scheduling works: a recorded graph whose numbers are symbols.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuse/size.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

/// Like trace::Node, with sizes for numbers. Numbers that count axes stay numbers.
struct Node {
  trace::Op op{};
  DType dtype = DType::float32;
  Sizes shape;
  Size elements;  // number of elements
  std::vector<int> inputs;
  std::vector<Size> ints;
  /// permute, reduce_*: the axes; gather: the axis; scan: the axis and the reduction.
  int axis(std::size_t k) const { return static_cast<int>(ints[k].hint()); }
  std::vector<int> axes() const;
  trace::Scalar scalar;
  bool made = false;  // a constant of a rewrite, whose value is part of the plan; a gather of a rewrite, whose places are in range
  int leaf = -1;
  int call = -1;  // library ops: the number among the recorded graph's calls, which leads a refusal to the recorded line
  // reduce_*, made by rewrites: with two further operands, int64 values of the result's shape, the first one is neutral along the one reduced axis outside of
  // the places [second, third); `taken` is the mean number of these places.
  Size taken;
  bool has_range() const { return trace::is_reduction(op) && inputs.size() == 3; }
  Size chunk;  // reduce_*: 0, or the length of the pieces in the first stage of a two-stage reduction; scan: the length of pieces that are scanned separately
  bool chunks_first = false;  // reduce_* in chunks: the chunks are the result's first axis, not its last
  std::size_t chunks_axis() const { return chunks_first ? 0 : shape.size() - 1; }
  int from = -1;  // the recorded node that this node computes, or of which it is a part; it leads to the recorded line
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> outputs;
  int leaves = 0;
  std::shared_ptr<SizeSpace> space;  // owns the sizes
};
std::string to_string(const Graph& graph);
std::string to_string(const Sizes& shape);  // "(4096, 1024)", the present sizes

/// Converts a recorded graph to symbols (trace/symbols.hpp), in the order in which an Outline of the same nodes has their values.
Graph symbolic(const trace::Graph& graph);

}  // namespace sinter::fuse
