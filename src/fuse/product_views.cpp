// Moves views of products of matrices to the products' operands.
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fuse/rebuild.hpp"
#include "fuse/rewrite.hpp"

namespace sinter::fuse {
namespace {

bool is_unit_step_slice(const Node& view) {
  if (view.op != Op::slice) return false;
  for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
    if (!(view.ints[2 * axis + 1] == 1)) return false;
  return true;
}

bool is_transposition(const Node& view) {
  if (view.op != Op::permute) return false;
  std::vector<int> axes = view.axes();
  std::swap(axes[axes.size() - 2], axes[axes.size() - 1]);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] != static_cast<int>(axis)) return false;
  return true;
}

/// Returns the number of each view that is moved, with the number of its product, which has no other reader.
std::unordered_map<int, int> moved_views(const Graph& graph, const Limits& limits) {
  std::vector<int> readers(graph.nodes.size());
  std::vector<char> has_operation(graph.nodes.size());  // a reader that is no library call, or the caller, who wants the elements in order
  for (const Node& node : graph.nodes)
    for (int input : node.inputs) {
      ++readers[input];
      has_operation[input] |= !trace::is_library(node.op);
    }
  for (int output : graph.outputs) {
    ++readers[output];
    has_operation[output] = true;
  }
  std::unordered_map<int, int> views;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& view = graph.nodes[id];
    if (view.op != Op::slice && view.op != Op::permute) continue;
    const Node& product = graph.nodes[view.inputs[0]];
    if (product.op != Op::matmul || readers[view.inputs[0]] != 1 || view.elements == 0) continue;
    const auto pays = [&] {  // a call reads a transposed product in place
      return has_operation[id] && is_floating(product.dtype) && graph.nodes[product.inputs[0]].shape.back() <= limits.transposed_depth;
    };
    if (is_unit_step_slice(view) || (is_transposition(view) && pays())) views.emplace(static_cast<int>(id), view.inputs[0]);
  }
  return views;
}

/// Returns the part of a product's operand that a slice of the product reads: all of the summed axis.
int part_of_operand(Graph& graph, const Node& view, int operand, std::size_t summed_axis) {
  Sizes shape = view.shape;
  shape[summed_axis] = graph.nodes[operand].shape[summed_axis];
  if (shape == graph.nodes[operand].shape) return operand;
  const int part = push_view(graph, Op::slice, operand, shape, view.from);
  std::vector<Size> ints = view.ints;
  ints[2 * summed_axis] = 0;
  ints[2 * summed_axis + 1] = 1;
  graph.nodes[part].ints = std::move(ints);
  return part;
}

int transposed(Graph& graph, const Node& view, int operand) {
  Sizes shape = graph.nodes[operand].shape;
  std::swap(shape[shape.size() - 2], shape[shape.size() - 1]);
  const int result = push_view(graph, Op::permute, operand, std::move(shape), view.from);
  graph.nodes[result].ints = view.ints;
  return result;
}

}  // namespace

Graph move_views_to_operands(Graph graph, const Limits& limits) {
  for (auto views = moved_views(graph, limits); !views.empty(); views = moved_views(graph, limits)) {
    std::unordered_map<int, Node> products;  // by their numbers, with operands in the new graph
    for (const auto& [view, product] : views) products.emplace(product, Node());
    int id = -1;
    graph = rebuild(
        std::move(graph), [](const Node&) { return true; },
        [&](Graph& out, Node node) {
          ++id;
          if (const auto product = products.find(id); product != products.end()) {
            product->second = std::move(node);
            return -1;  // nobody but the view reads it
          }
          const auto view = views.find(id);
          if (view == views.end()) return push(out, std::move(node));
          Node product = std::move(products.at(view->second));
          const std::size_t rank = node.shape.size();
          if (node.op == Op::slice)
            product.inputs = {part_of_operand(out, node, product.inputs[0], rank - 1), part_of_operand(out, node, product.inputs[1], rank - 2)};
          else product.inputs = {transposed(out, node, product.inputs[1]), transposed(out, node, product.inputs[0])};
          product.shape = node.shape;
          return push(out, std::move(product));
        });
  }
  return graph;
}

}  // namespace sinter::fuse
