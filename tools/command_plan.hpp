// sinter compile, sinter explain.
#pragma once
#include "commands.hpp"

namespace sinter::tools {

/// Freezes the model for each combination of `sizes` (NAME=8, NAME=1,8), and writes the plan to the file `out`, which run_model() reads too.
int compile_model(const ModelRequest& request);
/// Prints the model's plan: rewrites, layouts, steps, launches and bytes; then each step and its split reason.
int explain_model(const ModelRequest& request);

}  // namespace sinter::tools
