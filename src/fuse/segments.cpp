#include "fuse/segments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace sinter::fuse {
namespace {

using trace::Op;

// A few ops that only one consumer needs, or that cost less than a read from memory, go along into a later segment.
constexpr int kLightOps = 16;
constexpr double kLightCost = 8;

using Ops = std::shared_ptr<const std::vector<int>>;  // sorted; what a node's kernel would hold

class Segmenter {
 public:
  Segmenter(const Graph& graph, int max_ops, std::map<int, Cut>& cuts)
      : graph_(graph), max_ops_(max_ops), cuts_(cuts), cut_(graph.nodes.size()), base_(graph.nodes.size()), segment_(graph.nodes.size()),
        users_(graph.nodes.size()), pending_(graph.nodes.size()), ops_(graph.nodes.size()) {
    for (const auto& [id, cut] : cuts) cut_[id] = 1;
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
  }

 private:
  // What would be computed along with a consumer of this node.
  bool open(int base) const {
    const Node& node = graph_.nodes[base];
    return ops_[base] && !cut_[base] && !(node.chunk > 0 && trace::is_reduction(node.op));
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
    int segment = 0;
    for (int input : inputs) segment = std::max(segment, segment_[input]);
    std::vector<int> ops = joined(inputs, [&](int input) { return segment_[input] == segment || light(input); });
    const auto count = static_cast<int>(ops.size()) + 1;
    if (count > max_ops_) {
      ++segment;
      ops = joined(inputs, [&](int input) { return light(input); });
    }
    for (int input : inputs) {
      if (segment_[input] == segment || light(input)) continue;
      cut_[input] = 1;
      cuts_.try_emplace(input, Cut{CutReason::kernel_size,
                                   count > max_ops_ ? fmt::format("{} ops with the next one against a limit of {}", count, max_ops_)
                                                    : fmt::format("{} ops of an earlier kernel go on being needed", ops_[input]->size())});
    }
    ops.push_back(id);  // the largest number so far: stays sorted
    segment_[id] = segment;
    ops_[id] = std::make_shared<const std::vector<int>>(std::move(ops));
  }

  template <class Chosen> std::vector<int> joined(const std::vector<int>& inputs, Chosen chosen) const {
    std::vector<int> all;
    for (int input : inputs) {
      if (!chosen(input)) continue;
      std::vector<int> both;
      std::set_union(all.begin(), all.end(), ops_[input]->begin(), ops_[input]->end(), std::back_inserter(both));
      all = std::move(both);
    }
    return all;
  }

  const Graph& graph_;
  const int max_ops_;
  std::map<int, Cut>& cuts_;
  std::vector<char> cut_;
  std::vector<int> base_;     // the node below the views
  std::vector<int> segment_;
  std::vector<int> users_, pending_;  // of a base: nodes that compute with it; nodes not looked at yet
  std::vector<Ops> ops_;      // of a base
};

}  // namespace

void cut_long_formulas(const Graph& graph, int max_ops, std::map<int, Cut>& cuts) { Segmenter(graph, max_ops, cuts).run(); }

}  // namespace sinter::fuse
