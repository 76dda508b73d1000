// NAME=FILE.npy, NAME=NUMBER and NAME=f32[4096,1024], as the command line gives them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "expression.hpp"

namespace sinter::tools {

/// Reads the files. Throws ValueError for a malformed or repeated binding, IoError for a file that cannot be read.
Bindings bind_values(const std::vector<std::string>& arguments);

struct TypeBindings {
  Bindings names;
  std::map<std::string, std::int64_t, std::less<>> letters;  // x=f32[B,1024]: the sizes that have a name, and what stands for each
};
/// Names become placeholders of a shape and a type, or numbers. A size that is a name is the same wherever it is written, and a number
/// of the expression; B=512 gives it a value, else it gets one that no other size has. Throws ValueError.
TypeBindings bind_types(const std::vector<std::string>& arguments);

}  // namespace sinter::tools
