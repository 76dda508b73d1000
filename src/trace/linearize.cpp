// From handles to a Graph: what the roots need, in an order that depends on structure alone, equal nodes merged.
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "trace/loops.hpp"
#include "trace/hash.hpp"
#include "trace/record.hpp"

namespace sinter::trace {
namespace {

std::uint64_t hash_of(const Node& node) {
  std::uint64_t hash = static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype);
  for (const std::int64_t size : node.shape) hash = mix(hash, static_cast<std::uint64_t>(size));
  hash = mix(hash, node.shape.size());
  for (const int input : node.inputs) hash = mix(hash, static_cast<std::uint64_t>(input));
  for (const std::int64_t value : node.ints) hash = mix(hash, static_cast<std::uint64_t>(value));
  hash = mix(hash, node.scalar.bits());
  return mix(hash, static_cast<std::uint64_t>(node.leaf));
}

bool same_value(const Node& a, const Node& b) {
  return a.op == b.op && a.dtype == b.dtype && a.leaf == b.leaf && a.scalar.bits() == b.scalar.bits() && a.inputs == b.inputs &&
         a.shape == b.shape && a.ints == b.ints;
}

class Linearizer {
 public:
  explicit Linearizer(Linear& out) : out_(out) {}

  /// The number of a root's node; depth first and without recursion, so that no chain is too long.
  int visit(const RecordedPtr& root) {
    if (const auto known = numbers_.find(root.get()); known != numbers_.end()) return known->second;
    push(root);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      if (frame.next < frame.inputs.size()) {
        const RecordedPtr& input = frame.inputs[frame.next++];
        if (!numbers_.contains(input.get())) push(input);
        continue;
      }
      numbers_.emplace(frame.node.get(), emit(frame));
      alive_.push_back(std::move(frame.node));
      stack_.pop_back();
    }
    return numbers_.at(root.get());
  }

  /// Nodes to be stored for later, and their numbers: computed here, held by somebody outside of the graph, and likely to be needed again.
  std::vector<std::pair<RecordedPtr, int>> kept(const std::vector<RecordedPtr>& roots) const {
    std::vector<std::pair<RecordedPtr, int>> kept;
    const std::unordered_set<RecordedPtr> asked(roots.begin(), roots.end());
    for (const RecordedPtr& node : alive_) {
      if (!is_elementwise(node->op) && !is_reduction(node->op)) continue;
      const int id = numbers_.at(node.get());
      if (out_.graph.nodes[static_cast<std::size_t>(id)].op == Op::data) continue;
      const auto uses = uses_.find(node.get());
      const long inside = 1 + (uses == uses_.end() ? 0 : uses->second);  // alive_ holds it once
      if (node.use_count() <= inside || asked.contains(node)) continue;
      if (worth_storing(*node)) kept.push_back({node, id});
    }
    return kept;
  }

 private:
  struct Frame {
    RecordedPtr node;
    Operands inputs;
    StoragePtr storage;
    std::size_t next = 0;
  };

  void push(const RecordedPtr& node) {
    Frame frame{node, {}, nullptr};
    {
      std::lock_guard guard(node->lock);  // evaluated or not: one answer for the whole graph
      frame.storage = node->storage;
      if (frame.storage == nullptr) frame.inputs = node->pending;
    }
    stack_.push_back(std::move(frame));
  }

  int emit(const Frame& frame) {
    const Recorded& from = *frame.node;
    Node node;
    node.dtype = from.dtype;
    node.shape = from.shape;
    node.where = from.where;
    node.called = from.called;
    node.scalar.dtype = from.dtype;
    if (from.op == Op::constant) {
      node.op = from.op;
      node.scalar = from.scalar;
    } else if (frame.storage != nullptr || from.op == Op::data) {
      node.op = Op::data;
      node.leaf = leaf_of(frame);
    } else {
      node.op = from.op;
      node.ints = from.ints;
      for (const RecordedPtr& input : frame.inputs) {
        node.inputs.push_back(numbers_.at(input.get()));
        ++uses_[input.get()];
      }
    }
    return number(std::move(node));
  }

  int leaf_of(const Frame& frame) {
    const void* identity = frame.storage != nullptr ? static_cast<const void*>(frame.storage.get()) : frame.node.get();
    const auto [known, fresh] = leaves_.emplace(identity, out_.graph.leaves);
    if (fresh) {
      ++out_.graph.leaves;
      out_.leaves.push_back(frame.storage);
    }
    return known->second;
  }

  int number(Node node) {
    const std::uint64_t hash = hash_of(node);
    const auto [first, last] = values_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      if (same_value(out_.graph.nodes[static_cast<std::size_t>(known->second)], node)) return known->second;
    }
    const int id = static_cast<int>(out_.graph.nodes.size());
    values_.emplace(hash, id);
    out_.graph.nodes.push_back(std::move(node));
    return id;
  }

  Linear& out_;
  std::vector<Frame> stack_;
  std::vector<RecordedPtr> alive_;  // addresses are identities until the end
  std::unordered_map<const void*, int> numbers_;
  std::unordered_map<const void*, long> uses_;  // as an operand
  std::unordered_map<const void*, int> leaves_;
  std::unordered_multimap<std::uint64_t, int> values_;
};

}  // namespace

Linear linearize(const std::vector<RecordedPtr>& roots) {
  Linear out;
  Linearizer linearizer(out);
  for (const RecordedPtr& root : roots) out.graph.outputs.push_back(linearizer.visit(root));
  return out;
}

Linear linearize_and_keep(std::vector<RecordedPtr>& roots) {
  Linear out;
  Linearizer linearizer(out);
  for (const RecordedPtr& root : roots) out.graph.outputs.push_back(linearizer.visit(root));
  for (auto& [node, id] : linearizer.kept(roots)) {
    roots.push_back(node);
    out.graph.outputs.push_back(id);
  }
  return out;
}

}  // namespace sinter::trace
