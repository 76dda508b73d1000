// Explains why one kernel does not compute two values of a plan.
#pragma once
#include <string>
#include <vector>

#include "engine/explain.hpp"

namespace sinter::engine {

/// `a` and `b`: recorded nodes of the plan. Returns text or JSON, as the options require.
std::string explain_boundary(const Explained& explained, int a, int b, const ExplainOptions& options);

/// Why another step is not one kernel with a step.
struct Apart {
  int step = -1;
  fuse::Boundary why;
};
/// Returns for each step why it is apart from its neighbours: the steps that read its result, whose result it reads, or that read the same value. Of many
/// readers of a value, the nearest are neighbours. A split reason says why a step is apart from the steps that read its result, and from all if it is a library
/// call, so such neighbours are left out. Without fusion there are none.
std::vector<std::vector<Apart>> apart_from_neighbours(const Planned& plan);

/// Says why the plan is not one kernel: a line for each step and for each merge that was refused. Returns no line if the plan is one kernel, or one library
/// call with its epilogue.
std::vector<std::string> boundaries(const Explained& explained);

}  // namespace sinter::engine
