// Graph: a model as a plain value: nodes in an order that may be run, the constants they read, and what goes in and comes out.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sinter/model.hpp"
#include "sinter/tensor.hpp"

namespace sinter::onnx {

struct Graph;
using Attribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>, std::vector<std::string>, Tensor,
                               std::shared_ptr<const Graph>>;

struct Node {
  std::string op;                            // "Conv"; with its domain where that is not ONNX's own: "com.microsoft.Gelu"
  std::string name;                          // may be empty
  int place = 0;                             // among the file's nodes
  std::vector<std::string> inputs, outputs;  // names of values; an empty one is left out
  std::map<std::string, Attribute, std::less<>> attributes;
};
/// "node 'conv1' (Conv, number 3)"
std::string describe(const Node& node);

struct Graph {
  std::string file;                                   // its name without folders, for messages
  int opset = 0;                                      // of ONNX's own operators
  std::int64_t most_elements = 0, most_unrolled = 0;  // as in ModelOptions
  std::vector<Node> nodes;
  std::map<std::string, Tensor, std::less<>> constants;
  std::vector<ModelValue> inputs, outputs;

  bool is_output(std::string_view value) const;
};

/// What a graph within another one (a branch of an If) reads of that; and what all graphs within this one read of it.
std::set<std::string, std::less<>> outer_reads(const Graph& graph);
std::set<std::string, std::less<>> inner_reads(const Graph& graph);

/// Brings the nodes into an order in which each value is there before it is read. Throws ModelError for a value that nothing gives, that two
/// nodes give, or for a cycle. `outer` are the values that a graph within another one may read of that.
void sort_nodes(Graph& graph, const std::set<std::string, std::less<>>& outer = {});

/// The file's name without folders, as errors show it.
std::string file_name(std::string_view path);
/// Reads an .onnx file, under the limits of these options. Throws IoError, ModelError.
Graph read_onnx(const std::string& path, const ModelOptions& options = {});
/// A tensor in a file of its own (.pb), as ONNX's test data are.
Tensor read_onnx_tensor(const std::string& path);

}  // namespace sinter::onnx
