// Explains why one kernel does not compute two values of a plan.
#pragma once
#include <string>
#include <vector>

#include "engine/explain.hpp"

namespace sinter::engine {

/// `a` and `b`: recorded nodes of the plan. Returns text or JSON, as the options require.
std::string explain_boundary(const Explained& explained, int a, int b, const ExplainOptions& options);

/// Says why the plan is not one kernel: a line for each step and for each merge that was refused. Returns no line if the plan is one kernel, or one library
/// call with its epilogue.
std::vector<std::string> boundaries(const Explained& explained);

}  // namespace sinter::engine
