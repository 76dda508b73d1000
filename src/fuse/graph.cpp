#include "fuse/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "fuse/flat_map.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;

// What one of a node's `ints` is.
enum class Meaning : std::uint8_t { number, size, start };

Meaning meaning(Op op, std::size_t k) {
  if (op == Op::slice) return k % 2 == 0 ? Meaning::start : Meaning::number;
  if (op == Op::pad) return Meaning::size;
  return Meaning::number;
}

// A node read at starts so near each other is read by a stencil, or by neighbouring steps of a loop: their distances are structure, and
// what is read twice at the same place is seen to be.
constexpr std::int64_t kNear = 8;

// The least start of the slices of a node along an axis, and its symbol.
struct Start { std::int64_t least; int symbol; };
std::uint64_t start_key(const trace::Node& slice, std::size_t k) { return static_cast<std::uint64_t>(slice.inputs[0]) << 8 | k; }
FlatMap<std::uint64_t, Start> starts_of(const trace::Graph& graph) {
  FlatMap<std::uint64_t, Start> starts;
  for (const trace::Node& node : graph.nodes) {
    if (node.op != Op::slice) continue;
    for (std::size_t k = 0; k < node.ints.size(); k += 2) {
      const auto [start, fresh] = starts.try_emplace(start_key(node, k), {node.ints[k], -1});
      if (!fresh) start->least = std::min(start->least, node.ints[k]);
    }
  }
  return starts;
}

// Walks all numbers of a graph in a fixed order and tells `visitor` which of them are symbols:
//   constant(value)               a number that is part of the structure
//   symbol(number, value, kind)   a symbol, numbered in order of first appearance
//   last_of(axis)                 the last position of an axis: its size less 1
//   more(distance)                to be added to the symbol before
// Everything that is not a number is told by op, dtype and operand lists.
template <class Visitor> void walk_numbers(const trace::Graph& graph, Visitor& visitor) {
  auto starts = starts_of(graph);
  std::vector<std::pair<std::int64_t, int>> known;  // few: searched one by one
  std::unordered_map<std::int64_t, int> many;
  int next = 0;
  const auto size = [&](std::int64_t value) {
    if (value == 0 || value == 1) return visitor.constant(value);
    if (known.size() < 16) {
      for (const auto& [known_value, number] : known)
        if (known_value == value) return visitor.symbol(number, value, Meaning::size);
      known.emplace_back(value, next);
    } else {
      if (many.empty()) many.insert(known.begin(), known.end());
      const auto [found, fresh] = many.try_emplace(value, next);
      if (!fresh) return visitor.symbol(found->second, value, Meaning::size);
    }
    visitor.symbol(next++, value, Meaning::size);
  };
  for (const trace::Node& node : graph.nodes) {
    visitor.begin(node);
    for (const std::int64_t value : node.shape) size(value);
    visitor.ints(node);
    for (std::size_t k = 0; k < node.ints.size(); ++k) {
      const std::int64_t value = node.ints[k];
      switch (meaning(node.op, k)) {
        case Meaning::number: visitor.constant(value); break;
        case Meaning::size: size(value); break;
        case Meaning::start: {
          const std::int64_t length = graph.nodes[static_cast<std::size_t>(node.inputs[0])].shape[k / 2];
          Start& start = *starts.find(start_key(node, k));
          const std::int64_t distance = value - start.least;
          if (value == 0) visitor.constant(0);
          else if (value == length - 1) visitor.last_of(k / 2);
          else if (start.least == 0 && distance < kNear) visitor.constant(value);
          else if (distance >= kNear) {
            visitor.symbol(next++, value, Meaning::start);
            visitor.more(0);
          } else {
            if (start.symbol < 0) start.symbol = next++;
            visitor.symbol(start.symbol, start.least, Meaning::start);
            visitor.more(distance);
          }
          break;
        }
      }
    }
  }
}

/// Small numbers take one byte: seven bits at a time, zigzag for the sign.
void put(std::string& key, std::int64_t value) {
  auto bits = (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
  while (bits >= 128) {
    key += static_cast<char>(bits | 128);
    bits >>= 7;
  }
  key += static_cast<char>(bits);
}

class KeyWriter {
 public:
  explicit KeyWriter(Structure& out) : out_(out) {}
  void begin(const trace::Node& node) {
    out_.key += static_cast<char>(node.op);
    out_.key += static_cast<char>(node.dtype);
    put(out_.key, static_cast<std::int64_t>(node.inputs.size()));
    for (int input : node.inputs) put(out_.key, input);
    put(out_.key, node.leaf);
    put(out_.key, static_cast<std::int64_t>(node.shape.size()));
  }
  void ints(const trace::Node& node) { put(out_.key, static_cast<std::int64_t>(node.ints.size())); }
  void constant(std::int64_t value) {
    put(out_.key, 0);
    put(out_.key, value);
  }
  void symbol(int number, std::int64_t value, Meaning meaning) {
    put(out_.key, meaning == Meaning::start ? 2 : 1);
    put(out_.key, number);
    if (number == static_cast<int>(out_.symbols.size())) out_.symbols.push_back(value);
  }
  void last_of(std::size_t) { put(out_.key, 3); }
  void more(std::int64_t distance) { put(out_.key, distance); }

 private:
  Structure& out_;
};

class GraphWriter {
 public:
  explicit GraphWriter(Graph& out) : out_(out) { out_.space = std::make_shared<SizeSpace>(); }
  void begin(const trace::Node& from) {
    Node& node = out_.nodes.emplace_back();
    node.op = from.op;
    node.dtype = from.dtype;
    node.inputs = from.inputs;
    node.scalar = from.scalar;
    node.leaf = from.leaf;
    node.chunk = from.chunk;
    node.where = from.where;
    to_ = &node.shape;
  }
  void ints(const trace::Node&) {
    Node& node = out_.nodes.back();
    node.elements = element_count(node.shape);
    to_ = &node.ints;
  }
  void constant(std::int64_t value) { to_->push_back(value); }
  void symbol(int number, std::int64_t value, Meaning meaning) {
    if (number == static_cast<int>(symbols_.size())) {
      const bool start = meaning == Meaning::start;
      symbols_.push_back(out_.space->symbol(fmt::format("{}{}", start ? 'o' : 'n', start ? starts_++ : sizes_++), value, start ? 1 : 2));
    }
    to_->push_back(symbols_[static_cast<std::size_t>(number)]);
  }
  void last_of(std::size_t axis) {
    const Node& input = out_.nodes[static_cast<std::size_t>(out_.nodes.back().inputs[0])];
    to_->push_back(input.shape[axis] - 1);
  }
  void more(std::int64_t distance) { to_->back() += distance; }

 private:
  Graph& out_;
  std::vector<Size>* to_ = nullptr;
  Sizes symbols_;
  int sizes_ = 0, starts_ = 0;
};

}  // namespace

Structure structure_of(const trace::Graph& graph) {
  Structure structure;
  structure.key.reserve(graph.nodes.size() * 16);
  put(structure.key, static_cast<std::int64_t>(graph.nodes.size()));
  KeyWriter writer(structure);
  walk_numbers(graph, writer);
  put(structure.key, static_cast<std::int64_t>(graph.outputs.size()));
  for (int output : graph.outputs) put(structure.key, output);
  return structure;
}

Graph symbolic(const trace::Graph& graph) {
  Graph result;
  result.nodes.reserve(graph.nodes.size());
  GraphWriter writer(result);
  walk_numbers(graph, writer);
  result.outputs = graph.outputs;
  result.leaves = graph.leaves;
  return result;
}

std::vector<int> Node::axes() const {
  std::vector<int> numbers;
  for (std::size_t k = 0; k < ints.size(); ++k) numbers.push_back(axis(k));
  return numbers;
}

std::string to_string(const Sizes& shape) { return sinter::to_string(hints(shape)); }

std::string to_string(const Graph& graph) {
  std::string text;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& n = graph.nodes[id];
    text += fmt::format("%{} = {} {} {}", id, trace::name(n.op), name(n.dtype), to_string(n.shape));
    for (const int input : n.inputs) text += fmt::format(" %{}", input);
    if (!n.ints.empty()) text += fmt::format(" {}", to_string(n.ints));
    if (n.leaf >= 0) text += fmt::format(" leaf {}", n.leaf);
    if (n.chunk.hint() > 0) text += fmt::format(" chunk {}", n.chunk.hint());
    text += '\n';
  }
  text += "return";
  for (const int output : graph.outputs) text += fmt::format(" %{}", output);
  return text + '\n';
}

}  // namespace sinter::fuse
