// The output of explain(): a plan, and the origin of its binaries, as text or JSON.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/planned.hpp"
#include "sinter/engine.hpp"
#include "trace/structural_key.hpp"

namespace sinter::engine {

/// The facts that a node stores about its evaluation. They do not keep the plan in memory. explain() can describe the plan as long as it is in memory.
struct History {
  History() = default;
  using Sites = std::shared_ptr<const std::vector<trace::NodeSite>>;
  History(const std::shared_ptr<const Planned>& of, bool was_reused, std::string on, std::vector<std::int64_t> at, Sites recorded_at)
      : planned(of), reused(was_reused), device(std::move(on)), sizes(std::move(at)), sites(std::move(recorded_at)) {
    for (const PlannedStep& step : of->steps) ++(step.library ? calls : kernels);
  }
  std::weak_ptr<const Planned> planned;
  bool reused = false;  // the plan was found by structure: its kernels were in memory
  std::string device;   // "cpu", "cuda:0", or a target name
  int kernels = 0, calls = 0;
  std::vector<std::int64_t> sizes;  // values of the plan's symbols
  Sites sites;                      // lines of the present recording's nodes; an empty list if there was none
};

/// An evaluation that is being explained, with its plan at its sizes. The plan is null if it is no longer in memory.
struct Explained {
  Explained() = default;
  Explained(History of, std::shared_ptr<const Planned> plan);
  History history;
  std::shared_ptr<const Planned> planned;
};

/// The version of the JSON's form (docs/explain.md). It rises by 1 if a field is removed or changes its meaning; a new field does not change it.
inline constexpr int kExplainSchema = 1;

/// Describes one evaluation or several.
std::string explanation(const std::vector<Explained>& evaluations, const ExplainOptions& options);
nlohmann::json explain_json(const std::vector<Explained>& evaluations);
/// Returns facts that a kernel's source does not contain, because the source is used for other lines and sizes, too: lines, parameters, planned sizes, the
/// launch. Each is one line.
std::vector<std::string> source_notes(const Explained& explained, const PlannedStep& step);

}  // namespace sinter::engine
