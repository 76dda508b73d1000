// Rewrites of a graph before it runs. Each has a name, a condition and a count.
#pragma once
#include <vector>

#include "onnx/graph.hpp"

namespace sinter::onnx {

/// Applies all rewrites except those named in `without` until none applies. Returns how often each one applied. Throws ValueError for an unknown name.
std::vector<Rewrite> rewrite(Graph& graph, const std::vector<std::string>& without = {});

}  // namespace sinter::onnx
