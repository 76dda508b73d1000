// A graph that runs on tensors: each node is recorded by its operator's function.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "onnx/call.hpp"
#include "onnx/graph.hpp"
#include "onnx/sequences.hpp"

namespace sinter::onnx {

/// Thrown if a decision needs elements that are not known because the model is being planned.
struct NotThere : ModelError {
  using ModelError::ModelError;
};
/// One recording of a model. Inner graphs share it.
struct Recording {
  const ReadIntegers& read;
  std::int64_t unrolled = 0;  // recorded nodes of inner graphs
};

/// A graph whose values are numbered, so that a run looks up no names.
class Program {
 public:
  /// `precision`: the type in which float32 values are stored.
  explicit Program(Graph graph, DType precision = DType::float32);

  const Graph& graph() const { return graph_; }
  /// Records all nodes on these inputs, in the order of graph().inputs. Throws the operators' exceptions, and a ModelError for a missing operator.
  std::vector<Tensor> record(std::span<const Tensor> inputs, const ReadIntegers& read) const;
  /// Returns an input of the model on whose elements, and not only on whose shape, an input of one of this graph's nodes depends; null if there is none. A node
  /// of a branch counts as dependent.
  const std::string* input_behind(const Node& node, std::size_t input) const;

 private:
  struct Line {
    const Operator* op;                // nullptr: the operator is missing, or is of one of the kinds below
    const SequenceOperator* sequence;  // an operator on sequences of tensors
    std::vector<int> inputs, outputs;  // slots; -1: omitted
    std::vector<int> last;             // slots that are freed, because no later line reads them
    bool elementwise = false;          // reads elements of its operands, and takes no sizes from them
    bool exact = false;                // its operands and results are float32 at any precision
    std::vector<Program>
        branches;  // If, Loop and Scan: the inner graphs. Outer values that these read are their last inputs, and additional inputs of the line.
  };
  Graph graph_;
  std::vector<Line> lines_;
  std::vector<Tensor> constants_;  // by slot; empty for a result of a node
  std::vector<int> data_;          // by slot: the input on whose elements it depends, or -1
  DType precision_;
  std::vector<int> input_slots_, output_slots_;

  std::vector<NodeValue> record_values(std::span<const NodeValue> inputs, Recording& recording) const;
  std::vector<NodeValue> record_line(std::size_t n, std::vector<NodeValue>& operands, Recording& recording) const;
  Tensor narrowed(const Tensor& tensor) const;
  Tensor literal(const Line& line, const Node& node, std::size_t input, const Tensor& tensor, const ReadIntegers& read) const;
  Tensor numbers_of_shapes(int slot, const Tensor& tensor) const;
  // in control.cpp
  std::vector<NodeValue> record_control(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_within(const Program& inner, const Node& node, std::span<const NodeValue> operands, Recording& recording) const;
  const Tensor& one_value(const Node& node, std::size_t input, const NodeValue& operand) const;
  std::optional<std::vector<NodeValue>> selected(const Tensor& condition, std::vector<NodeValue> yes, const std::vector<NodeValue>& no) const;
  std::vector<NodeValue> planned_loop(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_if(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_loop(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
  std::vector<NodeValue> record_scan(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const;
};

/// Returns the attributes of an operator that hold inner graphs, in the order of Line::branches; nothing for other operators.
std::span<const std::string_view> graphs_within(std::string_view op);

/// Records one node on its inputs. Errors name the node, including errors of the functions that it calls.
Results record_node(const Graph& graph, const Node& node, const Operator* op, std::vector<Tensor> inputs, const ReadIntegers& read);
/// Returns the elements. Evaluates the tensor. Throws NotThere.
std::vector<std::int64_t> read_integers(const Node& node, std::size_t input, const Tensor& tensor);
/// Returns the operators that the graph uses and the table lacks, each once.
std::vector<MissingOperator> missing_operators(const Graph& graph);

}  // namespace sinter::onnx
