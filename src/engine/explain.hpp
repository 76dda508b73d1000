// What explain() says: a plan and where its binaries came from, as text or JSON.
#pragma once
#include <memory>
#include <string>

#include "engine/planned.hpp"

namespace sinter::engine {

/// What a node remembers of its evaluation.
struct History {
  std::shared_ptr<const Planned> planned;
  bool reused = false;  // the plan was found by structure: its kernels were in memory
  std::string device;   // "cpu", "cuda:0", or a target name
};

std::string explain_text(const History& history);
std::string explain_json(const History& history);

}  // namespace sinter::engine
