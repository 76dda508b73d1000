#include "engine/boundary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/origins.hpp"
#include "fuse/costs.hpp"

namespace sinter::engine {
namespace {

/// One reason why two values are in different kernels.
struct Reason {
  std::string fact, remedy;
};

class Boundary {
 public:
  Boundary(const Explained& explained, int a, int b, const ExplainOptions& options)
      : plan_(*explained.planned),
        origins_(plan_, *explained.history.sites, &explained.history.sizes, options.sizes),
        nodes_{a, b},
        steps_{step_of(a), step_of(b)} {
    explain();
  }

  std::string text() const {
    std::string text = headline_ + "\n";
    for (const Reason& reason : reasons_) {
      text += "   why     " + reason.fact + "\n";
      if (!reason.remedy.empty()) text += "   change  " + reason.remedy + "\n";
    }
    return text;
  }
  nlohmann::json json() const {
    using nlohmann::json;
    json reasons = json::array();
    for (const Reason& reason : reasons_) reasons.push_back({{"why", reason.fact}, {"change", reason.remedy}});
    const auto step = [](int s) { return s < 0 ? json() : json(s); };
    return {{"schema", kExplainSchema}, {"steps", {step(steps_[0]), step(steps_[1])}}, {"together", together_}, {"summary", headline_}, {"reasons", reasons}};
  }

 private:
  /// Returns the step that computes a node. A view has no step, so its operand is used. Returns -1 for an input.
  int step_of(int node) const {
    for (;;) {
      for (std::size_t s = 0; s < plan_.steps.size(); ++s)  // a step that stores the value comes before one that computes it for itself
        for (const int value : plan_.steps[s].writes)
          if (plan_.value(value).node == node) return static_cast<int>(s);
      for (std::size_t s = 0; s < plan_.steps.size(); ++s)
        if (std::binary_search(plan_.steps[s].computes.begin(), plan_.steps[s].computes.end(), node)) return static_cast<int>(s);
      const PlannedNode& recorded = plan_.recorded[static_cast<std::size_t>(node)];
      if (recorded.leaf >= 0 || recorded.inputs.empty()) return -1;
      node = recorded.inputs[0];
    }
  }
  bool in_step(int node, int step) const {
    const std::vector<int>& all = plan_.steps[static_cast<std::size_t>(step)].computes;
    return std::binary_search(all.begin(), all.end(), node);
  }
  const PlannedStep& step(int s) const { return plan_.steps[static_cast<std::size_t>(s)]; }

  std::string called(int node) const {
    const PlannedNode& recorded = plan_.recorded[static_cast<std::size_t>(node)];
    std::string text = origins_.label(node);
    if (text.empty()) text = trace::name(recorded.op);
    const std::string where = origins_.lines_text(std::span(&node, 1));
    return fmt::format("{} {}{}", text, origins_.type(recorded.dtype, recorded.shape), where.empty() ? "" : ", " + where);
  }

  void explain() {
    const auto [s, t] = steps_;
    const std::string a = called(nodes_[0]), b = called(nodes_[1]);
    if (s < 0 || t < 0) {
      headline_ = fmt::format("{} is an input, which no kernel computes; {}", s < 0 ? a : b,
                              s < 0 && t < 0 ? "the other value is an input, too" : "kernels read it from memory");
      return;
    }
    // A kernel may compute a value for itself although another one stores it.
    const int shared = s == t ? s : in_step(nodes_[0], t) ? t : in_step(nodes_[1], s) ? s : -1;
    if (shared >= 0) {
      together_ = true;
      headline_ = fmt::format("{} and {} are computed by one step, step {}", a, b, shared + 1);
      if (s != t)
        reasons_.push_back({fmt::format("step {} computes one of them once more, because another step needs it in memory", s == shared ? t + 1 : s + 1), ""});
      return;
    }
    headline_ = fmt::format("{} is computed by {}; {} is computed by {}", a, steps_text(0), b, steps_text(1));
    const std::vector<int> path = s < t ? path_between(s, t) : path_between(t, s);
    if (path.empty()) {
      reasons_.push_back(
          {fmt::format("neither step {} nor step {} reads a result of the other; such steps are joined only if they are siblings, which read the same values{}",
                       s + 1, t + 1, plan_.limits.joins_short_kernels ? ", or if both are short and read results of one kernel" : ""),
           ""});
      refused(std::min(s, t), std::max(s, t));
    }
    for (std::size_t k = 0; k + 1 < path.size(); ++k) boundary(path[k], path[k + 1]);
  }

  /// Returns "step 1", or "steps 1, 2" for a value of which the first steps store partial results.
  std::string steps_text(int which) const {
    std::vector<int> steps;
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
      for (const int value : step(s).writes)
        if (plan_.value(value).node == nodes_[which]) steps.push_back(s + 1);
    if (steps.size() < 2) return fmt::format("step {}", steps_[which] + 1);
    return fmt::format("steps {}", fmt::join(steps, ", "));
  }

  /// Returns the shortest chain of steps in which each step reads a result of the previous step.
  std::vector<int> path_between(int from, int to) const {
    std::map<int, int> writer, before{{from, from}};
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const int value : plan_.steps[s].writes) writer[value] = static_cast<int>(s);
    std::map<int, std::vector<int>> readers;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      for (const int value : plan_.steps[s].reads)
        if (const auto found = writer.find(value); found != writer.end()) readers[found->second].push_back(static_cast<int>(s));
    for (std::deque<int> next{from}; !next.empty() && !before.contains(to); next.pop_front())
      for (const int reader : readers[next.front()])
        if (before.try_emplace(reader, next.front()).second) next.push_back(reader);
    std::vector<int> path;
    if (!before.contains(to)) return path;
    for (int s = to; s != from; s = before[s]) path.push_back(s);
    path.push_back(from);
    std::reverse(path.begin(), path.end());
    return path;
  }

  void boundary(int s, int t) {
    if (step(t).is_epilogue && s + 1 == t) {
      reasons_.push_back(
          {fmt::format("step {} is the epilogue of step {}: it runs on each piece of the library's result, without a further pass over memory", t + 1, s + 1),
           ""});
      return;
    }
    const fuse::Boundary& boundary = step(s).boundary;
    const bool library = step(s).library || step(t).library;
    const fuse::Boundary why =
        library ? fuse::Boundary{fuse::SplitReason::library_call, fmt::format("step {} is a library call", step(s).library ? s + 1 : t + 1)} : boundary;
    reasons_.push_back({fmt::format("step {} stores what step {} reads: {}", s + 1, t + 1, fuse::to_string(why)), std::string(fuse::remedy(why.reason))});
    if (step(s).library && !step(s).alone.empty()) reasons_.push_back({fmt::format("step {} has no epilogue: {}", s + 1, step(s).alone), ""});
    refused(s, t);
  }

  void refused(int s, int t) {
    for (const fuse::Refusal& refusal : plan_.refused)
      if (refusal.a == s && refusal.b == t)
        reasons_.push_back({fmt::format("steps {} and {} were tried as one kernel and refused: {}", s + 1, t + 1, fuse::to_string(refusal.why)),
                            std::string(fuse::remedy(refusal.why.reason))});
  }

  const Planned& plan_;
  Origins origins_;
  int nodes_[2], steps_[2];
  bool together_ = false;
  std::string headline_;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<std::string> boundaries(const Explained& explained) {
  const Planned& plan = *explained.planned;
  if (std::count_if(plan.steps.begin(), plan.steps.end(), [](const PlannedStep& step) { return !step.is_epilogue; }) < 2) return {};
  const Origins origins(plan, *explained.history.sites, &explained.history.sizes);
  const auto why = [](const fuse::Boundary& boundary) {
    return boundary.reason == fuse::SplitReason::output_wanted ? fuse::to_string(boundary)
                                                               : fmt::format("{}. {}", fuse::to_string(boundary), fuse::remedy(boundary.reason));
  };
  std::vector<std::string> reasons;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const PlannedStep& step = plan.steps[s];
    const std::string lines = origins.lines_text(step.computes);
    reasons.push_back(fmt::format("step {}, {}{}: {}", s + 1, step.library ? fuse::to_string(step.call) : step.nest.name,
                                  lines.empty() ? "" : ", from " + lines,
                                  why(step.library ? fuse::Boundary{fuse::SplitReason::library_call, {}} : step.boundary)));
  }
  for (const fuse::Refusal& refusal : plan.refused)
    reasons.push_back(fmt::format("steps {} and {} were tried as one kernel and refused: {}", refusal.a + 1, refusal.b + 1, why(refusal.why)));
  return reasons;
}

std::vector<std::vector<Apart>> apart_from_neighbours(const Planned& plan) {
  using fuse::SplitReason;
  std::vector<std::vector<Apart>> apart(plan.steps.size());
  if (!plan.limits.fuse) return apart;
  const int count = static_cast<int>(plan.steps.size());
  const auto step = [&](int s) -> const PlannedStep& { return plan.steps[static_cast<std::size_t>(s)]; };
  std::map<std::pair<int, int>, const fuse::Boundary*> refused;
  for (const fuse::Refusal& refusal : plan.refused) refused[std::minmax(refusal.a, refusal.b)] = &refusal.why;
  std::map<std::pair<int, int>, bool> neighbours;  // pairs of steps, and whether the second reads a result of the first
  std::map<int, int> writer;
  std::map<int, std::vector<int>> readers;  // of each value
  for (int s = 0; s < count; ++s) {
    for (const int value : step(s).reads) {
      std::vector<int>& before = readers[value];
      for (std::size_t k = before.size(); k-- > 0 && k + costs::kMaxReaders >= before.size();) neighbours.try_emplace({before[k], s}, false);
      before.push_back(s);
      if (const auto found = writer.find(value); found != writer.end()) neighbours[{found->second, s}] = true;
    }
    for (const int value : step(s).writes) writer[value] = s;
  }
  for (const auto& [pair, reads_result] : neighbours) {
    const auto [s, t] = pair;
    if (step(t).is_epilogue && s + 1 == t) continue;
    const bool known_at_s = reads_result && step(s).boundary.reason != SplitReason::output_wanted;
    const auto found = refused.find(pair);
    fuse::Boundary why;
    if (step(s).library || step(t).library) why = {SplitReason::library_call, {}};
    else if (found != refused.end()) why = *found->second;
    else if (known_at_s) why = step(s).boundary;
    else
      why = {SplitReason::not_tried,
             fmt::format("planning tries the last {} readers of a value, and {} merges of a step", costs::kMaxReaders, costs::kMaxFailures)};
    if (!known_at_s && !step(s).library) apart[static_cast<std::size_t>(s)].push_back({t, why});
    if (!step(t).library) apart[static_cast<std::size_t>(t)].push_back({s, why});
  }
  for (std::vector<Apart>& all : apart)
    std::stable_sort(all.begin(), all.end(), [&](const Apart& a, const Apart& b) { return !step(a.step).library && step(b.step).library; });
  return apart;
}

std::string explain_boundary(const Explained& explained, int a, int b, const ExplainOptions& options) {
  const Boundary boundary(explained, a, b, options);
  return options.format == Format::json ? boundary.json().dump(2) : boundary.text();
}

}  // namespace sinter::engine
