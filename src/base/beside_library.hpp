// Files of libraries that are installed with this one.
#pragma once
#include <string>

namespace sinter {

/// Returns the path of the file beside this library. If there is none, it returns the file's name, for which the loader searches.
std::string beside_library(const std::string& file);

}  // namespace sinter
