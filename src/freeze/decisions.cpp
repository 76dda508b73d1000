#include "freeze/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "freeze/visit.hpp"
#include "sinter/counted.hpp"
#include "sinter/engine.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::freezing {

/// Returns the turn at this decision; null at the end of the path.
const Turn* Decisions::turn(std::vector<RecordedPtr> values, const Site& site) {
  decided_.push_back(std::move(values));
  last_ = site;
  return decided_.size() <= path_.size() ? &path_[decided_.size() - 1] : nullptr;
}

bool Decisions::answer(const RecordedPtr& of, const RecordedPtr& condition, const Site& site) {
  for (const auto& [node, known] : answered_)
    if (node == of) return known;
  if (ended_) throw Undecided{};
  const Turn* const next = turn({condition}, site);
  if (!next) finish(End::condition);
  answered_.emplace_back(of, next->kind == Turn::Kind::yes);
  return answered_.back().second;
}

void Decisions::finish(End end, std::size_t state) {
  end_ = end;
  state_ = state;
  ended_ = true;
  throw Undecided{};
}

Tensor Decisions::introduce(const Shape& shape, DType dtype, const char* name) {
  introduced_.push_back(placeholder(shape, dtype));
  set_name(introduced_.back(), name);
  return introduced_.back();
}

namespace {

using Each = std::vector<std::pair<Shape, DType>>;

void check_loop(const Loop& loop, const Site& site) {
  if (loop.go.empty_handle() || loop.go.size() != 1) trace::fail<ShapeError>(site, "`go` has to be one element that says whether there is a first round");
  if (loop.most && (loop.most->empty_handle() || loop.most->size() != 1))
    trace::fail<ShapeError>(site, "`most` has to be one element, the largest number of rounds");
}

/// Checks what a round returns against the state that it began with, and against what another round collected, if one is known.
void check_round(const LoopRound& made, const std::vector<Tensor>& state, const std::optional<Each>& each, const Site& site) {
  const auto described = [](const Shape& shape, DType dtype) { return fmt::format("{} {}", name(dtype), to_string(shape)); };
  const auto text = [&](const Tensor& tensor) { return described(tensor.shape(), tensor.dtype()); };
  if (made.go.empty_handle() || made.go.size() != 1) trace::fail<ShapeError>(site, "a round has to return one element that says whether another one follows");
  if (made.state.size() != state.size())
    trace::fail<ShapeError>(site, fmt::format("the state is {}, but a round returns {}", counted(state.size(), "tensor"), made.state.size()));
  for (std::size_t k = 0; k < state.size(); ++k)
    if (made.state[k].shape() != state[k].shape() || made.state[k].dtype() != state[k].dtype())
      trace::fail<ShapeError>(
          site, fmt::format("number {} of the state is {}, but becomes {} in a round; it has to stay the same", k, text(state[k]), text(made.state[k])));
  if (!each) return;
  if (made.collected.size() != each->size())
    trace::fail<ShapeError>(site, fmt::format("one round collects {}, another {}", counted(each->size(), "value"), made.collected.size()));
  for (std::size_t k = 0; k < each->size(); ++k)
    if (const auto& [shape, dtype] = (*each)[k]; made.collected[k].shape() != shape || made.collected[k].dtype() != dtype)
      trace::fail<ShapeError>(
          site, fmt::format("number {} of the collected values is {} in one round, and {} in another", k, described(shape, dtype), text(made.collected[k])));
}

Each collected_by(const LoopRound& made) {
  Each each;
  for (const Tensor& one : made.collected) each.emplace_back(one.shape(), one.dtype());
  return each;
}

Tensor is_true(const Tensor& one) { return astype(reshape(one, {}), DType::bool_); }

/// Returns whether round number `round` runs: the condition holds, and the number is within the limit.
Tensor runs(const Loop& loop, const Tensor& go, const Tensor& round) {
  return loop.most ? logical_and(is_true(go), round < astype(reshape(*loop.most, {}), DType::int64)) : is_true(go);
}

}  // namespace

LoopResults run_loop(const Loop& loop, const Site& site) {
  LoopResults results{loop.state, {}};
  std::vector<std::vector<Tensor>> collected;
  std::int64_t rounds = 0;
  std::optional<Each> each;
  check_loop(loop, site);
  for (Tensor go = loop.go; runs(loop, go, full({}, rounds, DType::int64)).item<bool>(site.where); ++rounds) {
    LoopRound made = loop.body(full({}, rounds, DType::int64), results.state);
    check_round(made, results.state, each, site);
    each = collected_by(made);
    std::vector<Tensor> now = made.state;
    now.push_back(go = made.go);
    collected.resize(made.collected.size());
    for (std::size_t k = 0; k < collected.size(); ++k) now.push_back(collected[k].emplace_back(made.collected[k]));
    eval(now, site.where);
    results.state = std::move(made.state);
  }
  for (const std::vector<Tensor>& all : collected) results.collected.push_back(stack(all, 0));
  if (rounds > 0) return results;
  for (const Tensor& one : loop.body(full({}, 0, DType::int64), results.state).collected) {  // recorded only for the shapes
    Shape shape = one.shape();
    shape.insert(shape.begin(), 0);
    results.collected.push_back(zeros(shape, one.dtype()));
  }
  return results;
}

namespace {

/// Returns the values from which these are computed without the state, as far as they depend on inputs of the formula.
std::vector<RecordedPtr> unchanged_below(const std::vector<RecordedPtr>& results, const std::set<const trace::Recorded*>& state) {
  std::set<const trace::Recorded*> changes = state, listed;
  std::vector<RecordedPtr> unchanged;
  const auto add = [&](const RecordedPtr& node) {
    if (node->symbolic && !changes.contains(node.get()) && listed.insert(node.get()).second) unchanged.push_back(node);
  };
  visit(
      results, [](const RecordedPtr&) { return true; },
      [&](const RecordedPtr& node, const trace::Operands& operands) {
        const auto changed = [&](const RecordedPtr& operand) { return changes.contains(operand.get()); };
        if (std::none_of(operands.begin(), operands.end(), changed)) return;
        changes.insert(node.get());
        for (const RecordedPtr& operand : operands) add(operand);
      });
  for (const RecordedPtr& result : results) add(result);
  return unchanged;
}

}  // namespace

LoopResults Decisions::loop(const Loop& loop, const Site& site) {
  if (ended_) throw Undecided{};
  check_loop(loop, site);
  std::vector<RecordedPtr> values{runs(loop, loop.go, full({}, 0, DType::int64)).node()};
  for (const Tensor& one : loop.state) values.push_back(one.node());
  const bool ends_here = decided_.size() == path_.size();
  const auto of_turn = [](const Turn& turn) { return turn.through ? &*turn.through : nullptr; };
  const std::vector<Turn>* const through = ends_here ? through_ : of_turn(path_[decided_.size()]);
  std::optional<Each> each;
  if (through) {
    const std::vector<std::int64_t> any(through->size(), 3);
    Decisions within(*through, any);
    std::set<const trace::Recorded*> changing;
    std::vector<Tensor> state;
    for (const Tensor& one : loop.state) changing.insert(state.emplace_back(placeholder(one.shape(), one.dtype())).node().get());
    const Tensor round = placeholder({}, DType::int64);
    changing.insert(round.node().get());
    LoopRound made;
    try {
      made = loop.body(round, state);
    } catch (const Undecided&) {
      trace::fail<OtherDecisions>(site, "a round of the loop makes other decisions for these sizes");
    }
    check_round(made, state, {}, site);
    each = collected_by(made);
    std::vector<RecordedPtr> results{made.go.node()};
    for (const auto* list : {&made.state, &made.collected})
      for (const Tensor& one : *list) results.push_back(one.node());
    for (RecordedPtr& node : unchanged_below(results, changing)) values.push_back(std::move(node));
  }
  const Turn* const next = turn(std::move(values), site);
  if (!next) finish(End::loop, loop.state.size());
  const auto introduce_state = [&] {
    std::vector<Tensor> state;
    for (const Tensor& one : loop.state) state.push_back(introduce(one.shape(), one.dtype(), "state"));
    return state;
  };
  if (next->kind == Turn::Kind::round) {
    const Tensor round = introduce({}, DType::int64, "round");
    const std::vector<Tensor> state = introduce_state();
    const LoopRound made = loop.body(round, state);
    check_round(made, state, each, site);
    round_results_ = {runs(loop, made.go, round + 1)};
    round_results_.insert(round_results_.end(), made.state.begin(), made.state.end());
    round_results_.insert(round_results_.end(), made.collected.begin(), made.collected.end());
    finish(End::round, state.size());
  }
  LoopResults results;
  results.state = introduce_state();
  if (each->empty()) return results;
  const std::int64_t rounds = rounds_.at(collecting_++);
  for (auto& [shape, dtype] : *each) {
    shape.insert(shape.begin(), rounds);
    results.collected.push_back(introduce(shape, dtype, "collected"));
  }
  return results;
}

}  // namespace sinter::freezing
