// Rewrites of a graph before it runs: each has a name, a condition and a count.
#pragma once
#include <vector>

#include "onnx/graph.hpp"

namespace sinter::onnx {

/// Applies all rewrites but those named in `without` until none fires, and says how often each did. Throws ValueError for a name that none has.
std::vector<Rewrite> rewrite(Graph& graph, const std::vector<std::string>& without = {});

}  // namespace sinter::onnx
