// NumPy's .npy files.
#pragma once
#include <string>

#include "sinter/tensor.hpp"

namespace sinter {

/// Reads versions 1, 2 and 3, both byte orders, C and Fortran order. Throws an IoError that names the file and the fault: the file is missing, truncated or
/// malformed, or it has pickled objects or a type that sinter lacks.
Tensor load_npy(const std::string& path, Location where = Location::current());
/// Maps the file: the system reads a page when elements in it are accessed. This is useful for files larger than memory of which only a part is needed. The
/// file must not change while it is mapped. Throws IoError for contents that need a conversion: the other byte order, bool, elements that are not aligned.
Tensor map_npy(const std::string& path, Location where = Location::current());
/// Evaluates the tensor and writes it. The file is replaced as a whole or not at all.
void save_npy(const std::string& path, const Tensor& tensor, Location where = Location::current());

}  // namespace sinter
