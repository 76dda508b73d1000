// Tensors over existing memory, without a copy. Opt-in: sinter.hpp does not include this header. sinter/dlpack.hpp and sinter/eigen.hpp share memory, too.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Allocates host memory (not cleared), aligned to 64 bytes, at least one byte; large memory consists of huge pages, where the system has some. The memory is
/// counted until it is freed. Throws MemoryError.
std::shared_ptr<void> allocate_host(std::size_t bytes);

/// Returns a tensor that uses row-major elements where they lie. The tensor holds `owner`, which keeps the elements alive. Nobody may write the elements as
/// long as the tensor, or a recording that reads it, exists. Elements of type bool must be 0 or 1. Throws ValueError for a pointer that is null or not aligned
/// to the type.
Tensor adopt_memory(std::shared_ptr<const void> owner, const void* data, DType dtype, const Shape& shape, Location where = Location::current());

/// Returns a tensor of memory from allocate_host() that nobody else uses. Assignments to parts of the tensor may write it.
Tensor adopt_host(std::shared_ptr<void> memory, DType dtype, const Shape& shape, Location where = Location::current());

/// Moves the vector's elements into a tensor.
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
