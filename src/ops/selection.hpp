// Converts an index expression to a strided block of the tensor.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ops/recording.hpp"
#include "sinter/tensor.hpp"

namespace sinter::ops {

struct Selection {
  std::vector<std::int64_t> start_step;  // as for a slice: [2k] start, [2k+1] step of axis k
  Shape sliced, result;                  // the block's shape with every axis, and with axes dropped and inserted
  // The tensors in the index. The gathers along their axes of `result` are not done yet.
  std::vector<Tensor> places;
  std::vector<std::int64_t> places_axes;
  bool places_in_front = false;  // true if a slice separates the tensors; then their axes come first, as in NumPy
};
Selection selected(const Site& site, const Shape& shape, std::span<const Index* const> index);

}  // namespace sinter::ops
