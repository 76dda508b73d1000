// Why two values of a plan are not computed by one kernel.
#pragma once
#include <string>

#include "engine/explain.hpp"

namespace sinter::engine {

/// `a` and `b` are recorded nodes of the plan. Text, or JSON by the options.
std::string explain_boundary(const Told& told, int a, int b, const ExplainOptions& options);

}  // namespace sinter::engine
