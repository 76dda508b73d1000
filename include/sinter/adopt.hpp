// Tensors over memory that is there already, without a copy. Opt-in: sinter.hpp does not include it. What else is shared: sinter/dlpack.hpp, sinter/eigen.hpp.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// A tensor whose elements are where they are, row-major, kept by `owner` for as long as somebody needs them. Nobody may write them meanwhile;
/// of bool each must be 0 or 1. Throws ValueError for a pointer that is null or not aligned to the type.
Tensor adopt_memory(std::shared_ptr<const void> owner, const void* data, DType dtype, const Shape& shape, Location where = Location::current());

/// The vector's elements, which move into the tensor.
template <Element E>
  requires(!std::is_same_v<E, bool>)
Tensor adopt(std::vector<E>&& values, Shape shape = {-1}, Location where = Location::current()) {
  auto owner = std::make_shared<std::vector<E>>(std::move(values));
  const E* const data = owner->data();
  const auto count = static_cast<std::int64_t>(owner->size());
  const Tensor flat = adopt_memory(std::move(owner), data, dtype_of<E>, {count}, where);
  return flat.reshape(shape, where);
}

}  // namespace sinter
