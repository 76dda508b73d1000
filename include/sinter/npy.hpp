// NumPy's .npy files.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Reads versions 1, 2 and 3, either byte order, C and Fortran order. Throws IoError naming the file and what is wrong
/// with it: missing, truncated, malformed, a type sinter does not hold, pickled objects (refused).
Tensor load_npy(const std::string& path, Location where = Location::current());
/// Evaluates and writes. The file is replaced whole or not at all.
void save_npy(const std::string& path, const Tensor& tensor, Location where = Location::current());

}  // namespace sinter
