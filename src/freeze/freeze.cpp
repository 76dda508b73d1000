// Implements sinter/freeze.hpp with the engine.
#include "sinter/freeze.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "freeze/frozen_function.hpp"
#include "freeze/plan_file.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "trace/site.hpp"

namespace sinter {

struct Function::State {
  freezing::FrozenFunction function;
  static freezing::FrozenFunction& of(const std::shared_ptr<State>& state, Location where) {
    if (!state) trace::fail<ValueError>({"Function", where}, "the function is empty (default-constructed); freeze() or load() one");
    return state->function;
  }
};

std::string to_string(const InputSpec& spec) {
  std::vector<std::string> sizes;
  for (const AxisSize& axis : spec.shape) sizes.push_back(axis.name.empty() ? std::to_string(axis.size) : axis.name);
  return fmt::format("{}{}{}[{}]", spec.name, spec.name.empty() ? "" : ": ", name(spec.dtype), fmt::join(sizes, ", "));
}

namespace detail {

void refuse_inputs(std::size_t given, std::size_t taken, Location where) {
  trace::fail<ValueError>({"freeze", where}, fmt::format("{} described, but the formula takes {}", counted(given, "input is", "inputs are"), taken));
}

}  // namespace detail

Function freeze(Function::Formula formula, const std::vector<InputSpec>& specs, std::vector<std::string> outputs, Location where) {
  Function function;
  function.state_ = std::shared_ptr<Function::State>(new Function::State{freezing::FrozenFunction(std::move(formula), specs, std::move(outputs), where)});
  return function;
}

void Function::save(std::string_view path, std::string_view note, Location where) const {
  freezing::save_plans(std::string(path), State::of(state_, where), note, {"Function::save", where});
}
Function Function::load(std::string_view path, Location where) {
  Function function;
  function.state_ = std::shared_ptr<State>(new State{freezing::FrozenFunction(freezing::load_plans(std::string(path), {"Function::load", where}))});
  return function;
}

std::vector<Tensor> Function::operator()(const std::vector<Tensor>& inputs, Location where) const { return State::of(state_, where).call(inputs, where); }
void Function::prepare(const std::map<std::string, std::int64_t>& sizes, Location where) const { State::of(state_, where).prepare(sizes, where); }
const std::vector<InputSpec>& Function::inputs() const { return State::of(state_, {}).inputs(); }
const std::vector<std::string>& Function::outputs() const { return State::of(state_, {}).outputs(); }
const std::string& Function::note() const { return State::of(state_, {}).note(); }
int Function::plans() const { return State::of(state_, {}).plans(); }
std::vector<FrozenFigures> Function::figures() const { return State::of(state_, {}).figures(); }
std::vector<std::string> Function::serves() const { return State::of(state_, {}).serves(); }
std::vector<std::string> Function::limits() const { return State::of(state_, {}).limits(); }
std::string Function::explain(const ExplainOptions& options) const { return State::of(state_, {}).explain(options); }

}  // namespace sinter
