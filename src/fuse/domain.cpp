// Chooses the axes of a kernel: the reductions that its root uses decide them.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>

#include "fuse/costs.hpp"
#include "fuse/group.hpp"

namespace sinter::fuse {

using namespace costs;
namespace {

using trace::Op;

struct PlaceHash {
  std::size_t operator()(const std::pair<int, Map>& place) const { return MapHash{}(place.second) * 31 + static_cast<std::size_t>(place.first); }
};

// A root's axes for one reduction that the root uses: the root's own axes, with row axes marked, and additional row axes.
struct Candidate {
  std::uint64_t rows = 0;  // the root's axes that are row axes
  Sizes more;              // row axes that the root lacks
  double work = 0;         // number of reduced elements
  Chunks chunks;           // chunks along the root's axis `rows`
};

class Explorer {
 public:
  Explorer(const BuildContext& context, int root) : context_(context), graph_(*context.graph), root_(root) {
    const Sizes& shape = graph_.nodes[root].shape;
    for (const auto& size : shape) {
      if (size == 1) {
        dims_.push_back(IndexExpr::of(0));
        continue;
      }
      dims_.push_back(IndexExpr::of_axis(static_cast<int>(sizes_.size())));
      sizes_.push_back(size);
    }
  }

  Domain run() {
    if (!(*context_.reduces)[root_]) return arranged({});
    for (int splits = 0;; ++splits) {
      std::optional<SplitAxis> split;
      const auto best = explore(splits < kMaxSplits, split);
      if (!split) return arranged(best);
      int none = 0;
      const auto by = split_axis(sizes_, none, *split);
      for (auto& dim : dims_) dim = substitute(dim, by);
    }
  }

 private:
  // Returns the reduction with the most work among those that the root uses. Returns nothing, and sets `split`, if an axis must be split first.
  std::optional<Candidate> explore(bool may_split, std::optional<SplitAxis>& split) const {
    std::optional<Candidate> best;
    std::unordered_set<std::pair<int, Map>, PlaceHash> seen;
    struct Reached {
      int id;
      Map map;
      bool guarded = false;  // below a pad, where the map may be outside of the node
    };
    std::vector<Reached> stack{{root_, dims_}};
    // The number of positions of a stencil of a stencil grows without limit; its kernel will be split anyway.
    int ops = 0;
    while (!stack.empty() && ops <= 4 * context_.max_ops) {
      auto [id, map, guarded] = std::move(stack.back());
      stack.pop_back();
      const Node& node = graph_.nodes[id];
      if (id != root_ && (node.op == Op::data || (*context_.in_memory)[id])) continue;
      if (!(*context_.reduces)[id] || !seen.insert({id, map}).second) continue;
      if (trace::is_view(node.op)) {
        const int input = node.inputs[0];
        Mapped below = through(node, graph_.nodes[input].shape, map, sizes_, may_split);
        if (below.split) {
          split = below.split;
          return std::nullopt;
        }
        stack.push_back({input, std::move(below.map), guarded});
        continue;
      }
      ++ops;
      if (const bool scans = node.op == Op::scan; scans || trace::is_reduction(node.op)) {
        if (!scans && node.chunk > 0) continue;  // it has a kernel of its own, or this kernel has chunks
        if (guarded && (scans || !in_range(map, node.shape, sizes_))) continue;
        auto candidate = scans ? fit_scan(node, map) : fit(node, map);
        if (candidate && (!best || candidate->work > best->work)) best = std::move(candidate);
      } else if (node.op == Op::gather) {  // a reduction that is the same at all gathered positions
        stack.push_back({node.inputs[1], map, guarded});
        if (!worth_gathering(graph_, node.inputs[0], node.elements)) continue;
        int steps = 100;
        places_axes_[id] |= axes_below(node.inputs[1], map, steps);
        map[static_cast<std::size_t>(node.axis(0))] = IndexExpr::of_value(id);
        stack.push_back({node.inputs[0], std::move(map), guarded});
      } else if (node.op == Op::pad) {  // a reduction that is the same at all padded positions
        stack.push_back({node.inputs[1], map, guarded});
        for (std::size_t k = 0; k < map.size(); ++k) map[k] = map[k] + IndexExpr::of(-node.ints[2 * k]);
        stack.push_back({node.inputs[0], std::move(map), true});
      } else if (trace::is_elementwise(node.op) || node.op == Op::contiguous) {
        for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) stack.push_back({*input, map, guarded});
      }
    }
    return best;
  }

  // Returns the axes along which the value of a node at this map changes; perhaps more.
  std::uint64_t axes_below(int id, const Map& map, int& steps) const {
    const Node& node = graph_.nodes[id];
    std::uint64_t axes = 0;
    if (--steps > 0 && trace::is_view(node.op)) {
      const Mapped below = through(node, graph_.nodes[node.inputs[0]].shape, map, sizes_, false);
      if (!below.split) return axes_below(node.inputs[0], below.map, steps);
    } else if (steps > 0 && trace::is_elementwise(node.op)) {
      for (const int input : node.inputs) axes |= axes_below(input, map, steps);
      return axes;
    }
    for (const IndexExpr& expr : map) axes |= expr.axes();
    return axes;
  }

  // A reduction that is reached with this map shares a kernel with the root if no two parallel points use the same result: it is then computed once for each.
  // The root's other axes, along which the result is broadcast, are the rows; they must have as many points as the reduction.
  std::optional<Candidate> fit(const Node& reduction, const Map& map) const {
    const auto walked = one_to_one(map, sizes_, [this](int gather) { return places_axes_.at(gather); });
    if (!walked) return std::nullopt;
    const Sizes& input = graph_.nodes[reduction.inputs[0]].shape;
    Candidate candidate;
    Size extent = 1, spread = 1, results = 1;
    for (int axis : reduction.axes()) {
      extent = extent * input[axis];
      if (input[axis] != 1) candidate.more.push_back(input[axis]);
    }
    for (int axis = 0; axis < static_cast<int>(sizes_.size()); ++axis) {
      if (*walked >> axis & 1) {
        results = results * sizes_[axis];
        continue;
      }
      candidate.rows |= std::uint64_t{1} << axis;
      spread = spread * sizes_[axis];
    }
    if (candidate.rows != 0) {
      if (spread != extent) return std::nullopt;
      candidate.more.clear();
    }
    candidate.work = as_double(results) * as_double(extent);
    return candidate;
  }

  // A scan that is reached with this map shares a kernel with the root if the root uses each element of the scan once, and the elements of its rows in order.
  std::optional<Candidate> fit_scan(const Node& scan, const Map& map) const {
    const auto walked = one_to_one(map, sizes_);
    if (!walked || *walked != axes_between(sizes_, 0, static_cast<int>(sizes_.size()))) return std::nullopt;
    const IndexExpr& along = map[static_cast<std::size_t>(scan.axis(0))];
    Candidate candidate;
    candidate.rows = along.axes();
    candidate.work = as_double(scan.elements);
    if (scan.chunk > 0) {
      const int axis = pure_axis(along);
      if (axis < 0 || sizes_[axis] != scan.shape[static_cast<std::size_t>(scan.axis(0))]) return std::nullopt;
      candidate.chunks = {scan.chunk, sizes_[axis]};
      return candidate;
    }
    Map dims;
    Sizes shape;
    for (int axis = 0; axis < static_cast<int>(sizes_.size()); ++axis)
      if (candidate.rows >> axis & 1) {
        dims.push_back(IndexExpr::of_axis(axis));
        shape.push_back(sizes_[axis]);
      }
    if (dims.empty() || !(along == linear(dims, shape)) || element_count(shape) != scan.shape[static_cast<std::size_t>(scan.axis(0))]) return std::nullopt;
    return candidate;
  }

  // Orders the axes: parallel axes first, then rows.
  Domain arranged(const std::optional<Candidate>& candidate) const {
    const std::uint64_t rows = candidate ? candidate->rows : 0;
    Domain domain;
    std::vector<IndexExpr> by(sizes_.size());
    const bool chunked = candidate && candidate->chunks.length > 0;
    if (chunked) {  // chunks are counted outermost
      domain.chunks = candidate->chunks;
      domain.sizes.push_back((domain.chunks.total + domain.chunks.length - 1) / domain.chunks.length);
    }
    for (const bool row : {false, true}) {
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
        if ((rows >> axis & 1) != row) continue;
        by[axis] = IndexExpr::of_axis(static_cast<int>(domain.sizes.size()));
        if (row && chunked) by[axis] = by[axis] + IndexExpr::of_axis(0) * domain.chunks.length;
        domain.sizes.push_back(row && chunked ? domain.chunks.length : sizes_[axis]);
      }
      if (row) break;
      // If all axes stay parallel, nothing is reordered; a kernel has at least one axis.
      if (domain.sizes.empty()) domain.sizes.push_back(1);
      domain.parallel = static_cast<int>(domain.sizes.size());
    }
    if (candidate) domain.sizes.insert(domain.sizes.end(), candidate->more.begin(), candidate->more.end());
    for (const auto& dim : dims_) domain.dims.push_back(substitute(dim, by));
    return domain;
  }

  const BuildContext& context_;
  const Graph& graph_;
  const int root_;
  Sizes sizes_;  // the root's axes, split where this makes a view affine
  Map dims_;
  mutable std::map<int, std::uint64_t> places_axes_;  // by gather: the axes along which its computed positions change
};

Domain own_domain(const Graph& graph, const Node& reduction) {
  Domain domain;
  const Sizes& input = graph.nodes[reduction.inputs[0]].shape;
  const int rank = static_cast<int>(reduction.shape.size());
  const auto parallel_axis = [&](const Size& size) {
    domain.sizes.push_back(size);
    return IndexExpr::of_axis(static_cast<int>(domain.sizes.size()) - 1);
  };
  if (reduction.chunk > 0) {
    // Chunks are outermost, so that neighbours in memory stay neighbours along the last parallel axis.
    const auto among = static_cast<int>(reduction.chunks_axis());
    const IndexExpr chunks = parallel_axis(reduction.shape[static_cast<std::size_t>(among)]);
    for (int k = 0; k < rank; ++k) domain.dims.push_back(k == among ? chunks : reduction.shape[k] == 1 ? IndexExpr::of(0) : parallel_axis(reduction.shape[k]));
    domain.parallel = static_cast<int>(domain.sizes.size());
    domain.sizes.push_back(reduction.chunk);
    domain.chunks = {reduction.chunk, input[static_cast<std::size_t>(reduction.axis(0))]};
    return domain;
  }
  for (const auto& size : reduction.shape) domain.dims.push_back(size == 1 ? IndexExpr::of(0) : parallel_axis(size));
  if (domain.sizes.empty()) domain.sizes.push_back(1);
  domain.parallel = static_cast<int>(domain.sizes.size());
  for (int axis : reduction.axes())
    if (input[axis] != 1) domain.sizes.push_back(input[axis]);
  if (static_cast<int>(domain.sizes.size()) == domain.parallel) domain.sizes.push_back(1);
  return domain;
}

}  // namespace

Domain choose_domain(const BuildContext& context, int root) {
  const Node& node = context.graph->nodes[root];
  if (trace::is_reduction(node.op)) return own_domain(*context.graph, node);
  return Explorer(context, root).run();
}

bool worth_gathering(const Graph& graph, int op, const Size& places) {
  const Node& node = graph.nodes[op];
  if (node.op == Op::iota || node.op == Op::pad) return true;
  if (node.op == Op::cast) {
    int from = node.inputs[0];
    while (trace::is_view(graph.nodes[from].op)) from = graph.nodes[from].inputs[0];
    if (graph.nodes[from].op == Op::data) return true;
  }
  const Estimating estimate;
  const bool cheap = trace::is_elementwise(node.op) || node.op == Op::gather;
  return places <= (cheap ? node.elements * costs::kGatheredAgain : node.elements);
}

std::optional<std::uint64_t> one_to_one(const Map& map, const Sizes& sizes, const std::function<std::uint64_t(int value)>& axes_of_value) {
  std::uint64_t walked = 0;
  for (const auto& expr : map) {
    if (axes_of_value && expr.has_values()) {
      const auto& terms = expr.terms();
      if (terms.size() != 1 || terms[0].value < 0) return std::nullopt;
      const std::uint64_t bits = axes_of_value(terms[0].value);
      if (walked & bits) return std::nullopt;
      walked |= bits;
      continue;
    }
    struct Digit {
      Size weight;
      int axis;
    };
    std::vector<Digit> digits;
    for (const auto& term : expr.terms()) {
      if (term.axis < 0) return std::nullopt;
      if (sizes[term.axis] == 1) continue;
      const std::uint64_t bit = std::uint64_t{1} << term.axis;
      if (walked & bit) return std::nullopt;
      walked |= bit;
      digits.push_back({term.coeff < 0 ? 0 - term.coeff : term.coeff, term.axis});
    }
    std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.weight < b.weight; });
    Size reach = 0;  // the largest sum of the lower digits
    for (const auto& digit : digits) {
      if (digit.weight <= reach) return std::nullopt;
      reach = reach + digit.weight * (sizes[digit.axis] - 1);
    }
  }
  return walked;
}

std::uint64_t axes_between(const Sizes& sizes, int first, int last) {
  std::uint64_t axes = 0;
  for (int axis = first; axis < last; ++axis)
    if (sizes[axis] != 1) axes |= std::uint64_t{1} << axis;
  return axes;
}

std::vector<IndexExpr> split_axis(Sizes& sizes, int& parallel, const SplitAxis& split) {
  std::vector<IndexExpr> by;
  for (int axis = 0; axis < static_cast<int>(sizes.size()); ++axis) by.push_back(IndexExpr::of_axis(axis <= split.axis ? axis : axis + 1));
  by[split.axis] = by[split.axis] * split.inner + IndexExpr::of_axis(split.axis + 1);
  sizes[split.axis] = sizes[split.axis] / split.inner;
  sizes.insert(sizes.begin() + split.axis + 1, split.inner);
  if (split.axis < parallel) ++parallel;
  return by;
}

}  // namespace sinter::fuse
