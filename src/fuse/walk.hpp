// Building one kernel from its roots. See walk.cpp for the decisions and kernel.hpp for what comes out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "fuse/kernel.hpp"

namespace sinter::fuse {

/// What the walk may not look into, and what it must stop at.
struct WalkContext {
  const trace::Graph* graph;
  const Limits* limits;
  const std::vector<char>* materialized;  // node -> in memory before this kernel runs
  const std::vector<char>* absorbable;    // node -> wanted in memory, not computed by a kernel yet: may become a root here
};

/// A node to be written, and where its dimensions lie: dimension k runs along axis axes[k] of (parallel..., row...); -1 for a
/// dimension of size 1 that has none.
struct RootRequest {
  int node;
  std::vector<int> axes;
};

/// A node that has to be in memory before the kernel can be built.
struct Demand {
  int node;
  Cut cut;
};
struct WalkResult {
  Kernel kernel;
  std::optional<Demand> demand;  // set: the kernel is not valid; put the node in memory and walk again
};

/// The kernel that computes the roots over the given axes. Absorbable nodes that are met at every point join as roots.
WalkResult walk(const WalkContext& context, const std::vector<RootRequest>& roots, const Shape& parallel, const Shape& row);

/// The axes in which a root is best computed.
struct Domain {
  Shape parallel, row;
  std::vector<int> root_axes;
};
/// For a reduction its own; for another node the one in which the reductions it uses can be computed with it; else its own shape
/// and no rows.
Domain choose_domain(const WalkContext& context, int root);

std::string two_stage_detail(const trace::Graph& graph, const trace::Node& node);

}  // namespace sinter::fuse
