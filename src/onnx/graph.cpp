#include "onnx/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

namespace sinter {

std::string to_string(const ModelValue& value) {
  std::string text = fmt::format("{}: {}", value.name, name(value.dtype));
  if (!value.shape) return text;
  text += '[';
  for (std::size_t i = 0; i < value.shape->size(); ++i) {
    const ModelSize& size = (*value.shape)[i];
    text += fmt::format("{}{}", i ? ", " : "", size.size ? std::to_string(*size.size) : size.symbol);
  }
  return text + ']';
}

}  // namespace sinter

namespace sinter::onnx {

std::string describe(const Node& node) {
  return node.name.empty() ? fmt::format("node {} ({})", node.place, node.op) : fmt::format("node '{}' ({}, number {})", node.name, node.op, node.place);
}

bool Graph::is_output(std::string_view value) const {
  return std::any_of(outputs.begin(), outputs.end(), [&](const ModelValue& output) { return output.name == value; });
}

std::set<std::string, std::less<>> outer_reads(const Graph& graph) {
  std::set<std::string, std::less<>> own, outer;
  for (const auto& [name, tensor] : graph.constants) own.insert(name);
  for (const ModelValue& input : graph.inputs) own.insert(input.name);
  for (const Node& node : graph.nodes) own.insert(node.outputs.begin(), node.outputs.end());
  const auto read = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) outer.insert(name);
  };
  for (const Node& node : graph.nodes) {
    for (const std::string& input : node.inputs) read(input);
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute))
        for (const std::string& input : outer_reads(**inner)) read(input);
  }
  for (const ModelValue& output : graph.outputs) read(output.name);
  return outer;
}

std::set<std::string, std::less<>> inner_reads(const Graph& graph) {
  std::set<std::string, std::less<>> names;
  for (const Node& node : graph.nodes)
    for (const auto& [name, attribute] : node.attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute)) names.merge(outer_reads(**inner));
  return names;
}

void sort_nodes(Graph& graph, const std::set<std::string, std::less<>>& outer) {
  std::unordered_map<std::string_view, int> giver;  // value -> the node that produces it, or -1
  for (const auto& [name, tensor] : graph.constants) giver[name] = -1;
  for (const ModelValue& input : graph.inputs) giver[input.name] = -1;
  const int count = static_cast<int>(graph.nodes.size());
  for (int n = 0; n < count; ++n)
    for (const std::string& output : graph.nodes[n].outputs) {
      if (output.empty()) continue;
      if (!giver.emplace(output, n).second)
        throw ModelError(fmt::format("{}: {} computes '{}', which another node computes already", graph.file, describe(graph.nodes[n]), output));
    }

  std::vector<std::vector<int>> readers(graph.nodes.size());
  std::vector<int> waits(graph.nodes.size());
  for (int n = 0; n < count; ++n) {
    std::vector<std::string> inputs = graph.nodes[n].inputs;
    for (const auto& [name, attribute] : graph.nodes[n].attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute))
        for (const std::string& input : outer_reads(**inner)) inputs.push_back(input);
    for (const std::string& input : inputs) {
      if (input.empty()) continue;
      const auto found = giver.find(input);
      if (found == giver.end()) {
        if (outer.contains(input)) continue;
        throw ModelError(fmt::format("{}: {} reads '{}', which no node computes", graph.file, describe(graph.nodes[n]), input));
      }
      if (found->second < 0) continue;
      readers[found->second].push_back(n);
      ++waits[n];
    }
  }
  for (const ModelValue& output : graph.outputs)
    if (!giver.contains(output.name) && !outer.contains(output.name))
      throw ModelError(fmt::format("{}: no node computes the output '{}'", graph.file, output.name));

  std::vector<int> order;  // nodes whose inputs are ready, in the file's order if that is valid
  std::vector<bool> placed(graph.nodes.size());
  order.reserve(graph.nodes.size());
  std::set<int> ready;
  for (int n = 0; n < count; ++n)
    if (waits[n] == 0) ready.insert(n);
  while (!ready.empty()) {
    const int n = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(n);
    placed[n] = true;
    for (const int reader : readers[n])
      if (--waits[reader] == 0) ready.insert(reader);
  }
  if (static_cast<int>(order.size()) != count) {
    const auto stuck = std::find(placed.begin(), placed.end(), false) - placed.begin();
    throw ModelError(fmt::format("{}: {} depends on its own result: the graph has a cycle", graph.file, describe(graph.nodes[stuck])));
  }
  std::vector<Node> sorted;
  sorted.reserve(graph.nodes.size());
  for (const int n : order) sorted.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(sorted);
}

}  // namespace sinter::onnx
