// NumPy's .npy files.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Reads versions 1, 2 and 3, either byte order, C and Fortran order. Throws IoError naming the file and the fault: missing, truncated, malformed, a type that
/// sinter does not have, pickled objects (refused).
Tensor load_npy(const std::string& path, Location where = Location::current());
/// Maps the file; the system reads its pages when elements are accessed. Useful for files larger than memory that are read in part. The file must not change
/// meanwhile. Throws IoError for contents that need a conversion: the other byte order, bool, elements that are not aligned.
Tensor map_npy(const std::string& path, Location where = Location::current());
/// Evaluates the tensor and writes it. The file is replaced as a whole or not at all.
void save_npy(const std::string& path, const Tensor& tensor, Location where = Location::current());

}  // namespace sinter
