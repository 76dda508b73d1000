// sinter compile, sinter explain.
#pragma once
#include "commands.hpp"

namespace sinter::tools {

/// Freezes the model, for each combination of `sizes` (NAME=8, NAME=1,8), and writes its plan to the file `out`, which run_model() takes too.
int compile_model(const ModelRequest& request);
/// What became of the model: rewrites, how its values lie, steps, launches and bytes; then each step and why it ends where it does.
int explain_model(const ModelRequest& request);

}  // namespace sinter::tools
