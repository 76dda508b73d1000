// Implements sinter/freeze.hpp with the engine.
#include "sinter/freeze.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "freeze/decisions.hpp"
#include "freeze/plan_file.hpp"
#include "freeze/staged_function.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"
#include "trace/site.hpp"

namespace sinter {

struct Function::State {
  freezing::StagedFunction function;
  static freezing::StagedFunction& of(const std::shared_ptr<State>& state, Location where) {
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
  function.state_ = std::shared_ptr<Function::State>(new Function::State{freezing::StagedFunction(std::move(formula), specs, std::move(outputs), where)});
  return function;
}

void Function::save(std::string_view path, std::string_view note, Location where) const {
  freezing::save_plans(std::string(path), State::of(state_, where), note, {"Function::save", where});
}
Function Function::load(std::string_view path, Location where) {
  Function function;
  function.state_ = std::shared_ptr<State>(new State{freezing::StagedFunction(freezing::load_plans(std::string(path), {"Function::load", where}))});
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
std::vector<std::string> Function::missing() const { return State::of(state_, {}).missing(); }
bool Function::has_plan_for(const std::map<std::string, std::int64_t>& sizes) const { return State::of(state_, {}).has_plan_for(sizes); }
std::vector<std::string> Function::limits() const { return State::of(state_, {}).limits(); }
std::string Function::explain(const ExplainOptions& options) const { return State::of(state_, {}).explain(options); }

std::size_t decisions_made() {
  const freezing::Decisions* const decisions = freezing::Decisions::current();
  return decisions ? decisions->decided().size() : 0;
}

bool is_freezing() { return freezing::Decisions::current() != nullptr; }

bool decide(const Tensor& condition, Location where) {
  const trace::Site site = trace::site_of("decide", where);
  const trace::RecordedPtr& node = trace::node_of(site, condition);
  if (condition.size() != 1) trace::fail<ShapeError>(site, fmt::format("a condition is one element; this has the shape {}", to_string(condition.shape())));
  const Tensor is_true = astype(reshape(Arg(condition, where), {}), DType::bool_);
  freezing::Decisions* const decisions = freezing::Decisions::current();
  return node->symbolic && decisions ? decisions->answer(node, is_true.node(), site) : is_true.item<bool>(where);
}

LoopResults loop(const Loop& loop, Location where) {
  const trace::Site site = trace::site_of("loop", where);
  if (!loop.body) trace::fail<ValueError>(site, "the body is empty");
  if (freezing::Decisions* const decisions = freezing::Decisions::current()) return decisions->loop(loop, site);
  return freezing::run_loop(loop, site);
}

}  // namespace sinter
