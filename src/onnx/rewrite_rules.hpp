// The rules of rewrite.cpp, and the functions that they share. A rule is a function from a graph to the number of its applications.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/graph.hpp"

namespace sinter::onnx {

// in rewrite_merge.cpp
int merge_products(Graph& graph);
int fold_batch_norms(Graph& graph);
int absorb_pads(Graph& graph);
// in rewrite_quantized.cpp
int keep_quantized(Graph& graph);
int arrange_quantized(Graph& graph);
int cancel_quantized(Graph& graph);
// in rewrite_pool.cpp
int pool_first(Graph& graph);
// in rewrite_subnormal.cpp
int flush_subnormals(Graph& graph);

/// The node that produces each value and the nodes that read it, by their positions in the graph's list.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  std::optional<std::size_t> giver(const std::string& value) const;
  /// Returns the only node that reads a value, if it reads it once and the value is neither an output nor read by an inner graph.
  std::optional<std::size_t> only_reader(const std::string& value) const;

 private:
  std::map<std::string, std::size_t, std::less<>> givers_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> readers_;
};

/// Properties of values that are known without inputs: their types, and the ranks of inputs and constants.
class Types {
 public:
  explicit Types(const Graph& graph);
  std::optional<DType> of(const std::string& value) const;
  std::optional<std::int64_t> rank_of(const std::string& value) const;

 private:
  std::map<std::string, DType, std::less<>> types_;
  std::map<std::string, std::int64_t, std::less<>> ranks_;
};

const Tensor* constant_of(const Graph& graph, const std::string& value);
/// Adds a constant under an unused name that resembles `like`.
std::string add_constant(Graph& graph, const std::string& like, const Tensor& tensor);
/// Replaces reads of a value by reads of the equal value.
void redirect(Node& node, const std::map<std::string, std::string>& same);
void erase_nodes(Graph& graph, const std::vector<bool>& gone);

std::int64_t integer(const Node& node, std::string_view attribute, std::int64_t otherwise);
double number(const Node& node, std::string_view attribute, double otherwise);
std::string attribute_text(const Node& node, std::string_view attribute, const std::string& otherwise);
std::vector<std::int64_t> integers(const Node& node, std::string_view attribute);  // empty if the attribute is not given

}  // namespace sinter::onnx
