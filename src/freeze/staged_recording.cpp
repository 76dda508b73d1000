#include "freeze/staged_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/hash.hpp"
#include "freeze/recording_hash.hpp"
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

/// Returns a hash of the operations, types and axes of values, without their sizes.
Hash128 structure_of(const std::vector<RecordedPtr>& values) {
  Words words;
  for (const RecordedPtr& node : values) {
    words.add(static_cast<std::uint64_t>(node->op));
    words.add(static_cast<std::uint64_t>(node->dtype) << 8 | node->shape.size());
  }
  return words.hash();
}

/// Returns the values that a decision keeps; nulls if it is computed in another way than in the first recording, so that nothing is kept.
std::vector<RecordedPtr> kept_values(const std::vector<RecordedPtr>& decided, const Kept& kept) {
  std::vector<RecordedPtr> list(kept.numbers.size());
  if (list.empty()) return list;
  const std::vector<RecordedPtr> values = values_below(decided);
  if (structure_of(values) != kept.structure) return list;
  for (std::size_t k = 0; k < list.size(); ++k) list[k] = values[kept.numbers[k]];
  return list;
}

/// Checks that two recordings compute a decision from the same literals, contents and operations.
void check_alike(const std::vector<RecordedPtr>& a, const std::vector<RecordedPtr>& b, const Site& site) {
  ContentHashes contents;
  const auto hash = [&](std::vector<RecordedPtr> roots) {
    trace::Traversal walked;
    walked.walk(roots);
    walked.finish(roots, false);
    Leaves leaves;
    leaves.storages = walked.leaves();
    for (const StoragePtr& storage : leaves.storages) leaves.inputs.push_back(storage ? -1 : 0);
    const Hash128 all = hash_of(walked.graph(), walked.literals(), contents.of(leaves));
    walked.release();
    return all;
  };
  if (hash(a) != hash(b))
    fail<ValueError>(site,
                     "the condition is not the same each time that the formula is recorded, so it depends on something that changes, such as a random "
                     "generator from outside. Make the generator within the formula, or pass a key or the changing values as inputs");
}

/// Returns the values that the stages before this one keep.
std::set<const Recorded*> given_values(const StagePath& path, const Walked& walked) {
  std::set<const Recorded*> given;
  for (std::size_t k = 0; k < path.turns.size(); ++k)
    for (const RecordedPtr& node : kept_values(walked.decided[k], path.kept[k]))
      if (node) given.insert(node.get());
  return given;
}

/// Returns for each value below a decision whether it costs more to compute it once more than to store and read it: its computation contains a reduction, a
/// scan or a library call, or many cheap operations, which no stage before this one has computed.
std::vector<bool> costly_values(const StagePath& path, const Walked& walked) {
  constexpr double kLibrary = 1e6, kStored = 16;  // in additions for an element
  const std::set<const Recorded*> given = given_values(path, walked);
  std::vector<double> costs;
  std::vector<bool> costly;
  NodeNumbers numbers;
  for (const RecordedPtr& node : values_below(walked.decided[path.turns.size()])) {
    double cost = trace::is_reduction(node->op) || trace::is_step(node->op) ? kLibrary : trace::primitive(node->op).cost;
    for (const RecordedPtr& operand : node->inputs())
      if (const auto found = numbers.find(operand.get()); found != numbers.end()) cost += costs[found->second];
    if (given.contains(node.get())) cost = 0;
    numbers.emplace(node.get(), costs.size());
    costs.push_back(std::min(cost, kLibrary));
    costly.push_back(cost >= kStored);
  }
  return costly;
}

/// Returns the inputs of the stage after a loop: those of the loop, and a counter of rounds.
std::vector<Tensor> with_counter(std::vector<Tensor> inputs, std::size_t collected) {
  constexpr std::int64_t kAnyRounds = 3;
  if (collected > 0) inputs.push_back(placeholder({kAnyRounds}, DType::bool_));
  return inputs;
}

/// Chooses the values that a deciding stage keeps: the costly ones that the next stages read. These compute the others again within their kernels.
Kept values_to_keep(const Function::Formula& formula, const StagePath& path, const std::vector<Tensor>& inputs, const Walked& walked) {
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
  } else {
    for (const Turn::Kind kind : {Turn::Kind::yes, Turn::Kind::no}) {
      try {
        add({kind}, inputs);
      } catch (const InternalError&) {
        throw;
      } catch (const Interrupted&) {
        throw;
      } catch (...) {  // whatever the formula throws in this branch, the call that takes the branch gets
      }
    }
  }
  const std::vector<RecordedPtr> values = values_below(walked.decided.back());
  Kept kept{{keep.begin(), keep.end()}, {}, structure_of(values)};
  for (const std::size_t number : kept.numbers) kept.dtypes.push_back(values[number]->dtype);
  return kept;
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
  Site last = loop.decision;
  for (const Turn::Kind preferred : {Turn::Kind::no, Turn::Kind::yes}) {
    StagePath path;
    path.turns = loop.turns;
    path.counters = loop.counters;
    path.turns.push_back({Turn::Kind::round});
    std::vector<Tensor> given = inputs;
    const std::size_t before = path.turns.size();
    while (path.turns.size() < before + kMostTurns) {
      const Walked walked = walk(formula, given, path.turns, path.counters);
      if (walked.end == End::round)
        return {{path.turns.begin() + static_cast<std::ptrdiff_t>(before), path.turns.end()}, walked.results.size() - 1 - walked.state};
      last = path.decision = walked.last;
      if (walked.end == End::condition) {
        path.turns.push_back({preferred});
        continue;
      }
      const Round inner = through_round(formula, path, given);
      path.turns.push_back({Turn::Kind::after, inner.turns});
      given = with_counter(std::move(given), inner.collected);
      path.counters += inner.collected > 0;
    }
  }
  fail<ValueError>(last, fmt::format("a round of a loop does not end after {} decisions; write the loop within it as a loop, too", kMostTurns));
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
    if (path.decides()) {
      const Walked again = walk(formula, inputs, path.turns, path.counters, &path.round.turns);
      if (again.end != walked.end || again.decided.size() != walked.decided.size())
        fail<ValueError>(path.decision, "the formula does not make the same decisions each time that it is recorded");
      for (std::size_t k = 0; k < walked.decided.size(); ++k) check_alike(walked.decided[k], again.decided[k], path.decision);
      path.kept.push_back(values_to_keep(formula, path, inputs, walked));
    }
    path.recorded = true;
  }
  if (walked.decided.size() != before + path.decides() || walked.end != path.end)
    fail<OtherDecisions>(path.decision, "the formula makes other decisions for these sizes");
  inputs.insert(inputs.end(), walked.introduced.begin(), walked.introduced.end());
  Replaced replaced;
  for (std::size_t k = 0; k < before; ++k)
    for (std::size_t number = 0; const RecordedPtr& node : kept_values(walked.decided[k], path.kept[k])) {
      inputs.push_back(placeholder(node ? node->shape : Shape{}, path.kept[k].dtypes[number++]));
      set_name(inputs.back(), "kept");
      if (node) replaced.emplace(node.get(), inputs.back().node());
    }
  std::vector<RecordedPtr> roots = results_of(walked);
  if (path.decides())
    for (std::size_t number = 0; const RecordedPtr& node : kept_values(walked.decided.back(), path.kept.back())) {
      const DType dtype = path.kept.back().dtypes[number++];
      roots.push_back(node ? node : full({}, 0, dtype).node());
    }
  if (!replaced.empty()) replace(roots, std::move(replaced));
  std::vector<Tensor> results;
  for (const RecordedPtr& root : roots) results.emplace_back(root);
  return results;
}

}  // namespace sinter::freezing
