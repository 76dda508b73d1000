#include "engine/plan_check.hpp"

#include <algorithm>

#include "sinter/errors.hpp"

namespace sinter::engine {
namespace {

bool all_below(const std::vector<int>& list, std::size_t count) {
  return std::all_of(list.begin(), list.end(), [&](int k) { return k >= 0 && static_cast<std::size_t>(k) < count; });
}

bool lists(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

class PlanChecker {
 public:
  PlanChecker(const Planned& plan, const PlanTerms& terms) : plan_(plan), terms_(terms), there_(plan.values.size()) {}

  void run() {
    for (std::size_t k = 0; k < plan_.values.size(); ++k) {
      const PlannedValue& value = plan_.values[k];
      require(value.leaf < 0 || static_cast<std::size_t>(value.leaf) < terms_.leaves, "a value");
      there_[k] = value.is_leaf();  // whether each value is in memory at the present step
    }
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) step(s);
    require(plan_.outputs.size() == terms_.outputs && all_below(plan_.outputs, plan_.values.size()), "the results");
    for (const int output : plan_.outputs) require(there_[static_cast<std::size_t>(output)] || plan_.value(output).bytes < 0, "a result that no step writes");
    const std::size_t of_steps = numbers_;
    for (const PlannedValue& value : plan_.values) numbers_ += value.bytes >= 0;
    for (const PlannedValue& value : plan_.values)
      require(value.bytes < 0 || (static_cast<std::size_t>(value.bytes) >= of_steps && static_cast<std::size_t>(value.bytes) < numbers_),
              "the sizes of the values");
    require(plan_.program.sound(terms_.symbols, numbers_), "the program of the sizes");
    require(plan_.figures.sound(terms_.symbols, plan_.figures.outputs()), "the program of the figures");
    for (const PlannedValue& value : plan_.values) require(are_figures(value.figure, value.shape.size()), "the figures of a value");
    require(plan_.symbols.size() == terms_.symbols && plan_.sizes.size() == terms_.symbols, "the symbols");
    const std::size_t nodes = plan_.recorded.size();
    for (std::size_t id = 0; id < nodes; ++id) {
      const PlannedNode& node = plan_.recorded[id];
      require(all_below(node.inputs, id) && (node.figure < 0 || are_figures(node.figure, node.shape.size())), "a recorded node");
    }
    for (const PlannedStep& step : plan_.steps) require(all_below(step.computes, nodes), "the nodes that a step computes");
    for (const PlannedValue& value : plan_.values) require(value.node < static_cast<int>(nodes), "a value's node");
    for (const fuse::Refusal& refusal : plan_.refused) require(all_below({refusal.a, refusal.b}, plan_.steps.size()), "a refused merge");
    for (const auto& [first, count] : taken_) require(first <= of_steps && count <= of_steps - first, "the numbers of a step");
  }

 private:
  bool is_value(int number) const { return number >= 0 && static_cast<std::size_t>(number) < plan_.values.size(); }

  bool are_figures(int first, std::size_t count) const {
    return first >= 0 && static_cast<std::size_t>(first) <= plan_.figures.outputs() && count <= plan_.figures.outputs() - static_cast<std::size_t>(first);
  }

  void take(const PlannedStep& step, std::size_t count) {
    taken_.emplace_back(step.numbers, count);
    numbers_ += count;
  }

  void step(std::size_t s) {
    const PlannedStep& step = plan_.steps[s];
    for (const auto* list : {&step.reads, &step.writes, &step.last_reads}) require(all_below(*list, plan_.values.size()), "the values that a step reads");
    require(step.in_place < 0 || is_value(step.in_place), "the values that a step reads");
    require(all_below(step.constants, terms_.literals + plan_.made.size()) && all_below(step.gathers, terms_.gathers), "the constants that a step takes");
    if (step.library) call(step);
    else kernel(step);
    std::size_t parts = 0;
    for (const Shape& part : step.parts) parts += part.size();
    require(are_figures(step.part_figure, parts), "the figures of a step");
    for (const auto* traffic : {&step.moved, &step.unfused, &step.arithmetic})
      for (auto term = traffic->begin(); term != traffic->end(); ++term)
        require(are_figures(term->elements, 1) && term->others >= 0 && term->others < traffic->end() - term, "the figures of a step");
    for (const int value : step.reads) require(there_[static_cast<std::size_t>(value)], "a step reads a value that is not there");
    require(step.in_place < 0 || there_[static_cast<std::size_t>(step.in_place)], "a step takes the memory of a value that is not there");
    for (const int value : step.writes) {
      require(!plan_.value(value).is_leaf() && plan_.value(value).bytes >= 0, "a step writes over its input");
      there_[static_cast<std::size_t>(value)] = 1;
    }
    require(!step.is_epilogue || (s > 0 && plan_.steps[s - 1].library && fuse::pieces_of(plan_.steps[s - 1].call.op) != fuse::Pieces::whole),
            "a step that follows another");
  }

  void call(const PlannedStep& step) {
    const fuse::LibraryCall& call = step.call;
    require(!step.is_epilogue && trace::is_library(call.op) && !call.operands.empty(), "a library call");
    require(is_value(call.node) && lists(step.writes, call.node) && plan_.value(call.node).dtype == call.stored, "a library call");
    require(call.call >= 0 && static_cast<std::size_t>(call.call) < terms_.calls, "a library call");
    require(call.operands.size() == static_cast<std::size_t>(trace::primitive(call.op).arity) + call.row, "a library call");
    std::size_t numbers = call.shape.size();
    for (const auto& operand : call.operands) {
      require(is_value(operand.node) && operand.shape.size() == operand.strides.size(), "a library call");
      require(lists(step.reads, operand.node) && plan_.value(operand.node).dtype == operand.dtype, "the values that a step reads");
      numbers += 1 + 2 * operand.shape.size();
    }
    take(step, numbers);
  }

  void kernel(const PlannedStep& step) {
    const jit::LoopNest& nest = step.nest;
    jit::verify(nest);
    require(step.constants.size() == nest.scalars.size() && static_cast<int>(step.gathers.size()) == nest.checks, "the constants that a step takes");
    require(step.parts.size() == step.reads.size(), "the values that a step reads");
    for (const auto* accesses : {&nest.inputs, &nest.outputs})
      for (const auto& access : *accesses)
        require(is_value(access.buffer) && lists(accesses == &nest.inputs ? step.reads : step.writes, access.buffer) &&
                    plan_.value(access.buffer).dtype == access.dtype,
                "what a step reads");
    require(!step.is_epilogue || (nest.rows == 0 && nest.checks == 0 && nest.schedule.is<jit::PointwiseForm>()), "a step that follows another");
    take(step, nest.ints.size() + nest.inputs.size() + nest.outputs.size());
  }

  const Planned& plan_;
  const PlanTerms& terms_;
  std::vector<char> there_;
  std::vector<std::pair<std::size_t, std::size_t>> taken_;
  std::size_t numbers_ = 0;
};

}  // namespace

void check(const Planned& plan, const PlanTerms& terms) { PlanChecker(plan, terms).run(); }

}  // namespace sinter::engine
