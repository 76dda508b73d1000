// What explain() says: a plan and where its binaries came from, as text or JSON.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/planned.hpp"
#include "sinter/engine.hpp"
#include "trace/outline.hpp"

namespace sinter::engine {

/// What a node remembers of its evaluation. It does not keep the plan in memory: what that says is told while some evaluation may
/// still use it.
struct History {
  History() = default;
  History(const std::shared_ptr<const Planned>& of, bool was_reused, std::string on) : planned(of), reused(was_reused), device(std::move(on)) {
    for (const PlannedStep& step : of->steps) ++(step.library ? calls : kernels);
    bytes_moved = of->bytes_moved;
    bytes_unfused = of->bytes_unfused;
  }
  std::weak_ptr<const Planned> planned;
  bool reused = false;  // the plan was found by structure: its kernels were in memory
  std::string device;   // "cpu", "cuda:0", or a target name
  int kernels = 0, calls = 0;
  double bytes_moved = 0, bytes_unfused = 0;
  std::vector<trace::NodeSite> sites;  // of the present recording's nodes; empty where there was none
};

/// An evaluation, and its plan for as long as it is looked at; null when it has left memory.
struct Told {
  History history;
  std::shared_ptr<const Planned> planned;
};

/// The version of the JSON's form (docs/explain.md): a field that goes or changes its meaning adds 1; a new field does not.
inline constexpr int kExplainSchema = 1;

/// Of one evaluation or several.
std::string explanation(const std::vector<Told>& evaluations, const ExplainOptions& options);
nlohmann::json explain_json(const std::vector<Told>& evaluations);
/// What a reader of a kernel's source asks and its text, which serves other lines and sizes too, does not say: lines, parameters, the sizes planned for, the
/// launch. One line each.
std::vector<std::string> source_notes(const Told& told, const PlannedStep& step);

}  // namespace sinter::engine
