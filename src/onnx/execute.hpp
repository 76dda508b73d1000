// A graph on tensors: each node recorded by its operator's function.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/call.hpp"
#include "onnx/graph.hpp"
#include "onnx/sequences.hpp"

namespace sinter::onnx {

/// One recording of a model, which the graphs within share.
struct Recording {
  const ReadIntegers& read;
  std::int64_t unrolled = 0;  // nodes of graphs within that were recorded
};

/// A graph whose values are numbered, so that a run looks nothing up by name.
class Program {
 public:
  /// `precision`: what float32 values are kept in.
  explicit Program(Graph graph, DType precision = DType::float32);

  const Graph& graph() const { return graph_; }
  /// Records all nodes on these inputs, in the order of graph().inputs. Throws what the operators throw; for a missing one ModelError.
  std::vector<Tensor> record(std::span<const Tensor> inputs, const ReadIntegers& read) const;
  /// Whether an input of one of this graph's nodes depends on the inputs' elements, and not on their shapes alone;
  /// a node of a branch counts as one that does.
  bool depends_on_data(const Node& node, std::size_t input) const;

 private:
  struct Line {
    const Operator* op;                // nullptr: missing, or one of those below
    const SequenceOperator* sequence;  // of lists of tensors
    std::vector<int> inputs, outputs;  // slots; -1: left out
    std::vector<int> last;             // slots that nobody reads afterwards
    bool elementwise = false;          // reads elements of its operands, and no sizes from them
    bool exact = false;                // takes and gives float32 whatever the precision
    std::vector<Program> branches;  // of If, Loop and Scan: the graphs within; what they read of this graph are their last inputs, and further ones of the line
  };
  Graph graph_;
  std::vector<Line> lines_;
  std::vector<Tensor> constants_;  // by slot; empty for what a node gives
  std::vector<bool> data_;         // by slot
  DType precision_;
  std::vector<int> input_slots_, output_slots_;

  std::vector<NodeValue> record_values(std::span<const NodeValue> inputs, Recording& recording) const;
  std::vector<NodeValue> record_line(std::size_t n, std::vector<NodeValue>& operands, Recording& recording) const;
  Tensor narrowed(const Tensor& tensor) const;
  Tensor literal(const Line& line, const Node& node, std::size_t input, const Tensor& tensor, const ReadIntegers& read) const;
  Tensor numbers_of_shapes(int slot, const Tensor& tensor) const;
  // control.cpp
  Tensor none_added(const Node& node, const ModelValue& each) const;
  std::vector<NodeValue> record_control(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_within(const Program& inner, const Node& node, std::span<const NodeValue> operands, Recording& recording) const;
  std::int64_t number(const Node& node, std::size_t input, const NodeValue& operand, const Recording& recording) const;
  std::vector<NodeValue> record_if(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_loop(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_scan(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
};

/// The attributes of an operator that hold graphs it runs, in the order of Line::branches; none of other operators.
std::span<const std::string_view> graphs_within(std::string_view op);

/// One node on its inputs. Errors name the node; so do those of the functions that it calls.
Results record_node(const Graph& graph, const Node& node, const Operator* op, std::vector<Tensor> inputs, const ReadIntegers& read);
/// Reads by evaluating.
std::vector<std::int64_t> read_integers(const Node& node, std::size_t input, const Tensor& tensor);
/// Operators that the graph holds and the table lacks, each once.
std::vector<MissingOperator> missing_operators(const Graph& graph);

}  // namespace sinter::onnx
