// The graph that scheduling works on: a recorded graph whose numbers have become symbols.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fuse/size.hpp"
#include "trace/graph.hpp"

namespace sinter::fuse {

/// As trace::Node, with sizes for numbers. What counts axes stays a number.
struct Node {
  trace::Op op{};
  DType dtype = DType::float32;
  Sizes shape;
  Size elements;  // of the shape
  std::vector<int> inputs;
  std::vector<Size> ints;
  /// permute, reduce_*: the axes; gather: the axis; scan: the axis and the reduction.
  int axis(std::size_t k) const { return static_cast<int>(ints[k].hint()); }
  std::vector<int> axes() const;
  trace::Scalar scalar;
  bool made = false;  // constant: put in by a rewrite; its value is part of the plan
  int leaf = -1;
  int call = -1;              // library ops: number among the recorded graph's, by which a refusal finds the line that recorded it
  Size chunk;                 // reduce_*: 0, or the length of the pieces of a two-stage reduction's first stage; scan: of those scanned by themselves
  bool chunks_first = false;  // reduce_* in chunks: their number is the result's first axis, not its last
  std::size_t chunks_axis() const { return chunks_first ? 0 : shape.size() - 1; }
  int from = -1;  // the recorded node that it computes, or is a part of; its line is in the recording
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> outputs;
  int leaves = 0;
  std::shared_ptr<SizeSpace> space;  // owns the sizes
};
std::string to_string(const Graph& graph);
std::string to_string(const Sizes& shape);  // "(4096, 1024)", today's

/// A recorded graph over symbols (trace/symbols.hpp), in the order in which an Outline of the same nodes has their values.
Graph symbolic(const trace::Graph& graph);

}  // namespace sinter::fuse
