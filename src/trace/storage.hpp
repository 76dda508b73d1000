// The contents of a data leaf or of an evaluated node, as recording sees them: opaque but for host memory.
#pragma once
#include <cstddef>
#include <memory>

namespace sinter::trace {

struct Storage {
  std::shared_ptr<void> host;    // contiguous row-major elements, 64-byte aligned; null when only a device has them
  std::size_t bytes = 0;
  std::shared_ptr<void> device;  // the engine's own: a device::Buffer and which device it is of
};
using StoragePtr = std::shared_ptr<Storage>;

/// 64-byte aligned host memory (not cleared); one byte at least.
std::shared_ptr<void> allocate_host(std::size_t bytes);

}  // namespace sinter::trace
