// NumPy's .npz archives: several .npy files in one zip file. If sinter was built without minizip, these throw ValueError.
#pragma once
#include <string>

#include "sinter/named.hpp"

namespace sinter {

/// Returns all tensors of an archive, in its order; each has its name without ".npy". Members may be stored or deflated. Throws IoError naming the file, the
/// name and the fault.
NamedTensors load_npz(const std::string& path, Location where = Location::current());
/// Returns one of them; an unknown name is an IoError that lists the names in the archive.
Tensor load_npz(const std::string& path, const std::string& name, Location where = Location::current());
/// Evaluates the tensors and writes them; `compressed` deflates them, as np.savez_compressed does. The file is replaced as a whole or not at all. Throws
/// ValueError for a repeated name.
void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed = false, Location where = Location::current());

}  // namespace sinter
