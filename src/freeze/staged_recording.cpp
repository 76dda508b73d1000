#include "freeze/staged_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "freeze/visit.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::freezing {
namespace {

using trace::fail;
using trace::Recorded;
using NodeNumbers = std::unordered_map<const Recorded*, std::size_t>;
using Replaced = std::unordered_map<const Recorded*, RecordedPtr>;

/// The formula, recorded along a path up to where the stage ends.
struct Walked {
  std::vector<std::vector<RecordedPtr>> decided;  // see Decisions
  std::vector<RecordedPtr> results;               // of the formula or the round
  std::vector<Tensor> introduced;
  End end = End::results;
  Site last;
  std::size_t state = 0;
};

/// Records the formula on inputs, the last of which count the rounds of loops. `through`: turns through a round of the loop at which the recording ends.
Walked walk(const Function::Formula& formula, const std::vector<Tensor>& inputs, const std::vector<Turn>& turns, std::size_t counters,
            const std::vector<Turn>* through = nullptr) {
  const auto first_counter = inputs.end() - static_cast<std::ptrdiff_t>(counters);
  std::vector<std::int64_t> rounds;
  for (auto counter = first_counter; counter != inputs.end(); ++counter) rounds.push_back(counter->size());
  Decisions decisions(turns, rounds, through);
  std::vector<Tensor> results;
  try {
    results = formula({inputs.begin(), first_counter});
  } catch (const Undecided&) {
    results = decisions.round_results();
  }
  Walked walked{decisions.decided(), {}, decisions.introduced(), decisions.end(), decisions.last(), decisions.state()};
  for (const Tensor& result : results) walked.results.push_back(trace::node_of({"Function", {}}, result));
  return walked;
}

/// Returns what a stage computes, without the values that it keeps.
std::vector<RecordedPtr> results_of(const Walked& walked) {
  if (walked.end == End::results || walked.end == End::round) return walked.results;
  const std::vector<RecordedPtr>& values = walked.decided.back();
  return {values.begin(), values.begin() + 1 + static_cast<std::ptrdiff_t>(walked.state)};
}

/// Returns the values from which these are computed, operands first, in an order that depends only on the structure.
std::vector<RecordedPtr> values_below(const std::vector<RecordedPtr>& roots) {
  std::vector<RecordedPtr> values;
  visit(roots, [](const RecordedPtr&) { return true; }, [&](const RecordedPtr& node, const trace::Operands&) { values.push_back(node); });
  return values;
}

std::vector<RecordedPtr> kept_values(const std::vector<RecordedPtr>& decided, const std::vector<std::size_t>& numbers) {
  std::vector<RecordedPtr> kept;
  if (numbers.empty()) return kept;
  const std::vector<RecordedPtr> values = values_below(decided);
  for (const std::size_t number : numbers) kept.push_back(values[std::min(number, values.size() - 1)]);
  return kept;
}

/// Returns the values that the stages before this one keep.
std::set<const Recorded*> given_values(const StagePath& path, const Walked& walked) {
  std::set<const Recorded*> given;
  for (std::size_t k = 0; k < path.turns.size(); ++k)
    for (const RecordedPtr& node : kept_values(walked.decided[k], path.kept[k])) given.insert(node.get());
  return given;
}

/// Returns for each value below a decision whether its computation contains a reduction, a scan or a library call that no stage before this one has computed.
std::vector<bool> costly_values(const StagePath& path, const Walked& walked) {
  const std::set<const Recorded*> given = given_values(path, walked);
  std::vector<bool> costly;
  NodeNumbers numbers;
  for (const RecordedPtr& node : values_below(walked.decided[path.turns.size()])) {
    bool is_costly = trace::is_reduction(node->op) || trace::is_step(node->op);
    for (const RecordedPtr& operand : node->inputs())
      if (const auto found = numbers.find(operand.get()); found != numbers.end()) is_costly = is_costly || costly[found->second];
    numbers.emplace(node.get(), costly.size());
    costly.push_back(is_costly && !given.contains(node.get()));
  }
  return costly;
}

/// Returns the inputs of the stage after a loop: those of the loop, and a counter of rounds.
std::vector<Tensor> with_counter(std::vector<Tensor> inputs, std::size_t collected) {
  constexpr std::int64_t kAnyRounds = 3;
  if (collected > 0) inputs.push_back(placeholder({kAnyRounds}, DType::bool_));
  return inputs;
}

/// Chooses the values that a deciding stage keeps: the costly ones that the next stages read, in all rounds of a loop. The next stages compute the others again
/// within their kernels, which costs less than to store them.
std::vector<std::size_t> values_to_keep(const Function::Formula& formula, const StagePath& path, const std::vector<Tensor>& inputs, const Walked& walked) {
  const std::vector<bool> costly = costly_values(path, walked);
  std::set<std::size_t> keep;
  const auto add = [&](Turn turn, const std::vector<Tensor>& given) {
    std::vector<Turn> turns = path.turns;
    turns.push_back(std::move(turn));
    const Walked next = walk(formula, given, turns, path.counters + given.size() - inputs.size());
    const std::set<const Recorded*> stored = given_values(path, next);
    NodeNumbers numbers;
    for (const RecordedPtr& node : values_below(next.decided[path.turns.size()])) numbers.emplace(node.get(), numbers.size());
    visit(
        next.end == End::loop ? next.decided.back() : results_of(next),
        [&](const RecordedPtr& node) {
          const auto known = numbers.find(node.get());
          if (stored.contains(node.get())) return false;
          if (known == numbers.end() || !costly[known->second] || trace::is_view(node->op)) return true;
          keep.insert(known->second);
          return false;
        },
        [](const RecordedPtr&, const trace::Operands&) {});
  };
  if (walked.end == End::loop) {
    add({Turn::Kind::round, path.round.turns}, inputs);
    add({Turn::Kind::after, path.round.turns}, with_counter(inputs, path.round.collected));
    return {keep.begin(), keep.end()};
  }
  for (const Turn::Kind kind : {Turn::Kind::yes, Turn::Kind::no}) {
    try {
      add({kind}, inputs);
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {  // this branch is refused; the call that takes it says why
    }
  }
  return {keep.begin(), keep.end()};
}

/// Records the roots again on the replaced nodes.
void replace(std::vector<RecordedPtr>& roots, Replaced replaced) {
  visit(
      roots, [&](const RecordedPtr& node) { return !replaced.contains(node.get()); },
      [&](const RecordedPtr& node, const trace::Operands& operands) {
        trace::Operands made = operands;
        bool changed = false;
        for (RecordedPtr& operand : made)
          if (const auto other = replaced.find(operand.get()); other != replaced.end()) operand = other->second, changed = true;
        if (changed) replaced.emplace(node.get(), trace::with_operands(*node, std::move(made)));
      });
  for (RecordedPtr& root : roots)
    if (const auto other = replaced.find(root.get()); other != replaced.end()) root = other->second;
}

}  // namespace

Round through_round(const Function::Formula& formula, const StagePath& loop, const std::vector<Tensor>& inputs) {
  constexpr std::size_t kMostTurns = 64;
  StagePath path;
  path.turns = loop.turns;
  path.counters = loop.counters;
  path.turns.push_back({Turn::Kind::round});
  std::vector<Tensor> given = inputs;
  const std::size_t before = path.turns.size();
  for (;;) {
    const Walked walked = walk(formula, given, path.turns, path.counters);
    if (walked.end == End::round)
      return {{path.turns.begin() + static_cast<std::ptrdiff_t>(before), path.turns.end()}, walked.results.size() - 1 - walked.state};
    if (path.turns.size() == before + kMostTurns || walked.end == End::results)
      fail<ValueError>(walked.last, "a round of the loop does not end after 64 decisions");
    if (walked.end == End::condition) {
      path.turns.push_back({Turn::Kind::no});
      continue;
    }
    const Round inner = through_round(formula, path, given);
    path.turns.push_back({Turn::Kind::after, inner.turns});
    given = with_counter(std::move(given), inner.collected);
    path.counters += inner.collected > 0;
  }
}

std::vector<Tensor> record_stage(const Function::Formula& formula, StagePath& path, std::vector<Tensor>& inputs) {
  Walked walked = walk(formula, inputs, path.turns, path.counters, path.recorded ? &path.round.turns : nullptr);
  const std::size_t before = path.turns.size();
  if (!path.recorded) {
    if (walked.end == End::loop) {
      path.round = through_round(formula, path, inputs);
      walked = walk(formula, inputs, path.turns, path.counters, &path.round.turns);
    }
    path.end = walked.end;
    path.decision = walked.last;
    path.state = walked.state;
    if (path.decides()) path.kept.push_back(values_to_keep(formula, path, inputs, walked));
    path.recorded = true;
  }
  if (walked.decided.size() != before + path.decides() || walked.end != path.end)
    fail<ValueError>(path.decision, fmt::format("the formula makes {} for some sizes of its inputs and {} for others; every size must have the same",
                                                counted(before + path.decides(), "decision"), walked.decided.size()));
  inputs.insert(inputs.end(), walked.introduced.begin(), walked.introduced.end());
  Replaced replaced;
  for (std::size_t k = 0; k < before; ++k)
    for (const RecordedPtr& node : kept_values(walked.decided[k], path.kept[k])) {
      inputs.push_back(placeholder(node->shape, node->dtype, node->where));
      set_name(inputs.back(), "kept");
      replaced.emplace(node.get(), inputs.back().node());
    }
  std::vector<RecordedPtr> roots = results_of(walked);
  if (path.decides())
    for (RecordedPtr& node : kept_values(walked.decided.back(), path.kept.back())) roots.push_back(std::move(node));
  if (!replaced.empty()) replace(roots, std::move(replaced));
  std::vector<Tensor> results;
  for (const RecordedPtr& root : roots) results.emplace_back(root);
  return results;
}

}  // namespace sinter::freezing
