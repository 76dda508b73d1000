// The bindings of the command line: NAME=FILE.npy, NAME=NUMBER and NAME=f32[4096,1024].
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
  std::map<std::string, std::int64_t, std::less<>> letters;  // x=f32[B,1024]: the named sizes and their numbers
};
/// Binds names to placeholders of a shape and a type, or to numbers. A named size is the same in all shapes, and the expression can use the name as a number.
/// B=512 sets its value; otherwise it gets a value that no other size has. Throws ValueError.
TypeBindings bind_types(const std::vector<std::string>& arguments);

}  // namespace sinter::tools
