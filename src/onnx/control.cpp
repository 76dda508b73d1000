// Operators that run inner graphs: If, Loop, Scan. They are unrolled while the model is recorded; conditions and trip counts are evaluated then, or are
// decisions of a frozen model.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "onnx/execute.hpp"
#include "sinter/counted.hpp"
#include "sinter/freeze.hpp"
#include "sinter/sinter.hpp"

namespace sinter::onnx {
namespace {

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& why) {
  throw ModelError(fmt::format("{}: {}: {}", graph.file, describe(node), why));
}

/// Returns the operands for an inner graph: first its inputs, then the outer values that it reads, which are the node's last operands.
std::vector<NodeValue> with_outer(std::vector<NodeValue> own, std::span<const NodeValue> outer) {
  own.insert(own.end(), outer.begin(), outer.end());
  return own;
}

/// Evaluates the values of an iteration together with its condition, so that the next iteration's condition does not compute them again, and has a plan like
/// this one's. Does nothing if they depend on placeholders.
void evaluate(std::span<const NodeValue> values) {
  std::vector<Tensor> tensors;
  for (const NodeValue& value : values)
    if (!value.tensor.empty_handle()) tensors.push_back(value.tensor);
  try {
    eval(tensors);
  } catch (const ValueError&) {  // a placeholder, or an error that reading the values reports
  }
}

}  // namespace

std::span<const std::string_view> graphs_within(std::string_view op) {
  static constexpr std::string_view kBranches[] = {"then_branch", "else_branch"}, kBody[] = {"body"};
  if (op == "If") return kBranches;
  if (op == "Loop" || op == "Scan") return kBody;
  return {};
}

std::vector<NodeValue> Program::record_control(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const {
  if (node.op == "If") return record_if(line, node, operands, recording);
  return node.op == "Loop" ? record_loop(line, node, operands, recording) : record_scan(line, node, operands, recording);
}

/// Records an inner graph. Limits the unrolling, because a broken or hostile file could unroll without end.
std::vector<NodeValue> Program::record_within(const Program& inner, const Node& node, std::span<const NodeValue> operands, Recording& recording) const {
  recording.unrolled += 1 + static_cast<std::int64_t>(inner.lines_.size());
  if (recording.unrolled > graph_.max_unrolled)
    refuse(graph_, node, fmt::format("its graphs would be unrolled into more than {} nodes (ModelOptions::max_unrolled)", graph_.max_unrolled));
  return inner.record_values(operands, recording);
}

std::vector<NodeValue> Program::record_if(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const {
  if (node.inputs.size() != 1) refuse(graph_, node, fmt::format("{}; the only input must be the condition", sinter::counted(node.inputs.size(), "input")));
  if (operands.size() != 1 + line.branches[0].input_slots_.size() + line.branches[1].input_slots_.size())
    refuse(graph_, node, "a branch has inputs of its own");
  const auto branch = [&](bool then) {
    const Program& taken = line.branches[then ? 0 : 1];
    const std::size_t first = 1 + (then ? 0 : line.branches[0].input_slots_.size());
    return record_within(taken, node, std::span(operands).subspan(first, taken.input_slots_.size()), recording);
  };
  const Tensor& condition = one_value(node, 0, operands[0]);
  try {
    return branch(recording.read(node, 0, condition)[0] != 0);
  } catch (const NotThere&) {
    if (!is_freezing()) throw;
  }
  // Each further If would double the number of paths.
  constexpr std::size_t kMostDecisions = 4;
  if (decisions_made() >= kMostDecisions)
    if (std::optional<std::vector<NodeValue>> both = selected(condition, branch(true), branch(false))) return std::move(*both);
  return branch(decide(condition));
}

/// Returns the results of both branches, of which the condition selects one; nothing if their results differ in shape or type.
std::optional<std::vector<NodeValue>> Program::selected(const Tensor& condition, std::vector<NodeValue> yes, const std::vector<NodeValue>& no) const {
  const auto alike = [](const NodeValue& a, const NodeValue& b) {
    const Tensor &x = a.tensor, &y = b.tensor;
    return !x.empty_handle() && !y.empty_handle() && x.shape() == y.shape() && x.dtype() == y.dtype();
  };
  if (!std::equal(yes.begin(), yes.end(), no.begin(), no.end(), alike)) return {};
  for (std::size_t k = 0; k < yes.size(); ++k) yes[k].tensor = where(astype(reshape(condition, {}), DType::bool_), yes[k].tensor, no[k].tensor);
  return yes;
}

/// Returns the tensor of an operand that is one value: a condition, or a number of iterations.
const Tensor& Program::one_value(const Node& node, std::size_t input, const NodeValue& operand) const {
  if (operand.tensor.empty_handle() || operand.tensor.size() != 1) refuse(graph_, node, fmt::format("input {} has to be one value", input));
  return operand.tensor;
}

/// Loop: (trip count, condition, carried..) -> (carried.., scan outputs..). Its body: (iteration, condition, carried..) -> (condition, carried.., scan
/// outputs..).
std::vector<NodeValue> Program::record_loop(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const {
  const Program& body = line.branches[0];
  const std::size_t given = node.inputs.size(), carried = given < 2 ? 0 : given - 2, results = body.output_slots_.size();
  if (given < 2 || results < 1 + carried || body.input_slots_.size() != 2 + carried + operands.size() - given)
    refuse(graph_, node,
           fmt::format("{} not fit a body of {} and {}", sinter::counted(given, "input does", "inputs do"),
                       sinter::counted(body.graph().inputs.size(), "input"), sinter::counted(results, "output")));
  const auto given_at = [&](std::size_t input) { return !operands[input].tensor.empty_handle(); };
  const bool counted = given_at(0);
  std::vector<NodeValue> state(operands.begin() + 2, operands.begin() + static_cast<std::ptrdiff_t>(given));
  const std::span<const NodeValue> outer = std::span(operands).subspan(given);
  const bool constant_condition = body.output_slots_[0] == body.input_slots_[1];
  std::int64_t rounds = 0;
  bool go_on = true;
  try {
    if (counted) rounds = recording.read(node, 0, one_value(node, 0, operands[0]))[0];
    if (given_at(1)) go_on = recording.read(node, 1, one_value(node, 1, operands[1]))[0] != 0;
  } catch (const NotThere&) {
    return planned_loop(line, node, operands, recording);
  }
  std::vector<std::vector<Tensor>> added(results - 1 - carried);
  for (std::int64_t round = 0; go_on && (!counted || round < rounds); ++round) {
    std::vector<NodeValue> own{{full({}, round, DType::int64)}, {full({}, true, DType::bool_)}};
    own.insert(own.end(), state.begin(), state.end());
    const std::vector<NodeValue> now = record_within(body, node, with_outer(std::move(own), outer), recording);
    std::copy_n(now.begin() + 1, carried, state.begin());
    for (std::size_t k = 0; k < added.size(); ++k) added[k].push_back(now[1 + carried + k].tensor);
    if (constant_condition || (counted && round + 1 == rounds)) continue;
    if (round == 0) evaluate(operands);
    evaluate(now);
    try {
      go_on = read_integers(node, 1, one_value(node, 1, now[0]))[0] != 0;
    } catch (const NotThere&) {
      return planned_loop(line, node, operands, recording);
    }
  }
  if (added.empty()) return state;
  if (added.front().empty()) {  // no iteration: the body is recorded only for the shapes
    std::vector<NodeValue> own{{full({}, 0, DType::int64)}, {full({}, true, DType::bool_)}};
    own.insert(own.end(), state.begin(), state.end());
    const std::vector<NodeValue> never = record_within(body, node, with_outer(std::move(own), outer), recording);
    for (std::size_t k = 1 + carried; k < never.size(); ++k) {
      Shape shape = never[k].tensor.shape();
      shape.insert(shape.begin(), 0);
      state.push_back({zeros(shape, never[k].tensor.dtype())});
    }
    return state;
  }
  for (const std::vector<Tensor>& list : added) state.push_back({stack(list, 0)});
  return state;
}

/// Records a Loop whose number of iterations an input of a model that is being frozen determines. Called for a NotThere, which it throws again otherwise.
std::vector<NodeValue> Program::planned_loop(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const {
  if (!is_freezing()) throw;
  if (std::any_of(operands.begin(), operands.end(), [](const NodeValue& operand) { return operand.sequence != nullptr; }))
    refuse(graph_, node, "a sequence of tensors in a loop whose number of iterations is not known cannot be planned");
  const Program& body = line.branches[0];
  const std::size_t given = node.inputs.size(), carried = given - 2;
  const std::span<const NodeValue> outer = std::span(operands).subspan(given);
  const bool constant_condition = body.output_slots_[0] == body.input_slots_[1];
  Loop loop;
  loop.go = operands[1].tensor.empty_handle() ? full({}, true, DType::bool_) : one_value(node, 1, operands[1]);
  if (!operands[0].tensor.empty_handle()) loop.most = one_value(node, 0, operands[0]);
  for (std::size_t k = 0; k < carried; ++k) loop.state.push_back(operands[2 + k].tensor);
  loop.body = [&](const Tensor& round, const std::vector<Tensor>& state) {
    std::vector<NodeValue> own{{round}, {full({}, true, DType::bool_)}};
    for (const Tensor& one : state) own.push_back({one});
    const std::vector<NodeValue> now = record_within(body, node, with_outer(std::move(own), outer), recording);
    LoopRound made{constant_condition ? full({}, true, DType::bool_) : one_value(node, 1, now[0]), {}};
    for (std::size_t k = 0; k < carried; ++k)
      made.state.push_back(is_floating(state[k].dtype()) ? astype(now[1 + k].tensor, state[k].dtype()) : now[1 + k].tensor);
    for (std::size_t k = 1 + carried; k < now.size(); ++k) made.collected.push_back(now[k].tensor);
    return made;
  };
  LoopResults results = sinter::loop(loop);
  std::vector<NodeValue> values;
  for (auto* list : {&results.state, &results.collected})
    for (Tensor& one : *list) values.push_back({std::move(one)});
  return values;
}

/// Scan: (states.., sequences..) -> (states.., new sequences..). Its body has one element of each sequence as operands and results.
std::vector<NodeValue> Program::record_scan(const Line& line, const Node& node, const std::vector<NodeValue>& operands, Recording& recording) const {
  const Program& body = line.branches[0];
  std::vector<Tensor> tensors;
  for (const NodeValue& operand : operands) tensors.push_back(operand.tensor);
  const Call call(graph_, node, tensors, recording.read);
  if (graph_.opset < 9) refuse(graph_, node, "Scan of opset 8, which has a batch, is not supported");
  const std::size_t given = node.inputs.size(),
                    sequences = static_cast<std::size_t>(std::clamp<std::int64_t>(call.integer("num_scan_inputs"), 0, static_cast<std::int64_t>(given)));
  const std::size_t carried = given - sequences, results = body.output_slots_.size();
  if (sequences == 0 || results < carried || body.input_slots_.size() != operands.size())
    refuse(graph_, node,
           fmt::format("{}, {} of them sequences, for a body of {} and {}", sinter::counted(given, "input"), sequences,
                       sinter::counted(body.graph().inputs.size(), "input"), sinter::counted(results, "output")));
  const auto list = [&](const char* name, std::size_t count) {
    const auto numbers = call.integers(name, std::vector<std::int64_t>(count, 0));
    if (numbers.size() != count) refuse(graph_, node, fmt::format("{} has {}, not {}", name, sinter::counted(numbers.size(), "number"), count));
    return numbers;
  };
  const auto axes = list("scan_input_axes", sequences), backwards = list("scan_input_directions", sequences);
  const auto result_axes = list("scan_output_axes", results - carried), result_backwards = list("scan_output_directions", results - carried);
  std::int64_t length = -1;
  for (std::size_t k = 0; k < sequences; ++k) {
    const Tensor& sequence = call.tensor(carried + k);
    const std::int64_t size = sequence.shape()[static_cast<std::size_t>(call.axis(axes[k], sequence.ndim()))];
    if (length >= 0 && size != length) refuse(graph_, node, fmt::format("sequences of {} and {}", length, sinter::counted(size, "element")));
    length = size;
  }
  std::vector<NodeValue> state(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<Tensor>> added(results - carried);
  for (std::int64_t step = 0; step < length; ++step) {
    std::vector<NodeValue> own = state;
    for (std::size_t k = 0; k < sequences; ++k) {
      const Tensor& sequence = tensors[carried + k];
      std::vector<Index> index(static_cast<std::size_t>(call.axis(axes[k], sequence.ndim())), Slice{});
      index.push_back(backwards[k] != 0 ? length - 1 - step : step);
      own.push_back({slice(sequence, index)});
    }
    const std::vector<NodeValue> now = record_within(body, node, with_outer(std::move(own), std::span(operands).subspan(given)), recording);
    std::copy_n(now.begin(), carried, state.begin());
    for (std::size_t k = 0; k < added.size(); ++k) added[k].push_back(now[carried + k].tensor);
  }
  for (std::size_t k = 0; k < added.size(); ++k) {
    if (added[k].empty()) refuse(graph_, node, "its sequences are empty, so its results have no shape");
    if (result_backwards[k] != 0) std::reverse(added[k].begin(), added[k].end());
    state.push_back({stack(added[k], call.axis(result_axes[k], added[k][0].ndim() + 1))});
  }
  return state;
}

}  // namespace sinter::onnx
