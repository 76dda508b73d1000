// Rewrites of a graph before it runs: each has a name, a condition and a count.
#pragma once
#include <vector>

#include "model/graph.hpp"

namespace sinter::model {

/// Applies all rewrites until none fires, and says how often each did.
std::vector<Rewrite> rewrite(Graph& graph);

}  // namespace sinter::model
