// Views of products. A view that only reorders or cuts the rows, the columns and the batch of a product is a product of views of the operands, which a library
// reads in place: (a b)^T is b^T a^T, and some rows of a b are these rows of a, times b. The result is then read in the order in which the library computes it,
// so that the operations on it can be its epilogue, and nothing is computed for no reader.
#include <algorithm>

#include "fuse/costs.hpp"
#include "fuse/library_call.hpp"
#include "fuse/rebuild.hpp"
#include "fuse/rewrite.hpp"

namespace sinter::fuse {
namespace {

/// Returns whether the view keeps the last two axes the last ones, and what is left contiguous.
bool moves_into_product(const Node& view) {
  const std::size_t rank = view.shape.size();
  if (view.op == Op::permute)
    return std::max(view.axis(rank - 1), view.axis(rank - 2)) == static_cast<int>(rank) - 1 &&
           view.axis(rank - 1) + view.axis(rank - 2) == 2 * static_cast<int>(rank) - 3;
  if (view.op != Op::slice) return false;
  for (std::size_t axis = 0; axis < rank; ++axis)
    if (!view.ints[2 * axis + 1].same(1)) return false;
  return true;
}

bool transposes(const Node& view) { return view.op == Op::permute && view.axis(view.shape.size() - 1) != static_cast<int>(view.shape.size()) - 1; }

/// Adds a view of an operand of a product: the order, or the part, that a view of the product has along the batch and along one of the last two axes.
/// `own`: the axis of the product that the operand has, too.
int view_of_operand(Graph& out, const Node& view, int operand, std::size_t own) {
  const Sizes shape = out.nodes[static_cast<std::size_t>(operand)].shape;
  const std::size_t rank = shape.size();
  Node moved = view;
  moved.dtype = out.nodes[static_cast<std::size_t>(operand)].dtype;
  moved.inputs = {operand};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (view.op == Op::permute) {
      moved.shape[axis] = shape[static_cast<std::size_t>(view.axis(axis))];
    } else if (axis + 2 >= rank && axis != own) {
      moved.shape[axis] = shape[axis];
      moved.ints[2 * axis] = 0;
    }
  }
  return push(out, std::move(moved));
}

}  // namespace

Graph move_views_into_products(Graph graph, const Limits& limits) {
  const auto by_library = [&](const Node& node) { return node.op == Op::matmul && has_library(limits, Op::matmul, node.dtype); };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), by_library)) return graph;
  constexpr int kNone = -1, kSeveral = -2;
  std::vector<int> user(graph.nodes.size(), kNone);
  for (std::size_t id = 0; id < graph.nodes.size(); ++id)
    for (const int input : graph.nodes[id].inputs)
      user[static_cast<std::size_t>(input)] = user[static_cast<std::size_t>(input)] == kNone ? static_cast<int>(id) : kSeveral;
  for (const int output : graph.outputs) user[static_cast<std::size_t>(output)] = kSeveral;
  std::vector<std::vector<Node>> views(graph.nodes.size());  // of each product: those that only one node reads, one of the other
  std::vector<char> moved(graph.nodes.size());
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    if (!by_library(graph.nodes[id])) continue;
    const Size& depth = graph.nodes[static_cast<std::size_t>(graph.nodes[id].inputs[0])].shape.back();
    const auto moves = [&](const Node& view) {
      const Estimating estimate;
      return moves_into_product(view) && (!transposes(view) || !limits.library_calls || depth <= costs::kShallowProduct);
    };
    for (int next = user[id]; next >= 0 && moves(graph.nodes[static_cast<std::size_t>(next)]); next = user[static_cast<std::size_t>(next)]) {
      views[id].push_back(graph.nodes[static_cast<std::size_t>(next)]);
      moved[static_cast<std::size_t>(next)] = 1;
    }
  }
  if (std::none_of(moved.begin(), moved.end(), [](char is) { return is != 0; })) return graph;
  std::size_t id = 0;
  return rebuild(std::move(graph), by_library, [&](Graph& out, Node node) {
    const std::size_t here = id++;
    if (moved[here]) return node.inputs[0];
    const std::size_t rank = node.shape.size();
    for (const Node& view : views[here]) {
      int left = view_of_operand(out, view, node.inputs[0], rank - 2), right = view_of_operand(out, view, node.inputs[1], rank - 1);
      if (transposes(view)) std::swap(left, right);
      node.inputs = {left, right};
      node.shape = view.shape;
    }
    return push(out, std::move(node));
  });
}

}  // namespace sinter::fuse
