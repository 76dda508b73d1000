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
  Size chunk;  // reduce_*: 0, or the length of the pieces of a two-stage reduction's first stage; scan: of those scanned by themselves
  Location where;
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<int> outputs;
  int leaves = 0;
  std::shared_ptr<SizeSpace> space;  // owns the sizes
};
std::string to_string(const Graph& graph);
std::string to_string(const Sizes& shape);  // "(4096, 1024)", today's

/// A recorded graph's structure and its numbers apart. Equal sizes are one symbol, because sizes that are equal once mostly are
/// always; 0 and 1 are no symbols, because they mean something else. A start of a slice that is not 0 is a symbol of its own; starts of one
/// node that are near each other are one, and their distances structure.
struct Structure {
  std::string key;                    // equal keys: equal but for literals, source lines and the symbols' values
  std::vector<std::int64_t> symbols;  // values, in the order of the symbols of graph()
};
Structure structure_of(const trace::Graph& graph);
/// The graph over symbols in the order of structure_of(graph).symbols.
Graph symbolic(const trace::Graph& graph);

}  // namespace sinter::fuse
