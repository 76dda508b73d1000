// sinter compile.
#pragma once
#include "commands.hpp"

namespace sinter::tools {

/// Freezes the model, for each combination of `sizes` (NAME=8, NAME=1,8), and writes its plan to the file `out`, which run_model() takes too.
int compile_model(const ModelRequest& request);

}  // namespace sinter::tools
