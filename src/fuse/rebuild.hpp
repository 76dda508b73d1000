// Helpers of graph rewrites.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "fuse/graph.hpp"

namespace sinter::fuse {

using trace::Op;

/// Rebuilds a graph node by node if one of the nodes is to be `changed`. `emit` may add further nodes, and returns the number of the node that replaces the old
/// one.
template <class Changed, class Emit> Graph rebuild(Graph graph, Changed changed, Emit emit) {
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), changed)) return graph;
  Graph result;
  result.nodes.reserve(graph.nodes.size());
  result.leaves = graph.leaves;
  result.space = graph.space;
  result.recorded = std::move(graph.recorded);
  std::vector<int> moved(graph.nodes.size());
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    Node node = std::move(graph.nodes[id]);
    for (int& input : node.inputs) input = moved[input];
    moved[id] = emit(result, std::move(node));
  }
  for (int output : graph.outputs) result.outputs.push_back(moved[output]);
  return result;
}

inline int push(Graph& graph, Node node) {
  node.elements = element_count(node.shape);
  graph.nodes.push_back(std::move(node));
  return static_cast<int>(graph.nodes.size()) - 1;
}

inline int push_constant(Graph& graph, trace::Scalar value, int from) {
  Node constant;
  constant.op = Op::constant;
  constant.dtype = value.dtype;
  constant.scalar = value;
  constant.made = true;
  constant.from = from;
  return push(graph, std::move(constant));
}

inline int push_view(Graph& graph, Op op, int input, Sizes shape, int from) {
  Node view;
  view.op = op;
  view.dtype = graph.nodes[input].dtype;
  view.shape = std::move(shape);
  view.inputs = {input};
  view.from = from;
  return push(graph, std::move(view));
}

/// Returns the reduction over one axis of the input, divided into chunks: a partial result of each along a last axis or (`first`) a first one. If the chunks
/// are the first axis, elements that are adjacent along another axis stay adjacent in the partial results.
inline Node in_chunks(const Graph& graph, Node reduction, int input, int axis, const Size& chunk, bool first = false) {
  Sizes shape = graph.nodes[input].shape;
  const Size length = shape[axis];
  shape.erase(shape.begin() + axis);
  shape.insert(first ? shape.begin() : shape.end(), (length + chunk - 1) / chunk);
  reduction.chunks_first = first;
  reduction.inputs = {input};
  reduction.ints = {axis};
  reduction.chunk = chunk;
  reduction.shape = std::move(shape);
  return reduction;
}

}  // namespace sinter::fuse
