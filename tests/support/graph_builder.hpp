// Builds graphs by hand, for tests of the scheduler and of lowering.
#pragma once
#include <algorithm>
#include <set>
#include <vector>

#include "trace/graph.hpp"

namespace sinter::testing {

using trace::Graph;
using trace::Node;
using trace::Op;

struct GraphBuilder {
  Graph graph;

  int push(Node node) {
    graph.nodes.push_back(std::move(node));
    return static_cast<int>(graph.nodes.size()) - 1;
  }
  Shape shape(int id) const { return Shape(trace::hints(graph.nodes[id].shape)); }
  int data(Shape shape, DType dtype = DType::float32) {
    Node node;
    node.op = Op::data;
    node.dtype = dtype;
    node.shape = trace::sizes_of(shape);
    node.leaf = graph.leaves++;
    return push(node);
  }
  int literal(double value, Shape shape, DType dtype = DType::float32) {
    Node node;
    node.op = Op::constant;
    node.dtype = dtype;
    node.shape = trace::sizes_of(shape);
    node.scalar = is_floating(dtype) ? trace::make_scalar(dtype, value) : trace::make_scalar_int(dtype, static_cast<std::int64_t>(value));
    return push(node);
  }
  int op(Op op, std::vector<int> inputs) {
    Node node;
    node.op = op;
    node.shape = graph.nodes[inputs.back()].shape;
    node.dtype = trace::primitive(op).result == trace::Result::boolean ? DType::bool_ : graph.nodes[inputs.back()].dtype;
    node.inputs = std::move(inputs);
    return push(node);
  }
  int reduce(Op op, int input, std::vector<std::int64_t> axes) {
    Node node;
    node.op = op;
    node.dtype = graph.nodes[input].dtype;
    node.inputs = {input};
    node.ints = trace::sizes_of(axes);
    for (std::size_t k = 0; k < shape(input).size(); ++k)
      if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(k)) == axes.end()) node.shape.push_back(shape(input)[k]);
    return push(node);
  }
  int view(Op op, int input, Shape shape, std::vector<std::int64_t> ints = {}) {
    Node node;
    node.op = op;
    node.dtype = graph.nodes[input].dtype;
    node.shape = trace::sizes_of(shape);
    node.inputs = {input};
    node.ints = trace::sizes_of(ints);
    return push(node);
  }
  int broadcast(int input, Shape to) { return view(Op::broadcast, input, std::move(to)); }
  int reshape(int input, Shape to) { return view(Op::reshape, input, std::move(to)); }
  int permute(int input, std::vector<std::int64_t> axes) {
    Shape to;
    for (auto axis : axes) to.push_back(shape(input)[axis]);
    return view(Op::permute, input, to, axes);
  }
  /// Reduces over the last axis and broadcasts the result along it.
  int spread(int reduced, Shape like) {
    Shape kept = shape(reduced);
    kept.push_back(1);
    return broadcast(reshape(reduced, kept), std::move(like));
  }
  int softmax(int x) {
    const Shape like = shape(x);
    const auto last = static_cast<std::int64_t>(like.size()) - 1;
    const int shifted = op(Op::subtract, {x, spread(reduce(Op::reduce_max, x, {last}), like)});
    const int e = op(Op::exp, {shifted});
    return op(Op::divide, {e, spread(reduce(Op::reduce_sum, e, {last}), like)});
  }
  int matmul(int a, int b) {
    Node node;
    node.op = Op::matmul;
    node.dtype = graph.nodes[a].dtype;
    node.shape = graph.nodes[a].shape;
    node.shape.back() = graph.nodes[b].shape.back();
    node.inputs = {a, b};
    return push(node);
  }
  Graph done(std::vector<int> outputs) {
    graph.outputs = std::move(outputs);
    return graph;
  }
};

}  // namespace sinter::testing
