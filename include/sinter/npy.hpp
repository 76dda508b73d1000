// NumPy's .npy files.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Reads versions 1, 2 and 3, either byte order, C and Fortran order. Throws IoError naming the file and what is wrong
/// with it: missing, truncated, malformed, a type sinter does not hold, pickled objects (refused).
Tensor load_npy(const std::string& path, Location where = Location::current());
/// The elements stay in the file, which the system reads when they are looked at: for files larger than memory, of which parts are used. The
/// file must not change meanwhile. What would have to be converted is an IoError: the other byte order, bool, elements that are not aligned.
Tensor map_npy(const std::string& path, Location where = Location::current());
/// Evaluates and writes. The file is replaced whole or not at all.
void save_npy(const std::string& path, const Tensor& tensor, Location where = Location::current());

}  // namespace sinter
