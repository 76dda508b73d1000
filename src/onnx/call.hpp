// Call: one node on the tensors it reads, as an operator's function sees it; and the table of operators.
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

/// The elements of an integer tensor, evaluated, from which a shape is made.
using ReadIntegers = std::function<std::vector<std::int64_t>(const Node& node, std::size_t input, const Tensor& tensor)>;

class Call {
 public:
  /// What errors and explain() call a node: "resnet.onnx, Conv 'c1'", with its number for a line.
  static Location location(const Graph& graph, const Node& node);
  /// Beyond this no size, stride or width has a meaning.
  static constexpr std::int64_t kFar = std::int64_t{1} << 30;
  static constexpr double kMostWork = 1024;

  Call(const Graph& graph, const Node& node, std::vector<Tensor> inputs, const ReadIntegers& read)
      : graph_(graph), node_(node), inputs_(std::move(inputs)), read_(read), where_(location(graph, node)) {}

  std::size_t count() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && !inputs_[i].empty_handle(); }
  /// An input, which has to be there; as an Arg it names the node in errors.
  const Tensor& tensor(std::size_t i) const;
  Arg operator[](std::size_t i) const { return Arg(tensor(i), where_); }
  Tensor tensor_or_none(std::size_t i) const { return has(i) ? inputs_[i] : Tensor(); }
  /// All of them; each has to be there.
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
  /// An attribute that sizes are divided by or made of: 1 to kFar.
  std::int64_t size(std::string_view attribute, std::optional<std::int64_t> otherwise = {}) const;
  /// An input that is one floating-point number of the model's own.
  std::optional<double> constant_number(std::size_t i) const;
  /// Whether an input is the model's own; and bytes that are all 0.
  bool is_constant(std::size_t i) const;
  bool is_constant_zero(std::size_t i) const;

  /// The elements of an integer input. Evaluates it, which is done once for each shape of the model's inputs where it depends on nothing else.
  std::vector<std::int64_t> values(std::size_t i) const;
  /// The same of an input that has to hold one number.
  std::int64_t value(std::size_t i) const;
  double real(std::size_t i) const;
  /// Axes as an attribute of this name, or from an input where newer versions have them.
  std::optional<std::vector<std::int64_t>> axes(std::string_view attribute, std::size_t input) const;
  /// 0 to rank-1.
  std::int64_t axis(std::int64_t axis, int rank) const;

  // The sizes that a model states are checked before anything is computed with it: sums and products of a few such numbers fit into 64 bits.
  /// The numbers, which have to lie between these bounds.
  std::vector<std::int64_t> within(std::vector<std::int64_t> numbers, std::string_view what, std::int64_t least, std::int64_t most = kFar) const;
  /// The sizes as a shape, which has to be one of a value that a model may have (ModelOptions::most_elements).
  Shape shape(std::vector<std::int64_t> sizes, std::string_view what) const;
  /// A number as an integer, rounded down: refuses NaN and numbers beyond kFar.
  std::int64_t whole(double number, std::string_view what) const;
  /// Refuses an operator that computes more than kMostWork products for each element that a value may have.
  void check_work(double products) const;

  /// What f gives, which reads elements; where those are what a model is called with only later, ModelError that says what depends on them.
  template <class F> auto by_elements(std::string_view what, F f) const {
    try {
      return f();
    } catch (const ValueError& error) {
      if (std::string_view(error.what()).find("placeholder") == std::string_view::npos) throw;
      refuse(fmt::format("{} on the data; such a model can be run, and not compiled or frozen: {}", what, error.what()));
    }
  }

  /// ModelError that names the node.
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<Tensor> inputs_;
  const ReadIntegers& read_;
  Location where_;

  template <class T> const T* attribute(std::string_view name) const;
};

/// How many inputs an operator takes in any of its versions. As many as the least have to be given.
struct Inputs {
  std::size_t least, most;
};
inline constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();

struct Operator {
  std::string_view name;
  Inputs inputs;
  Results (*record)(const Call& call);
};
/// The row of an operator, or nullptr.
const Operator* find_operator(std::string_view name);
std::vector<std::string_view> operator_names();
/// ModelError where a node of an operator that is there has fewer or more inputs than that takes.
void check_inputs(const std::string& file, const Node& node);

// The families of the table; each is a file.
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
/// All of them.
std::vector<std::span<const Operator>> operator_families();

}  // namespace sinter::onnx
