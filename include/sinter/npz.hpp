// NumPy's .npz archives: several .npy files in one zip file. Where sinter was built without minizip these throw ValueError.
#pragma once
#include <string>

#include "sinter/named.hpp"

namespace sinter {

/// All tensors of an archive, stored or deflated, in the order in which they lie there, by name without ".npy". Throws IoError naming the file, the
/// name and what is wrong.
NamedTensors load_npz(const std::string& path, Location where = Location::current());
/// One of them; an unknown name is an IoError that lists those that are there.
Tensor load_npz(const std::string& path, const std::string& name, Location where = Location::current());
/// Evaluates and writes; `compressed`: deflated, as np.savez_compressed. The file is replaced whole or not at all. A name that comes twice is a
/// ValueError.
void save_npz(const std::string& path, const NamedTensors& tensors, bool compressed = false, Location where = Location::current());

}  // namespace sinter
