#include "sinter/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "onnx/execute.hpp"
#include "onnx/graph.hpp"
#include "onnx/naming.hpp"
#include "onnx/rewrite.hpp"
#include "sinter/engine.hpp"
#include "sinter/ops.hpp"

namespace sinter {
namespace {

std::string at(Location where) { return where.line ? fmt::format(" at {}:{}", where.file, where.line) : ""; }

}  // namespace

struct Model::State {
  State(onnx::Graph graph, DType precision) : program(std::move(graph), precision) {}
  onnx::Program program;
  int nodes_in_file = 0;
  std::vector<Rewrite> rewrites;
  /// Elements that were read from tensors that depend only on the inputs' shapes, by shapes, node and input. A second call then evaluates nothing.
  using Place = std::pair<int, std::size_t>;
  mutable std::mutex mutex;
  mutable std::map<std::vector<Shape>, std::map<Place, std::vector<std::int64_t>>> read;
};

Model Model::load(std::string_view path, const ModelOptions& options, Location where) {
  if (!is_floating(options.precision))
    throw ValueError(fmt::format("Model::load: the precision is float32, float64, float16 or bfloat16, not {}{}", name(options.precision), at(where)));
  if (options.most_elements < 1 || options.most_unrolled < 1)
    throw ValueError(fmt::format("Model::load: most_elements is {} and most_unrolled {}, which have to be positive{}", options.most_elements,
                                 options.most_unrolled, at(where)));
  return onnx::naming(
      onnx::file_name(path), [] { return "the model cannot be loaded"; },
      [&] {
        onnx::Graph graph = onnx::read_onnx(std::string(path), options);
        const int nodes = static_cast<int>(graph.nodes.size());
        std::vector<Rewrite> rewrites;
        if (options.rewrite) rewrites = onnx::rewrite(graph, options.without);
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
    throw ValueError(fmt::format("{} takes {} inputs, not {}{}", graph.file, graph.inputs.size(), inputs.size(), at(where)));
  std::map<std::string, std::pair<std::int64_t, std::string>> symbols;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ModelValue& declared = graph.inputs[i];
    const Tensor& given = inputs[i];
    if (given.empty_handle()) throw ValueError(fmt::format("{}: the input {} is an empty tensor{}", graph.file, to_string(declared), at(where)));
    if (given.dtype() != declared.dtype)
      throw DTypeError(fmt::format("{}: the input {} is given as {}{}", graph.file, to_string(declared), name(given.dtype()), at(where)));
    if (!declared.shape) continue;
    bool fits = given.shape().size() == declared.shape->size();
    for (std::size_t k = 0; fits && k < declared.shape->size(); ++k) {
      const ModelSize& size = (*declared.shape)[k];
      const std::int64_t now = given.shape()[k];
      if (size.size) fits = *size.size == now;
      else {
        const auto [known, added] = symbols.emplace(size.symbol, std::pair(now, declared.name));
        if (!added && known->second.first != now && known->second.second != declared.name)  // twice in one input: the name has no meaning
          throw ShapeError(fmt::format("{}: the input {} is given with {} = {}, and {} with {}{}", graph.file, to_string(declared), size.symbol, now,
                                       known->second.second, known->second.first, at(where)));
      }
    }
    if (!fits)
      throw ShapeError(fmt::format("{}: the input {} is given with the shape {}{}", graph.file, to_string(declared), to_string(given.shape()), at(where)));
  }
}

}  // namespace

std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs, Location where) const {
  const State& state = *state_;
  check_inputs(state.program.graph(), inputs, where);
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const auto read = [&](const onnx::Node& node, std::size_t input, const Tensor& tensor) {
    if (state.program.depends_on_data(node, input)) return onnx::read_integers(node, input, tensor);
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
  std::vector<Tensor> ordered;
  for (const ModelValue& input : graph.inputs) {
    const auto given = inputs.find(input.name);
    if (given == inputs.end()) throw ValueError(fmt::format("{}: the input {} is not given{}", graph.file, to_string(input), at(where)));
    ordered.push_back(given->second);
  }
  for (const auto& [name, tensor] : inputs)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(), [&](const ModelValue& input) { return input.name == name; })) {
      std::string list;
      for (const ModelValue& input : graph.inputs) list += (list.empty() ? "" : ", ") + to_string(input);
      throw ValueError(fmt::format("{} has no input '{}'; there are {}{}", graph.file, name, list, at(where)));
    }
  const std::vector<Tensor> results = (*this)(ordered, where);
  eval(results, where);
  std::map<std::string, Tensor> named;
  for (std::size_t k = 0; k < results.size(); ++k) named.emplace(graph.outputs[k].name, results[k]);
  return named;
}

}  // namespace sinter
