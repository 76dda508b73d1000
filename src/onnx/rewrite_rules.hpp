// The rules of rewrite.cpp, each a function from a graph to how often it fired; and what they share.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/graph.hpp"

namespace sinter::onnx {

// rewrite_fold.cpp
int fold_batch_norms(Graph& graph);
int fold_leading_batch_norms(Graph& graph);
int fold_scales(Graph& graph);
int merge_products(Graph& graph);
int absorb_pads(Graph& graph);
// rewrite_quantized.cpp
int keep_quantized(Graph& graph);
int arrange_quantized(Graph& graph);
int cancel_quantized(Graph& graph);
// rewrite_views.cpp
int merge_transposes(Graph& graph);
int merge_reshapes(Graph& graph);
int merge_casts(Graph& graph);
int pool_first(Graph& graph);
int merge_equal_nodes(Graph& graph);

/// Who gives and who reads each value, by the nodes' places in the graph's list.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  std::optional<std::size_t> giver(const std::string& value) const;
  /// The only node that reads a value, once; none where the value is wanted otherwise: as an output, or by a graph within.
  std::optional<std::size_t> only_reader(const std::string& value) const;
  /// Node n gives `to` from now on instead of `from`.
  void renamed(const std::string& from, const std::string& to, std::size_t n);

 private:
  std::map<std::string, std::size_t, std::less<>> givers_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> readers_;
};

/// What can be told of values before any input is there: their types, and of inputs and constants how many axes they have.
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
/// Adds a constant under a name like this one that is not taken yet.
std::string add_constant(Graph& graph, const std::string& like, const Tensor& tensor);
/// Reads of a value that is another one become reads of that.
void redirect(Node& node, const std::map<std::string, std::string>& same);
void erase_nodes(Graph& graph, const std::vector<bool>& gone);

std::int64_t integer(const Node& node, std::string_view attribute, std::int64_t otherwise);
double number(const Node& node, std::string_view attribute, double otherwise);
std::string attribute_text(const Node& node, std::string_view attribute, const std::string& otherwise);
std::vector<std::int64_t> integers(const Node& node, std::string_view attribute);  // empty if not given

}  // namespace sinter::onnx
