// Which axes a kernel runs over: decided by the reductions its root uses.
#include <algorithm>
#include <set>

#include "fuse/walk.hpp"

namespace sinter::fuse {
namespace {

using trace::Node;
using trace::Op;

struct Candidate {
  Domain domain;
  std::int64_t work;  // elements reduced
};

// A reduction met from the root at the given map. No value when it cannot share a kernel with the root.
std::optional<Candidate> fit(const trace::Graph& graph, const Node& root, const Node& reduction, const Map& map) {
  const Shape& input = graph.nodes[reduction.inputs[0]].shape;
  Shape reduced;
  for (auto axis : reduction.ints) reduced.push_back(input[axis]);
  const std::int64_t results = element_count(reduction.shape), extent = element_count(reduced);
  Candidate candidate{{}, results * extent};
  Domain& domain = candidate.domain;
  const int rank = static_cast<int>(root.shape.size());
  if (results == element_count(root.shape)) {  // the root is an epilogue: one value per row
    domain.parallel = root.shape;
    domain.row = reduced;
    for (int k = 0; k < rank; ++k) domain.root_axes.push_back(k);
    return candidate;
  }
  // The reduced value is spread again along the axes that its map does not depend on: those are the rows.
  std::vector<int> parallel, row;
  std::int64_t parallel_points = 1, row_points = 1;
  for (int axis = 0; axis < rank; ++axis) {
    const bool used = std::any_of(map.begin(), map.end(), [&](const IndexExpr& e) { return depends_on(e, axis); });
    if (used || root.shape[axis] == 1) {
      parallel.push_back(axis);
      parallel_points *= root.shape[axis];
    } else {
      row.push_back(axis);
      row_points *= root.shape[axis];
    }
  }
  if (parallel_points != results || row_points != extent) return std::nullopt;
  domain.root_axes.assign(rank, -1);
  for (int axis : parallel) {
    domain.root_axes[axis] = static_cast<int>(domain.parallel.size());
    domain.parallel.push_back(root.shape[axis]);
  }
  if (parallel.empty()) domain.parallel.push_back(1);
  for (int axis : row) {
    domain.root_axes[axis] = static_cast<int>(domain.parallel.size() + domain.row.size());
    domain.row.push_back(root.shape[axis]);
  }
  return candidate;
}

// The domain of a root that is met along the rows of a scan: dimension k of the scan runs along axis map[k] of the root.
std::optional<Candidate> fit_scan(const Node& root, const Node& scan, const Map& map) {
  if (element_count(scan.shape) != element_count(root.shape)) return std::nullopt;
  const int along = pure_axis(map[static_cast<std::size_t>(scan.ints[0])]);
  if (along < 0) return std::nullopt;
  Candidate candidate{{}, element_count(root.shape)};
  Domain& domain = candidate.domain;
  for (int k = 0; k < static_cast<int>(root.shape.size()); ++k) {
    domain.root_axes.push_back(static_cast<int>(domain.parallel.size()));
    if (k != along) domain.parallel.push_back(root.shape[k]);
  }
  if (domain.parallel.empty()) domain.parallel.push_back(1);
  domain.root_axes[along] = static_cast<int>(domain.parallel.size());
  domain.row = {root.shape[along]};
  return candidate;
}

Domain own_domain(const trace::Graph& graph, const Node& root) {
  Domain domain;
  if (root.op == Op::scan) {
    Map itself;
    for (std::size_t k = 0; k < root.shape.size(); ++k) itself.push_back(IndexExpr::of_axis(static_cast<int>(k)));
    return fit_scan(root, root, itself)->domain;
  }
  if (trace::is_reduction(root.op)) {
    const Shape& input = graph.nodes[root.inputs[0]].shape;
    if (root.chunk > 0) {
      // Chunks outermost: neighbours in memory stay neighbours along the last parallel axis.
      const int rank = static_cast<int>(root.shape.size());
      domain.parallel.push_back(root.shape.back());
      for (int k = 0; k + 1 < rank; ++k) {
        domain.parallel.push_back(root.shape[k]);
        domain.root_axes.push_back(k + 1);
      }
      domain.root_axes.push_back(0);
      domain.row = {root.chunk};
      return domain;
    }
    for (auto axis : root.ints) domain.row.push_back(input[axis]);
  }
  domain.parallel = root.shape;
  for (std::size_t k = 0; k < root.shape.size(); ++k) domain.root_axes.push_back(static_cast<int>(k));
  if (domain.parallel.empty()) domain.parallel.push_back(1);
  return domain;
}

}  // namespace

Domain choose_domain(const WalkContext& context, int root_id) {
  const trace::Graph& graph = *context.graph;
  const Node& root = graph.nodes[root_id];
  if (trace::is_reduction(root.op) || root.op == Op::scan) return own_domain(graph, root);

  Map start;
  for (std::size_t k = 0; k < root.shape.size(); ++k) start.push_back(IndexExpr::of_axis(static_cast<int>(k)));
  std::optional<Candidate> best;
  std::set<std::pair<int, std::vector<int>>> seen;
  std::vector<std::pair<int, Map>> stack{{root_id, start}};
  // What is read at many offsets is met under as many maps; the kernel itself will not hold more (walk.cpp, check_repetition).
  constexpr std::size_t kMaxMet = 4096;
  while (!stack.empty() && seen.size() < kMaxMet) {
    auto [id, map] = std::move(stack.back());
    stack.pop_back();
    const Node& node = graph.nodes[id];
    if (id != root_id && (node.op == Op::data || (*context.materialized)[id])) continue;
    std::vector<int> identity;
    for (const auto& expr : map) identity.push_back(expr.order());
    if (!seen.insert({id, std::move(identity)}).second) continue;
    if (trace::is_view(node.op)) {
      const int input = node.inputs[0];
      stack.push_back({input, through(node, graph.nodes[input].shape, map, root.shape, false)});
    } else if (trace::is_reduction(node.op)) {
      if (node.chunk > 0) continue;
      auto candidate = fit(graph, root, node, map);
      if (candidate && (!best || candidate->work > best->work)) best = std::move(candidate);
    } else if (node.op == Op::scan) {
      auto candidate = fit_scan(root, node, map);
      if (candidate && (!best || candidate->work > best->work)) best = std::move(candidate);
    } else if (trace::is_elementwise(node.op) || node.op == Op::contiguous) {
      for (int input : node.inputs) stack.push_back({input, map});
    }
  }
  if (!best) return own_domain(graph, root);
  if (best->domain.parallel.empty()) best->domain.parallel.push_back(1);
  return best->domain;
}

}  // namespace sinter::fuse
