#include "freeze/recording_hash.hpp"

#include "freeze/engine.hpp"

namespace sinter::freezing {

const Hash128& ContentHashes::of(const StoragePtr& storage) {
  const auto [known, fresh] = known_.try_emplace(storage);
  if (fresh) {
    const auto contents = Engine::get().host_contents(storage);
    known->second = hash128({static_cast<const std::byte*>(contents.get()), storage->bytes});
  }
  return known->second;
}

std::vector<Hash128> ContentHashes::of(const Leaves& leaves) {
  std::vector<Hash128> hashes;
  for (std::size_t k = 0; k < leaves.inputs.size(); ++k) {
    Words words;
    words.add(static_cast<std::uint64_t>(leaves.inputs[k]));
    if (leaves.storages[k]) words.add(of(leaves.storages[k]));
    hashes.push_back(words.hash());
  }
  return hashes;
}

namespace {

/// `numbers` has the shape of each node, then its ints.
Hash128 hash_with(const std::vector<std::int64_t>& numbers, const trace::Graph& graph, const std::vector<std::uint64_t>& literals,
                  const std::vector<Hash128>& leaves) {
  std::vector<Hash128> nodes;
  nodes.reserve(graph.nodes.size());
  auto number = numbers.begin();
  auto literal = literals.begin();
  for (const trace::Node& node : graph.nodes) {
    Words words;
    words.add(static_cast<std::uint64_t>(node.op) << 32 | static_cast<std::uint64_t>(node.dtype));
    words.add(static_cast<std::uint64_t>(node.shape.size()) << 32 | node.ints.size());
    for (std::size_t count = node.shape.size() + node.ints.size(); count > 0; --count) words.add(static_cast<std::uint64_t>(*number++));
    if (node.op == trace::Op::constant) words.add(*literal++);
    if (node.leaf >= 0) words.add(leaves[static_cast<std::size_t>(node.leaf)]);
    for (const int input : node.inputs) words.add(nodes[static_cast<std::size_t>(input)]);
    nodes.push_back(words.hash());
  }
  Words all;
  for (const int output : graph.outputs) all.add(nodes[static_cast<std::size_t>(output)]);
  return all.hash();
}

trace::Sizes numbers_of(const trace::Graph& graph) {
  trace::Sizes numbers;
  for (const trace::Node& node : graph.nodes) {
    numbers.insert(numbers.end(), node.shape.begin(), node.shape.end());
    numbers.insert(numbers.end(), node.ints.begin(), node.ints.end());
  }
  return numbers;
}

}  // namespace

Hash128 hash_of(const trace::Graph& graph, const std::vector<std::uint64_t>& literals, const std::vector<Hash128>& leaves) {
  return hash_with(trace::hints(numbers_of(graph)), graph, literals, leaves);
}

PredictedGraph::PredictedGraph(trace::Graph graph, std::vector<Hash128> leaves) : graph_(std::move(graph)), leaves_(std::move(leaves)) {
  const trace::Graph symbolic = trace::symbolic(graph_);
  numbers_ = trace::SizeProgram(*symbolic.space, numbers_of(symbolic));
}

Hash128 PredictedGraph::at(const Values& values) const {
  std::vector<std::int64_t> numbers;
  numbers_.evaluate(values.symbols, numbers);
  return hash_with(numbers, graph_, values.literals, leaves_);
}

}  // namespace sinter::freezing
