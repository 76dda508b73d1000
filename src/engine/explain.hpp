// What explain() says: a plan and where its binaries came from, as text or JSON.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "engine/planned.hpp"

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
};

/// An evaluation, and its plan for as long as it is looked at; null when it has left memory.
struct Told {
  History history;
  std::shared_ptr<const Planned> planned;
};

/// Of one evaluation or several.
std::string explain_text(const std::vector<Told>& evaluations);
std::string explain_json(const std::vector<Told>& evaluations);

}  // namespace sinter::engine
