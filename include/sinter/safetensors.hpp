// The safetensors format: named tensors in one file.
#pragma once
#include <string>

#include "sinter/named.hpp"

namespace sinter {

/// Returns all tensors of a file, in file order. Throws IoError naming the file and the fault.
NamedTensors load_safetensors(const std::string& path, Location where = Location::current());
/// Evaluates the tensors and writes them. The file is replaced as a whole or not at all. Throws ValueError for a repeated name.
void save_safetensors(const std::string& path, const NamedTensors& tensors, Location where = Location::current());

}  // namespace sinter
