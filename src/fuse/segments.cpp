#include "fuse/segments.hpp"

#include "fuse/costs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sinter::fuse {

using namespace costs;
namespace {

using trace::Op;

using Ops = std::shared_ptr<const std::vector<int>>;  // sorted ops that a node's kernel would hold

class Segmenter {
 public:
  Segmenter(const Graph& graph, int max_ops, std::map<int, Boundary>& boundaries)
      : graph_(graph),
        max_ops_(max_ops),
        boundaries_(boundaries),
        is_boundary_(graph.nodes.size()),
        ends_(graph.nodes.size()),
        base_(graph.nodes.size()),
        segment_(graph.nodes.size()),
        users_(graph.nodes.size()),
        pending_(graph.nodes.size()),
        length_(graph.nodes.size()),
        ops_(graph.nodes.size()) {
    for (const auto& [id, boundary] : boundaries) is_boundary_[id] = 1;
    for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
      const auto& node = graph.nodes[id];
      base_[id] = trace::is_view(node.op) ? base_[node.inputs[0]] : static_cast<int>(id);
      for (int input : node.inputs) {
        ++pending_[base_[input]];
        users_[base_[input]] += !trace::is_view(node.op);
      }
    }
  }

  void run() {
    for (int id = 0; id < static_cast<int>(graph_.nodes.size()); ++id) {
      const Node& node = graph_.nodes[id];
      const bool finds = node.op == Op::pad || node.op == Op::gather || node.op == Op::scan;
      if (finds || trace::is_elementwise(node.op) || trace::is_reduction(node.op)) place(id);
      for (int input : node.inputs)
        if (const int base = base_[input]; --pending_[base] == 0) ops_[base].reset();
    }
    split_shared();
  }

 private:
  // Decides, from the users down, which kernels would compute each node. A reduction always counts as one kernel.
  void split_shared() {
    std::vector<char> wanted(graph_.nodes.size());
    for (int output : graph_.outputs) wanted[base_[output]] = 1;
    std::vector<std::vector<int>> kernels(graph_.nodes.size());  // sorted numbers of the kernels that matter
    for (int id = static_cast<int>(graph_.nodes.size()); id-- > 0;) {
      if (base_[id] != id) continue;
      const Node& node = graph_.nodes[id];
      std::vector<int> mine = std::move(kernels[id]);
      kernels[id] = {};
      if (!lengthens(graph_, node) && mine.size() > kManyKernels && length_[id] > kLongFormula && trace::is_elementwise(node.op) && !is_boundary_[id] &&
          !wanted[id]) {
        is_boundary_[id] = 1;
        boundaries_.try_emplace(
            id, Boundary{SplitReason::recompute_cost, fmt::format("more than {} kernels would each compute its {} ops", kManyKernels, length_[id])});
      }
      if (is_boundary_[id] || wanted[id] || !trace::is_elementwise(node.op)) mine = {id};
      for (int input : node.inputs) {
        const int base = base_[input];
        if (length_[base] == 0 || kernels[base] == mine) continue;
        std::vector<int> both;
        std::set_union(kernels[base].begin(), kernels[base].end(), mine.begin(), mine.end(), std::back_inserter(both));
        if (both.size() > kManyKernels + 1) both.resize(kManyKernels + 1);
        kernels[base] = std::move(both);
      }
    }
  }

  // Returns the ops that would be computed together with a consumer of this node.
  bool open(int base) const {
    const Node& node = graph_.nodes[base];
    return ops_[base] && !is_boundary_[base] && !(node.chunk > 0 && trace::is_reduction(node.op));
  }

  bool light(int base) const {
    const auto& ops = *ops_[base];
    if (static_cast<int>(ops.size()) > std::min(kLightOps, max_ops_ / 8)) return false;
    if (users_[base] == 1) return true;
    double cost = 0;
    for (int op : ops) cost += trace::primitive(graph_.nodes[op].op).cost;
    return cost <= kLightCost;
  }

  void place(int id) {
    std::vector<int> inputs;
    for (int input : graph_.nodes[id].inputs)
      if (const int base = base_[input]; open(base) && std::find(inputs.begin(), inputs.end(), base) == inputs.end()) inputs.push_back(base);
    if (graph_.nodes[id].op == Op::pad) put_piece_in_memory(id, inputs);
    int segment = 0;
    for (int input : inputs) segment = std::max(segment, segment_[input]);
    for (int input : graph_.nodes[id].inputs)  // a split value is split for all of its readers
      if (const int base = base_[input]; ends_[base]) segment = std::max(segment, segment_[base] + 1);
    std::vector<int> ops = joined(inputs, [&](int input) { return segment_[input] == segment || light(input); });
    const auto count = static_cast<int>(ops.size()) + 1;
    if (count > max_ops_) {
      ++segment;
      ops = joined(inputs, [&](int input) { return light(input); });
    }
    for (int input : inputs) {
      if (segment_[input] == segment || light(input)) continue;
      is_boundary_[input] = ends_[input] = 1;
      boundaries_.try_emplace(
          input, Boundary{SplitReason::kernel_size,
                          count > max_ops_ ? fmt::format("with the next op the kernel would have {} ops; the limit is {}", count, max_ops_)
                                           : fmt::format("an earlier kernel computes it, and computing its {} ops again is not cheap", ops_[input]->size())});
    }
    ops.push_back(id);  // the largest number so far, so the list stays sorted
    length_[id] = static_cast<int>(ops.size());
    segment_[id] = segment;
    ops_[id] = std::make_shared<const std::vector<int>>(std::move(ops));
  }

  // If a concatenation has too many parts, reads one part from memory, instead of the concatenation of all earlier parts.
  void put_piece_in_memory(int id, std::vector<int>& inputs) {
    const int piece = base_[graph_.nodes[id].inputs[0]], rest = base_[graph_.nodes[id].inputs[1]];
    const Estimating estimate;
    if (inputs.size() < 2 || !(graph_.nodes[piece].elements < graph_.nodes[rest].elements)) return;
    const auto all = joined(inputs, [](int) { return true; });
    if (static_cast<int>(all.size()) < max_ops_ || static_cast<int>(ops_[rest]->size()) >= max_ops_) return;
    is_boundary_[piece] = 1;
    boundaries_.try_emplace(
        piece, Boundary{SplitReason::kernel_size,
                        fmt::format("with the parts that it is joined to, the kernel would have {} ops; the limit is {}", all.size() + 1, max_ops_)});
    std::erase(inputs, piece);
  }

  template <class Chosen> std::vector<int> joined(const std::vector<int>& inputs, Chosen chosen) const {
    std::vector<int> all, both;
    for (int input : inputs) {
      if (!chosen(input)) continue;
      const std::vector<int>& ops = *ops_[input];
      both.resize(all.size() + ops.size() + 1);  // and the part that is computed with them
      both.resize(static_cast<std::size_t>(std::set_union(all.begin(), all.end(), ops.begin(), ops.end(), both.begin()) - both.begin()));
      std::swap(all, both);
    }
    return all;
  }

  const Graph& graph_;
  const int max_ops_;
  std::map<int, Boundary>& boundaries_;
  std::vector<char> is_boundary_;
  std::vector<char> ends_;  // the node ends its segment
  std::vector<int> base_;   // the node of which this is a view
  std::vector<int> segment_;
  std::vector<int> users_, pending_;  // for each such node: the number of its consumers, and of those that are not examined yet
  std::vector<int> length_;           // number of ops that a node's kernel would hold
  std::vector<Ops> ops_;              // by the node of which a node is a view
};

}  // namespace

bool lengthens(const Graph& graph, const Node& node) { return node.op == Op::cast && itemsize(node.dtype) > itemsize(graph.nodes[node.inputs[0]].dtype); }

void split_long_formulas(const Graph& graph, int max_ops, std::map<int, Boundary>& boundaries) { Segmenter(graph, max_ops, boundaries).run(); }

}  // namespace sinter::fuse
