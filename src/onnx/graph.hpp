// Graph: a model as a plain value: its nodes in a valid order, the constants that they read, its inputs and outputs.
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
  std::string op;                            // "Conv"; with the domain if it is not ONNX's own: "com.microsoft.Gelu"
  std::string name;                          // may be empty
  int place = 0;                             // the number of the node in the file
  std::vector<std::string> inputs, outputs;  // names of values; an empty name means that the value is omitted
  std::map<std::string, Attribute, std::less<>> attributes;
};
/// x * factor + summand, with one factor and one summand for each channel: inputs x, factor, summand. The rewrite `fold_batch_norm` makes this operator; it
/// occurs in no file.
inline constexpr std::string_view kScaledChannels = "sinter.ScaledChannels";
/// Returns a text such as "node 'conv1' (Conv, number 3)".
std::string describe(const Node& node);

struct Graph {
  std::string file;                                 // the file's name without folders, for messages
  int opset = 0;                                    // version of ONNX's own operators
  std::int64_t max_elements = 0, max_unrolled = 0;  // as in ModelOptions
  std::vector<Node> nodes;
  std::map<std::string, Tensor, std::less<>> constants;
  std::vector<ModelValue> inputs, outputs;

  bool is_output(std::string_view value) const;
};

/// outer_reads() returns the values of the enclosing graph that this inner graph (a branch of an If) reads. inner_reads() returns the values of this graph that
/// its inner graphs read.
std::set<std::string, std::less<>> outer_reads(const Graph& graph);
std::set<std::string, std::less<>> inner_reads(const Graph& graph);

/// Sorts the nodes so that each value is produced before it is read. Throws a ModelError for a value that no node or that two nodes produce, or for a cycle.
/// `outer`: the values of the enclosing graph that an inner graph may read.
void sort_nodes(Graph& graph, const std::set<std::string, std::less<>>& outer = {});

/// Returns the file's name without folders, as errors show it.
std::string file_name(std::string_view path);
/// Reads an .onnx file, within the limits of the options. Throws IoError, ModelError.
Graph read_onnx(const std::string& path, const ModelOptions& options = {});
/// Reads a tensor from a separate file (.pb), the form of ONNX's test data.
Tensor read_onnx_tensor(const std::string& path);

}  // namespace sinter::onnx
