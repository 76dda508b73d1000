#include "sinter/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "onnx/execute.hpp"
#include "onnx/graph.hpp"
#include "onnx/naming.hpp"
#include "onnx/rewrite.hpp"
#include "sinter/counted.hpp"
#include "sinter/engine.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

std::string listed(const std::vector<ModelValue>& values) {
  std::string list;
  for (const ModelValue& value : values) list += (list.empty() ? "" : ", ") + to_string(value);
  return list.empty() ? "none" : list;
}

void fix(onnx::Graph& graph, const std::map<std::string, Tensor>& fixed) {
  for (const auto& [name, value] : fixed) {
    const auto input = std::find_if(graph.inputs.begin(), graph.inputs.end(), [&](const ModelValue& one) { return one.name == name; });
    if (input == graph.inputs.end()) throw ValueError(fmt::format("there is no input '{}' to fix; the inputs are {}", name, listed(graph.inputs)));
    Shape shape = value.shape();
    if (value.ndim() == 0 && input->shape) {
      for (const ModelSize& size : *input->shape) {
        if (!size.size) throw ShapeError(fmt::format("the input {} is fixed to one number, but has a size that is not known", to_string(*input)));
        shape.push_back(*size.size);
      }
    }
    const Tensor constant = contiguous(broadcast_to(astype(value, input->dtype), shape));
    eval(constant);
    graph.constants.insert_or_assign(name, constant);
    graph.inputs.erase(input);
  }
}

/// Returns whether subnormal constants may become 0. With precision float64, subnormal numbers of float32 are normal. Constants may be computed from fixed
/// inputs, which are data and not weights.
bool flushes(const ModelOptions& options) {
  const auto is_data = [](const auto& fixed) { return is_floating(fixed.second.dtype()) && fixed.second.size() > 1; };
  return options.precision != DType::float64 && std::none_of(options.fixed.begin(), options.fixed.end(), is_data);
}

}  // namespace

struct Model::State {
  State(onnx::Graph graph, DType precision) : program(std::move(graph), precision) {}
  onnx::Program program;
  int nodes_in_file = 0;
  std::vector<Rewrite> rewrites;
  /// Elements of tensors that depend only on the inputs' shapes, by shapes, node and input. With these, a second call evaluates nothing.
  using Place = std::pair<int, std::size_t>;
  mutable std::mutex mutex;
  mutable std::map<std::vector<Shape>, std::map<Place, std::vector<std::int64_t>>> read;
};

Model Model::load(std::string_view path, const ModelOptions& options, Location where) {
  if (!is_floating(options.precision))
    throw ValueError(fmt::format("Model::load: the precision is float32, float64, float16 or bfloat16, not {}{}", name(options.precision), onnx::at(where)));
  if (options.max_elements < 1 || options.max_unrolled < 1)
    throw ValueError(fmt::format("Model::load: max_elements is {} and max_unrolled {}, which have to be positive{}", options.max_elements, options.max_unrolled,
                                 onnx::at(where)));
  return onnx::naming(
      onnx::file_name(path), [] { return "the model cannot be loaded"; },
      [&] {
        onnx::Graph graph = onnx::read_onnx(std::string(path), options);
        fix(graph, options.fixed);
        const int nodes = static_cast<int>(graph.nodes.size());
        std::vector<Rewrite> rewrites;
        std::vector<std::string> without = options.without;
        if (!flushes(options)) without.emplace_back("flush_subnormals");
        if (options.rewrite) rewrites = onnx::rewrite(graph, without);
        auto state = std::make_shared<State>(std::move(graph), options.precision);
        state->nodes_in_file = nodes;
        state->rewrites = std::move(rewrites);
        Model model;
        model.state_ = std::move(state);
        return model;
      });
}

const std::vector<ModelValue>& Model::inputs() const { return state_->program.graph().inputs; }
const std::vector<ModelValue>& Model::outputs() const { return state_->program.graph().outputs; }
int Model::nodes_in_file() const { return state_->nodes_in_file; }
int Model::nodes() const { return static_cast<int>(state_->program.graph().nodes.size()); }
const std::vector<Rewrite>& Model::rewrites() const { return state_->rewrites; }
std::vector<MissingOperator> Model::missing() const { return onnx::missing_operators(state_->program.graph()); }

namespace {

/// Checks that each name has one size in all inputs.
void check_inputs(const onnx::Graph& graph, const std::vector<Tensor>& inputs, Location where) {
  if (inputs.size() != graph.inputs.size())
    throw ValueError(fmt::format("{} takes {}, not {}{}", graph.file, sinter::counted(graph.inputs.size(), "input"), inputs.size(), onnx::at(where)));
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelValue& declared = graph.inputs[i];
    const Tensor& given = inputs[i];
    if (given.empty_handle()) throw ValueError(fmt::format("{}: the input {} is an empty tensor{}", graph.file, to_string(declared), onnx::at(where)));
    if (given.dtype() != declared.dtype)
      throw DTypeError(fmt::format("{}: the input {} is given as {}{}", graph.file, to_string(declared), name(given.dtype()), onnx::at(where)));
    if (!declared.shape) continue;
    bool fits = given.shape().size() == declared.shape->size();
    for (std::size_t k = 0; fits && k < declared.shape->size(); ++k) {
      const ModelSize& size = (*declared.shape)[k];
      const std::int64_t now = given.shape()[k];
      if (size.size) fits = *size.size == now;
      else {
        const auto [known, added] = symbols.emplace(size.symbol, std::pair(now, declared.name));
        if (!added && known->second.first != now && known->second.second != declared.name)  // the name occurs twice in one input, so it has no meaning
          throw ShapeError(fmt::format("{}: the input {} is given with {} = {}, and {} with {}{}", graph.file, to_string(declared), size.symbol, now,
                                       known->second.second, known->second.first, onnx::at(where)));
      }
    }
    if (!fits)
      throw ShapeError(
          fmt::format("{}: the input {} is given with the shape {}{}", graph.file, to_string(declared), to_string(given.shape()), onnx::at(where)));
  }
}

}  // namespace

std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs, Location where) const {
  const State& state = *state_;
  check_inputs(state.program.graph(), inputs, where);
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const auto read = [&](const onnx::Node& node, std::size_t input, const Tensor& tensor) {
    if (const std::string* behind = state.program.input_behind(node, input)) {
      try {
        return onnx::read_integers(node, input, tensor);
      } catch (const onnx::NotThere& error) {
        throw onnx::NotThere(fmt::format("{}; it comes from the input {}", error.what(), *behind));
      }
    }
    const State::Place place{static_cast<int>(&node - state.program.graph().nodes.data()), input};
    {
      const std::lock_guard lock(state.mutex);
      const auto known = state.read.find(shapes);
      if (known != state.read.end())
        if (const auto found = known->second.find(place); found != known->second.end()) return found->second;
    }
    std::vector<std::int64_t> numbers = onnx::read_integers(node, input, tensor);
    const std::lock_guard lock(state.mutex);
    if (state.read.size() > 64) state.read.clear();  // shapes that differ in every call
    return state.read[shapes][place] = std::move(numbers);
  };
  return state.program.record(inputs, read);
}

std::map<std::string, Tensor> Model::run(const std::map<std::string, Tensor>& inputs, Location where) const {
  const onnx::Graph& graph = state_->program.graph();
  for (const auto& [name, tensor] : inputs)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(), [&](const ModelValue& input) { return input.name == name; }))
      throw ValueError(fmt::format("{} has no input '{}'; its inputs are {}{}", graph.file, name, listed(graph.inputs), onnx::at(where)));
  std::vector<Tensor> ordered;
  std::vector<ModelValue> lacking;
  for (const ModelValue& input : graph.inputs) {
    const auto given = inputs.find(input.name);
    if (given == inputs.end()) lacking.push_back(input);
    else ordered.push_back(given->second);
  }
  if (!lacking.empty())
    throw ValueError(fmt::format("{}: the input{} {} {} not given{}", graph.file, lacking.size() == 1 ? "" : "s", listed(lacking),
                                 lacking.size() == 1 ? "is" : "are", onnx::at(where)));
  const std::vector<Tensor> results = (*this)(ordered, where);
  eval(results, where);
  std::map<std::string, Tensor> named;
  for (std::size_t k = 0; k < results.size(); ++k) named.emplace(graph.outputs[k].name, results[k]);
  return named;
}

}  // namespace sinter
