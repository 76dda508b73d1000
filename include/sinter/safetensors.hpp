// The safetensors format: named tensors in one file.
#pragma once
#include <string>

#include "sinter/named.hpp"

namespace sinter {

/// All tensors of a file, in the order in which they lie there. Throws IoError naming the file and what is wrong with it.
NamedTensors load_safetensors(const std::string& path, Location where = Location::current());
/// Evaluates and writes. The file is replaced whole or not at all. A name that comes twice is a ValueError.
void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where = Location::current());

}  // namespace sinter
