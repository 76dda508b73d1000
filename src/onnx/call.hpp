// Call: one node with the tensors that it reads, the argument of an operator's function. Also the table of operators.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/graph.hpp"
#include "sinter/errors.hpp"

namespace sinter::onnx {

using Results = std::vector<Tensor>;

/// Returns the elements of an integer tensor from which a shape is made. Evaluates the tensor.
using ReadIntegers = std::function<std::vector<std::int64_t>(const Node& node, std::size_t input, const Tensor& tensor)>;

class Call {
 public:
  /// Returns the name by which errors and explain() call a node: "resnet.onnx, Conv 'c1'", with the node's number as the line.
  static Location location(const Graph& graph, const Node& node);
  /// The limit of sizes, strides and widths; larger ones are refused.
  static constexpr std::int64_t kFar = std::int64_t{1} << 30;
  static constexpr double kMaxWork = 1024;

  Call(const Graph& graph, const Node& node, std::vector<Tensor> inputs, const ReadIntegers& read)
      : graph_(graph), node_(node), inputs_(std::move(inputs)), read_(read), where_(location(graph, node)) {}

  /// Makes a call of the same node with other inputs, none of which counts as a constant.
  Call with(std::vector<Tensor> inputs) const {
    Call other(graph_, node_, std::move(inputs), read_);
    other.own_ = false;
    return other;
  }

  std::size_t count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].empty_handle(); }
  /// Returns a required input. As an Arg it names the node in errors.
  const Tensor& tensor(std::size_t i) const;
  Arg operator[](std::size_t i) const { return Arg(tensor(i), where_); }
  Tensor tensor_or_none(std::size_t i) const { return has(i) ? inputs_[i] : Tensor(); }
  /// Returns all inputs, each of which is required.
  const std::vector<Tensor>& tensors() const;
  Arg at_node(const Tensor& tensor) const { return Arg(tensor, where_); }
  Location where() const { return where_; }

  bool wants(std::size_t output) const { return output < node_.outputs.size() && !node_.outputs[output].empty(); }
  std::size_t outputs() const { return node_.outputs.size(); }
  int opset() const { return graph_.opset; }
  const Node& node() const { return node_; }

  bool given(std::string_view attribute) const { return node_.attributes.contains(attribute); }
  std::int64_t integer(std::string_view attribute, std::optional<std::int64_t> otherwise = {}) const;
  double number(std::string_view attribute, std::optional<double> otherwise = {}) const;
  std::string text(std::string_view attribute, std::optional<std::string> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view attribute, std::optional<std::vector<std::string>> otherwise = {}) const;
  std::vector<std::int64_t> integers(std::string_view attribute, std::optional<std::vector<std::int64_t>> otherwise = {}) const;
  std::vector<float> numbers(std::string_view attribute, std::optional<std::vector<float>> otherwise = {}) const;
  const Tensor* constant(std::string_view attribute) const;
  /// Returns an attribute by which sizes are divided or from which they are made: 1 to kFar.
  std::int64_t size(std::string_view attribute, std::optional<std::int64_t> otherwise = {}) const;
  /// Returns the value of an input that is one floating-point constant of the model; nothing for another input.
  std::optional<double> constant_number(std::size_t i) const;
  /// These return whether an input is a constant of the model, and whether, in addition, all its bytes are 0.
  bool is_constant(std::size_t i) const;
  bool is_constant_zero(std::size_t i) const;

  /// Returns the elements of an integer input. Evaluates the input; if it depends only on the shapes of the model's inputs, this happens once for each set of
  /// shapes.
  std::vector<std::int64_t> values(std::size_t i) const;
  /// Returns the same for an input that must have one element.
  std::int64_t value(std::size_t i) const;
  double real(std::size_t i) const;
  /// Returns axes from the attribute of this name or, in newer versions of the operator, from an input.
  std::optional<std::vector<std::int64_t>> axes(std::string_view attribute, std::size_t input) const;
  /// Returns the axis as a number from 0 to rank - 1.
  std::int64_t axis(std::int64_t axis, int rank) const;

  // Sizes that a model states are checked before they are used, so that sums and products of a few of them fit into 64 bits.
  /// Returns the numbers, which must be within these bounds.
  std::vector<std::int64_t> within(std::vector<std::int64_t> numbers, std::string_view what, std::int64_t low, std::int64_t high = kFar) const;
  /// Returns the sizes as a shape. A value of the model must be allowed to have this shape (ModelOptions::max_elements).
  Shape shape(std::vector<std::int64_t> sizes, std::string_view what) const;
  /// Returns a number as an integer, rounded down. Refuses NaN and numbers beyond kFar.
  std::int64_t whole(double number, std::string_view what) const;
  /// Refuses an operator that computes more than kMaxWork products for each element that a value may have.
  void check_work(double products) const;

  /// Returns f(), which reads elements. If the elements are known only when the model is called, throws a ModelError that names the node that depends on them.
  template <class F> auto by_elements(std::string_view what, F f) const {
    try {
      return f();
    } catch (const ValueError& error) {
      if (std::string_view(error.what()).find("placeholder") == std::string_view::npos) throw;
      refuse(fmt::format("{} on the data; such a model can be run, but not compiled or frozen: {}", what, error.what()));
    }
  }

  /// Throws a ModelError that names the node.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<Tensor> inputs_;
  const ReadIntegers& read_;
  Location where_;
  bool own_ = true;  // the inputs are the node's

  template <class T> const T* attribute(std::string_view name) const;
};

/// The number of inputs that an operator takes in any of its versions. The first `min` inputs are required.
struct Inputs {
  std::size_t min, max;
};
inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Operator {
  std::string_view name;
  Inputs inputs;
  Results (*record)(const Call& call);
};
/// Returns the operator's row, or nullptr.
const Operator* find_operator(std::string_view name);
std::vector<std::string_view> operator_names();
/// Throws a ModelError if a node of a known operator has too few or too many inputs.
void check_inputs(const std::string& file, const Node& node);

// The families of the table; each is in a separate file.
std::span<const Operator> elementwise_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> indexing_operators();
std::span<const Operator> network_operators();
std::span<const Operator> quantized_operators();
std::span<const Operator> runtime_quantized_operators();
std::span<const Operator> attention_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> vision_operators();
std::span<const Operator> signal_operators();
/// Returns all families.
std::vector<std::span<const Operator>> operator_families();

}  // namespace sinter::onnx
