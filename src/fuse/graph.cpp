#include "fuse/graph.hpp"

#include <fmt/format.h>

#include "trace/symbols.hpp"

namespace sinter::fuse {
namespace {

using trace::Op;

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
    node.from = static_cast<int>(out_.nodes.size()) - 1;
    if (trace::is_library(from.op)) node.call = calls_++;
    to_ = &node.shape;
  }
  void ints() {
    Node& node = out_.nodes.back();
    node.elements = element_count(node.shape);
    to_ = &node.ints;
  }
  void ints_of(std::size_t node) {
    node_ = node;
    to_ = &out_.nodes[node].ints;
  }
  void constant(std::int64_t value) { to_->push_back(value); }
  void symbol(int number, std::int64_t value, trace::SymbolNumbers::Of of) {
    if (number == static_cast<int>(symbols_.size())) {
      const bool start = of == trace::SymbolNumbers::Of::start;
      symbols_.push_back(out_.space->symbol(fmt::format("{}{}", start ? 'o' : 'n', start ? starts_++ : sizes_++), value, start ? 1 : 2));
    }
    to_->push_back(symbols_[static_cast<std::size_t>(number)]);
  }
  void last_of(std::size_t axis) {
    const Node& input = out_.nodes[static_cast<std::size_t>(out_.nodes[node_].inputs[0])];
    to_->push_back(input.shape[axis] - 1);
  }
  void more(std::int64_t distance) { to_->back() += distance; }

 private:
  Graph& out_;
  std::size_t node_ = 0;
  std::vector<Size>* to_ = nullptr;
  Sizes symbols_;
  int sizes_ = 0, starts_ = 0, calls_ = 0;
};

}  // namespace

Graph symbolic(const trace::Graph& graph) {
  Graph result;
  result.nodes.reserve(graph.nodes.size());
  GraphWriter writer(result);
  trace::SymbolNumbers numbers;
  std::vector<trace::SymbolNumbers::Slice> slices;
  std::vector<std::size_t> sliced;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const trace::Node& node = graph.nodes[id];
    writer.begin(node);
    numbers.sizes(node.shape, writer);
    writer.ints();
    numbers.ints(node.op, node.ints, writer);
    if (node.op != Op::slice) continue;
    slices.push_back({static_cast<std::uint64_t>(node.inputs[0]), &graph.nodes[static_cast<std::size_t>(node.inputs[0])].shape, &node.ints});
    sliced.push_back(id);
  }
  numbers.starts(slices, [&](std::size_t k) { writer.ints_of(sliced[k]); }, writer);
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
    if (n.chunk.hint() > 0) text += fmt::format(" chunk {}{}", n.chunk.hint(), n.chunks_first ? " first" : "");
    text += '\n';
  }
  text += "return";
  for (const int output : graph.outputs) text += fmt::format(" %{}", output);
  return text + '\n';
}

}  // namespace sinter::fuse
