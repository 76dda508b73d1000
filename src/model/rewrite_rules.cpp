#include "model/rewrite_rules.hpp"

#include <fmt/format.h>

#include <limits>

namespace sinter::model {

Uses::Uses(const Graph& graph) {
  constexpr std::size_t kOutside = std::numeric_limits<std::size_t>::max();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const std::string& output : graph.nodes[n].outputs) givers_[output] = n;
    for (const std::string& input : graph.nodes[n].inputs) readers_[input].push_back(n);
  }
  for (const ModelValue& output : graph.outputs) readers_[output.name].push_back(kOutside);
  for (const std::string& name : inner_reads(graph)) readers_[name].push_back(kOutside);
}

std::optional<std::size_t> Uses::giver(const std::string& value) const {
  const auto found = givers_.find(value);
  return found == givers_.end() || value.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<std::size_t> Uses::only_reader(const std::string& value) const {
  const auto found = readers_.find(value);
  if (found == readers_.end() || found->second.size() != 1 || found->second[0] == std::numeric_limits<std::size_t>::max()) return {};
  return found->second[0];
}

void Uses::renamed(const std::string& from, const std::string& to, std::size_t n) {
  givers_.erase(from);
  readers_.erase(from);
  givers_[to] = n;
}

const Tensor* constant_of(const Graph& graph, const std::string& value) {
  const auto found = graph.constants.find(value);
  return found == graph.constants.end() ? nullptr : &found->second;
}

std::string add_constant(Graph& graph, const std::string& like, const Tensor& tensor) {
  for (int k = 1;; ++k) {
    std::string name = fmt::format("{}/folded{}", like, k);
    if (graph.constants.emplace(name, tensor).second) return name;
  }
}

void redirect(Node& node, const std::map<std::string, std::string>& same) {
  for (std::string& input : node.inputs)
    if (const auto found = same.find(input); found != same.end()) input = found->second;
}

void erase_nodes(Graph& graph, const std::vector<bool>& gone) {
  std::vector<Node> left;
  left.reserve(graph.nodes.size());
  for (std::size_t n = 0; n < graph.nodes.size(); ++n)
    if (!gone[n]) left.push_back(std::move(graph.nodes[n]));
  graph.nodes = std::move(left);
}

namespace {

template <class T> const T* find(const Node& node, std::string_view name) {
  const auto found = node.attributes.find(name);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

}  // namespace

std::int64_t integer(const Node& node, std::string_view attribute, std::int64_t otherwise) {
  const auto* value = find<std::int64_t>(node, attribute);
  return value ? *value : otherwise;
}
double number(const Node& node, std::string_view attribute, double otherwise) {
  const auto* value = find<float>(node, attribute);
  return value ? *value : otherwise;
}
std::string attribute_text(const Node& node, std::string_view attribute, const std::string& otherwise) {
  const auto* value = find<std::string>(node, attribute);
  return value ? *value : otherwise;
}
std::vector<std::int64_t> integers(const Node& node, std::string_view attribute) {
  const auto* value = find<std::vector<std::int64_t>>(node, attribute);
  return value ? *value : std::vector<std::int64_t>();
}

}  // namespace sinter::model
