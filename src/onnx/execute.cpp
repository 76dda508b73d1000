#include "onnx/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "onnx/naming.hpp"
#include "onnx/quantized.hpp"
#include "sinter/caller.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {

std::vector<std::int64_t> read_integers(const Node& node, std::size_t input, const Tensor& tensor) {
  try {
    return tensor.dtype() == DType::int64 ? tensor.to_vector<std::int64_t>() : tensor.astype(DType::int64).to_vector<std::int64_t>();
  } catch (const ValueError&) {  // a placeholder
    throw NotThere(
        fmt::format("{}: its operations depend on the elements of '{}', which the model's inputs determine. Such a model can be run. It can be compiled "
                    "if these inputs are fixed (sinter compile --set NAME=VALUE, ModelOptions::fixed)",
                    describe(node), input < node.inputs.size() ? node.inputs[input] : "its condition"));
  }
}

std::vector<MissingOperator> missing_operators(const Graph& graph) {
  std::vector<MissingOperator> missing;
  for (const Node& node : graph.nodes) {
    if (!graphs_within(node.op).empty()) {  // operators that the inner graphs lack
      for (const auto& [name, attribute] : node.attributes)
        if (const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&attribute))
          for (const MissingOperator& lack : missing_operators(**inner)) missing.push_back(lack);
      continue;
    }
    if (find_operator(node.op) || find_sequence_operator(node.op)) continue;
    auto known = std::find_if(missing.begin(), missing.end(), [&](const MissingOperator& m) { return m.op == node.op; });
    if (known == missing.end()) known = missing.insert(known, {node.op, describe(node), 0});
    ++known->nodes;
  }
  return missing;
}

namespace {

/// Operators whose operands all have the same type.
constexpr std::string_view kOneType[] = {"Add",           "And",         "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Concat",  "Conv",
                                         "ConvTranspose", "Div",         "Einsum",     "Equal",     "Gemm",       "Greater", "GreaterOrEqual",
                                         "Less",          "LessOrEqual", "MatMul",     "Max",       "Mean",       "Min",     "Mod",
                                         "Mul",           "Or",          "PRelu",      "Sub",       "Sum",        "Xor"};

void check_types(const Call& call) {
  if (std::find(std::begin(kOneType), std::end(kOneType), call.node().op) == std::end(kOneType)) return;
  for (std::size_t k = 1; k < call.count(); ++k)
    if (call.has(0) && call.has(k) && call.tensor(k).dtype() != call.tensor(0).dtype())
      call.refuse(fmt::format("operands of {} and {}; they must have one type", name(call.tensor(0).dtype()), name(call.tensor(k).dtype())));
}

template <class F> auto at_node(const Graph& graph, const Node& node, F f) {
  const Caller here("", Call::location(graph, node));
  return naming(graph.file, [&] { return describe(node); }, std::move(f));
}

/// A result that is too large is refused before it is computed.
void check_result(const Graph& graph, const Node& node, std::size_t output, const Tensor& result) {
  if (result.empty_handle() || result.size() <= graph.max_elements) return;
  throw ModelError(fmt::format("{}: {}: its result {} would have shape {}, which is more than the limit of {} elements (ModelOptions::max_elements)",
                               graph.file, describe(node), output, to_string(result.shape()), graph.max_elements));
}

}  // namespace

Results record_node(const Graph& graph, const Node& node, const Operator* op, std::vector<Tensor> inputs, const ReadIntegers& read) {
  if (!op) {
    int nodes = 0;
    for (const Node& other : graph.nodes) nodes += other.op == node.op;
    throw ModelError(fmt::format("{}: {}: sinter has no operator {}, which {} of the model's {} nodes need", graph.file, describe(node), node.op, nodes,
                                 graph.nodes.size()));
  }
  const Call call(graph, node, std::move(inputs), read);
  check_types(call);
  Results results = at_node(graph, node, [&] { return op->record(call); });
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    if (!node.outputs[k].empty() && (k >= results.size() || results[k].empty_handle()))
      throw ModelError(fmt::format("{}: {}: the output '{}' (number {}) is not supported", graph.file, describe(node), node.outputs[k], k));
  for (std::size_t k = 0; k < results.size(); ++k) check_result(graph, node, k, results[k]);
  return results;
}

namespace {

/// The outer values that the inner graph reads come after its inputs.
Graph graph_within(const Graph& graph, const Node& node, std::string_view attribute) {
  const auto found = node.attributes.find(attribute);
  const auto* inner = found == node.attributes.end() ? nullptr : std::get_if<std::shared_ptr<const Graph>>(&found->second);
  if (!inner) throw ModelError(fmt::format("{}: {}: the attribute '{}' is missing", graph.file, describe(node), attribute));
  Graph within = **inner;
  for (const std::string& name : outer_reads(within)) within.inputs.push_back({name, DType::float32, {}});
  sort_nodes(within);
  return within;
}

}  // namespace

namespace {

// Operators that have a float32 operand as a parameter: scales, thresholds.
constexpr std::string_view kExact[] = {"DequantizeLinear",
                                       "DynamicQuantizeLinear",
                                       "NonMaxSuppression",
                                       "QLinearConv",
                                       "QLinearMatMul",
                                       "QuantizeLinear",
                                       "Range",
                                       "Resize",
                                       "Upsample",
                                       kQuantizedConv,
                                       kQuantizedMatMul,
                                       "com.microsoft.QGemm",
                                       "com.microsoft.QLinearAdd",
                                       "com.microsoft.QLinearConcat",
                                       "com.microsoft.QLinearGlobalAveragePool",
                                       "com.microsoft.QLinearLeakyRelu",
                                       "com.microsoft.QLinearMul",
                                       "com.microsoft.QLinearSigmoid"};

bool is_exact(std::string_view op) { return std::find(std::begin(kExact), std::end(kExact), op) != std::end(kExact); }

}  // namespace

/// Converts a constant. Values out of the type's range become its largest number, so that a mask of -3e38 does not turn sums into infinities.
Tensor Program::narrowed(const Tensor& tensor) const {
  if (precision_ == DType::float32 || tensor.empty_handle() || tensor.dtype() != DType::float32) return tensor;
  if (precision_ == DType::float64) return astype(tensor, precision_);
  const double largest = precision_ == DType::float16 ? 65504 : 3.3895e38;
  const Tensor finite = where(isinf(tensor), tensor, clip(tensor, -largest, largest));
  return astype(finite, precision_);
}

Program::Program(Graph graph, DType precision) : graph_(std::move(graph)), precision_(precision) {
  std::unordered_map<std::string, int> slots;
  const auto slot = [&](const std::string& name) {
    if (name.empty()) return -1;
    const auto [at, added] = slots.emplace(name, static_cast<int>(constants_.size()));
    if (added) {
      const auto constant = graph_.constants.find(name);
      constants_.push_back(constant == graph_.constants.end() ? Tensor() : constant->second);
      if (!constants_.back().empty_handle()) set_name(constants_.back(), name);
      data_.push_back(-1);
    }
    return at->second;
  };
  for (const ModelValue& input : graph_.inputs) {
    input_slots_.push_back(slot(input.name));
    data_[static_cast<std::size_t>(input_slots_.back())] = static_cast<int>(input_slots_.size()) - 1;
  }
  std::unordered_map<int, std::size_t> last;
  for (const Node& node : graph_.nodes) {
    Line line{find_operator(node.op), find_sequence_operator(node.op), {}, {}, {}, false, is_exact(node.op), {}};
    line.elementwise = std::any_of(elementwise_operators().begin(), elementwise_operators().end(), [&](const Operator& row) { return &row == line.op; });
    const bool shape_alone = node.op == "Shape" || node.op == "Size";
    int data = -1;
    std::vector<std::string> inputs = node.inputs;
    for (const std::string_view attribute : graphs_within(node.op)) {
      line.branches.emplace_back(graph_within(graph_, node, attribute), precision_);
      for (const std::string& outer : outer_reads(*std::get<std::shared_ptr<const Graph>>(node.attributes.find(attribute)->second))) inputs.push_back(outer);
    }
    for (const std::string& input : inputs) {
      line.inputs.push_back(slot(input));
      if (line.inputs.back() < 0) continue;
      last[line.inputs.back()] = lines_.size();
      if (!shape_alone) data = std::max(data, data_[static_cast<std::size_t>(line.inputs.back())]);
    }
    for (const std::string& output : node.outputs) {
      line.outputs.push_back(slot(output));
      if (line.outputs.back() < 0) continue;
      last[line.outputs.back()] = std::max(last[line.outputs.back()], lines_.size());
      data_[static_cast<std::size_t>(line.outputs.back())] = data;
    }
    lines_.push_back(std::move(line));
  }
  for (const ModelValue& output : graph_.outputs) output_slots_.push_back(slot(output.name));
  std::vector<bool> as_it_is(constants_.size());
  for (const Line& line : lines_)
    for (const int input : line.inputs)
      if (line.exact && input >= 0) as_it_is[static_cast<std::size_t>(input)] = true;
  std::vector<Tensor> narrow;
  for (std::size_t k = 0; k < constants_.size(); ++k) {
    if (precision_ == DType::float32 || as_it_is[k] || constants_[k].empty_handle() || constants_[k].dtype() != DType::float32) continue;
    narrow.push_back(constants_[k] = narrowed(constants_[k]));
  }
  eval(narrow);
  for (const auto& [at, line] : last)
    if (std::find(output_slots_.begin(), output_slots_.end(), at) == output_slots_.end()) lines_[line].last.push_back(at);
}

const std::string* Program::input_behind(const Node& node, std::size_t input) const {
  static const std::string of_branch = "of the graph around it";
  if (&node < graph_.nodes.data() || &node >= graph_.nodes.data() + graph_.nodes.size()) return &of_branch;
  const Line& line = lines_[static_cast<std::size_t>(&node - graph_.nodes.data())];
  const int behind = line.inputs[input] < 0 ? -1 : data_[static_cast<std::size_t>(line.inputs[input])];
  return behind < 0 ? nullptr : &graph_.inputs[static_cast<std::size_t>(behind)].name;
}

/// Returns a number that follows from the inputs' shapes (a mask's length, for example) as a literal. A literal stays a number of the recording, and freezing
/// finds a rule for it. An element of a tensor would specialise the model to the present sizes.
Tensor Program::literal(const Line& line, const Node& node, std::size_t input, const Tensor& tensor, const ReadIntegers& read) const {
  const int slot = line.inputs[input];
  if (slot < 0 || data_[static_cast<std::size_t>(slot)] >= 0 || !constants_[static_cast<std::size_t>(slot)].empty_handle()) return tensor;
  if (tensor.dtype() != DType::int64 || tensor.size() != 1) return tensor;
  return full(tensor.shape(), read(node, input, tensor)[0], DType::int64);
}

/// Makes an output that depends only on the inputs' shapes (the output of Shape, for example) from literals, for the same reason as literal().
Tensor Program::numbers_of_shapes(int slot, const Tensor& tensor) const {
  constexpr std::int64_t kMaxElements = 16;
  const auto at = static_cast<std::size_t>(slot);
  if (tensor.empty_handle() || data_[at] >= 0 || !constants_[at].empty_handle() || tensor.dtype() != DType::int64 || tensor.size() < 1 ||
      tensor.size() > kMaxElements)
    return tensor;
  std::vector<Tensor> numbers;
  for (const std::int64_t number : tensor.to_vector<std::int64_t>()) numbers.push_back(full({1}, number, DType::int64));
  return reshape(concatenate(numbers, 0), tensor.shape());
}

std::vector<Tensor> Program::record(std::span<const Tensor> inputs, const ReadIntegers& read) const {
  std::vector<NodeValue> given;
  for (const Tensor& input : inputs) given.push_back({input});
  std::vector<Tensor> outputs;
  Recording recording{read};
  for (const NodeValue& output : record_values(given, recording)) {
    if (output.sequence) throw ModelError(fmt::format("{}: the output '{}' is a sequence, not a tensor", graph_.file, graph_.outputs[outputs.size()].name));
    if (output.tensor.empty_handle()) throw ModelError(fmt::format("{}: no node gives the output '{}'", graph_.file, graph_.outputs[outputs.size()].name));
    const std::size_t k = outputs.size();
    outputs.push_back(naming(
        graph_.file, [&] { return fmt::format("the output '{}'", graph_.outputs[k].name); },
        [&] { return numbers_of_shapes(output_slots_[k], output.tensor); }));
  }
  return outputs;
}

/// Records one node on its operands.
std::vector<NodeValue> Program::record_line(std::size_t n, std::vector<NodeValue>& operands, Recording& recording) const {
  const Line& line = lines_[n];
  const Node& node = graph_.nodes[n];
  const ReadIntegers& read = recording.read;
  const bool lists = std::any_of(operands.begin(), operands.end(), [](const NodeValue& operand) { return operand.sequence != nullptr; });
  std::vector<Tensor> plain;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    plain.push_back(operands[k].tensor);
    if (line.elementwise) plain.back() = literal(line, node, k, plain.back(), read);
  }
  if (!line.branches.empty()) return record_control(line, node, operands, recording);
  if (line.sequence && (!line.op || lists)) return line.sequence->record(Call(graph_, node, std::move(plain), read), operands);
  if (lists) throw ModelError(fmt::format("{}: {}: a sequence is given where a tensor is needed", graph_.file, describe(node)));
  std::vector<NodeValue> results;
  for (Tensor& result : record_node(graph_, node, line.op, std::move(plain), read)) results.push_back({std::move(result)});
  return results;
}

std::vector<NodeValue> Program::record_values(std::span<const NodeValue> inputs, Recording& recording) const {
  std::vector<NodeValue> values;
  values.reserve(constants_.size());
  for (const Tensor& constant : constants_) values.push_back({constant});
  const auto kept = [&](const Tensor& tensor) {
    return !tensor.empty_handle() && tensor.dtype() == DType::float32 ? astype(Arg(tensor, Location{}), precision_) : tensor;
  };
  for (std::size_t i = 0; i < input_slots_.size(); ++i) {
    NodeValue& value = values[static_cast<std::size_t>(input_slots_[i])] = inputs[i];
    value.tensor = kept(value.tensor);
  }
  std::vector<NodeValue> operands;
  for (std::size_t n = 0; n < lines_.size(); ++n) {
    const Line& line = lines_[n];
    const Node& node = graph_.nodes[n];
    operands.clear();
    for (const int slot : line.inputs) operands.push_back(slot < 0 ? NodeValue() : values[static_cast<std::size_t>(slot)]);
    for (NodeValue& operand : operands) {
      if (precision_ == DType::float32 || operand.tensor.empty_handle()) continue;
      if (!line.exact) operand.tensor = kept(operand.tensor);
      else if (operand.tensor.dtype() == precision_) operand.tensor = astype(Arg(operand.tensor, Location{}), DType::float32);
    }
    std::vector<NodeValue> results = at_node(graph_, node, [&] { return record_line(n, operands, recording); });
    for (std::size_t k = 0; k < line.outputs.size(); ++k) {
      if (line.outputs[k] < 0) continue;
      if (k >= results.size())
        throw ModelError(fmt::format("{}: {}: the output '{}' (number {}) is not supported", graph_.file, describe(node), node.outputs[k], k));
      check_result(graph_, node, k, results[k].tensor);
      if (precision_ != DType::float32) results[k].tensor = kept(results[k].tensor);
      values[static_cast<std::size_t>(line.outputs[k])] = std::move(results[k]);
    }
    for (const int slot : line.last) values[static_cast<std::size_t>(slot)] = {};
  }
  std::vector<NodeValue> outputs;
  for (std::size_t k = 0; k < output_slots_.size(); ++k) {
    const NodeValue& value = values[static_cast<std::size_t>(output_slots_[k])];
    NodeValue& output = outputs.emplace_back(value);
    const bool wide =
        precision_ != DType::float32 && graph_.outputs[k].dtype == DType::float32 && !output.tensor.empty_handle() && output.tensor.dtype() == precision_;
    if (wide) output.tensor = astype(Arg(output.tensor, Location{}), DType::float32);
  }
  return outputs;
}

}  // namespace sinter::onnx
