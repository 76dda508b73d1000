#include "freeze/staged_recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "freeze/decisions.hpp"
#include "sinter/counted.hpp"
#include "sinter/errors.hpp"
#include "sinter/ops.hpp"
#include "trace/build.hpp"

namespace sinter::freezing {
namespace {

using trace::Recorded;
using trace::RecordedPtr;
using NodeNumbers = std::unordered_map<const Recorded*, std::size_t>;
using Replaced = std::unordered_map<const Recorded*, RecordedPtr>;

/// The formula, recorded up to the first decision without an answer.
struct Walked {
  std::vector<RecordedPtr> conditions, results;
  trace::Site last;  // of the last decision
  bool decides = false;
};

Walked walk(const Function::Formula& formula, const std::vector<Tensor>& inputs, const std::vector<bool>& answers) {
  Decisions decisions(answers);
  Walked walked;
  try {
    for (const Tensor& result : formula(inputs)) walked.results.push_back(trace::node_of({"Function", {}}, result));
  } catch (const Undecided&) {
    walked.decides = true;
  }
  walked.conditions = decisions.conditions();
  walked.last = decisions.last();
  return walked;
}

/// Visits the nodes that depend on an input and from which the roots are computed, operands first, each once. `enter` says whether a node's operands are
/// visited. Long chains need no deep stack.
template <class Enter, class Leave> void visit(const std::vector<RecordedPtr>& roots, Enter enter, Leave leave) {
  struct Frame {
    RecordedPtr node;
    trace::Operands operands;
    std::size_t next = 0;
  };
  std::set<const Recorded*> visited;
  std::vector<Frame> frames;
  const auto push = [&](const RecordedPtr& node) {
    if (node->symbolic && visited.insert(node.get()).second) frames.push_back({node, enter(node) ? node->inputs() : trace::Operands()});
  };
  for (const RecordedPtr& root : roots) {
    push(root);
    while (!frames.empty()) {
      if (Frame& top = frames.back(); top.next < top.operands.size()) {
        push(RecordedPtr(top.operands[top.next++]));
        continue;
      }
      const Frame done = std::move(frames.back());
      frames.pop_back();
      leave(done.node, done.operands);
    }
  }
}

/// Returns the values from which a condition is computed, operands first, in an order that depends only on the structure.
std::vector<RecordedPtr> values_of(const RecordedPtr& condition) {
  std::vector<RecordedPtr> values;
  visit({condition}, [](const RecordedPtr&) { return true; }, [&](const RecordedPtr& node, const trace::Operands&) { values.push_back(node); });
  return values;
}

std::vector<RecordedPtr> kept_values(const RecordedPtr& condition, const std::vector<std::size_t>& numbers) {
  const std::vector<RecordedPtr> values = values_of(condition);
  std::vector<RecordedPtr> kept;
  for (const std::size_t number : numbers) kept.push_back(values[std::min(number, values.size() - 1)]);
  return kept;
}

/// Returns the values that the stages before this one keep.
std::set<const Recorded*> given_values(const StagePath& path, const Walked& walked) {
  std::set<const Recorded*> given;
  for (std::size_t k = 0; k < path.answers.size(); ++k)
    for (const RecordedPtr& node : kept_values(walked.conditions[k], path.kept[k])) given.insert(node.get());
  return given;
}

/// Chooses the values that a deciding stage keeps: those that the next stages read, and whose computation contains a reduction, a scan or a library call. The
/// next stages compute the others again within their kernels, which costs less than to store them.
std::vector<std::size_t> values_to_keep(const Function::Formula& formula, const StagePath& path, const std::vector<Tensor>& inputs, const Walked& walked) {
  std::vector<bool> costly;
  {
    const std::set<const Recorded*> given = given_values(path, walked);
    NodeNumbers numbers;
    for (const RecordedPtr& node : values_of(walked.conditions.back())) {
      bool is_costly = trace::is_reduction(node->op) || trace::is_step(node->op);
      for (const RecordedPtr& operand : node->inputs())
        if (const auto found = numbers.find(operand.get()); found != numbers.end()) is_costly |= costly[found->second];
      numbers.emplace(node.get(), costly.size());
      costly.push_back(is_costly && !given.contains(node.get()));
    }
  }
  std::set<std::size_t> keep;
  for (const bool answer : {true, false}) {
    std::vector<bool> answers = path.answers;
    answers.push_back(answer);
    Walked next;
    try {
      next = walk(formula, inputs, answers);
    } catch (const InternalError&) {
      throw;
    } catch (const Error&) {  // this branch is refused; the call that takes it says why
      continue;
    }
    const std::set<const Recorded*> given = given_values(path, next);
    NodeNumbers numbers;
    for (const RecordedPtr& node : values_of(next.conditions[path.answers.size()])) numbers.emplace(node.get(), numbers.size());
    visit(
        next.decides ? std::vector{next.conditions.back()} : next.results,
        [&](const RecordedPtr& node) {
          const auto known = numbers.find(node.get());
          if (given.contains(node.get())) return false;
          if (known == numbers.end() || !costly[known->second] || trace::is_view(node->op)) return true;
          keep.insert(known->second);
          return false;
        },
        [](const RecordedPtr&, const trace::Operands&) {});
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
          if (const auto other = replaced.find(operand.get()); other != replaced.end() && other->second != operand) operand = other->second, changed = true;
        if (changed) replaced.emplace(node.get(), trace::with_operands(*node, std::move(made)));
      });
  for (RecordedPtr& root : roots)
    if (const auto other = replaced.find(root.get()); other != replaced.end()) root = other->second;
}

}  // namespace

std::vector<Tensor> record_stage(const Function::Formula& formula, StagePath& path, std::vector<Tensor>& inputs) {
  const Walked walked = walk(formula, inputs, path.answers);
  const std::size_t before = path.answers.size();
  if (path.first) {
    path.decides = walked.decides;
    path.decision = walked.last;
    if (path.decides) path.kept.push_back(values_to_keep(formula, path, inputs, walked));
    path.first = false;
  }
  if (walked.conditions.size() != before + path.decides || walked.decides != path.decides)
    trace::fail<ValueError>(path.decision, fmt::format("the formula makes {} for some sizes of its inputs and {} for others; every size must have the same",
                                                       counted(before + path.decides, "decision"), walked.conditions.size()));
  Replaced replaced;
  for (std::size_t k = 0; k < before; ++k)
    for (const RecordedPtr& node : kept_values(walked.conditions[k], path.kept[k])) {
      inputs.push_back(placeholder(node->shape, node->dtype, node->where));
      set_name(inputs.back(), "kept");
      replaced.emplace(node.get(), inputs.back().node());
    }
  std::vector<RecordedPtr> roots = walked.results;
  if (path.decides) {
    roots = {walked.conditions.back()};
    for (RecordedPtr& node : kept_values(walked.conditions.back(), path.kept.back())) roots.push_back(std::move(node));
  }
  if (!replaced.empty()) replace(roots, std::move(replaced));
  std::vector<Tensor> results;
  for (const RecordedPtr& root : roots) results.emplace_back(root);
  return results;
}

}  // namespace sinter::freezing
