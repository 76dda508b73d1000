// Tensors with names, as files store them.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

}  // namespace sinter
