// NAME=FILE.npy, NAME=NUMBER and NAME=f32[4096,1024], as the command line gives them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"

namespace sinter::tools {

/// Reads the files. Throws ValueError for a malformed or repeated binding, IoError for a file that cannot be read.
Bindings bind_values(const std::vector<std::string>& arguments);

/// Names become placeholders of a shape and a type, or numbers. Throws ValueError.
Bindings bind_types(const std::vector<std::string>& arguments);

}  // namespace sinter::tools
