// Explains why one kernel does not compute two values of a plan.
#pragma once
#include <string>

#include "engine/explain.hpp"

namespace sinter::engine {

/// `a` and `b`: recorded nodes of the plan. Returns text or JSON, by the options.
std::string explain_boundary(const Told& told, int a, int b, const ExplainOptions& options);

}  // namespace sinter::engine
