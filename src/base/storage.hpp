// The contents of a data leaf or of an evaluated node, as recording sees them: opaque but for host memory.
#pragma once
#include <cstddef>
#include <memory>

#include "base/spin_lock.hpp"

namespace sinter {

struct Storage {
  std::size_t bytes = 0;
  std::shared_ptr<void> host;    // contiguous row-major elements, aligned as one of them, at least; null when only a device has them
  std::shared_ptr<void> device;  // the engine's own: a runtime::Buffer and which device it is of
  bool own = false;              // the memory is sinter's to write to, once nothing but this refers to it: no file, nobody's array
  SpinLock lock;                 // guards the two once others know of it; never held while a device is waited for
};
using StoragePtr = std::shared_ptr<Storage>;

/// 64-byte aligned host memory (not cleared); one byte at least. Counted while it lives. Throws MemoryError.
std::shared_ptr<void> allocate_host(std::size_t bytes);

/// Bytes that allocate_host() has given out and that are still held.
struct HostUse {
  std::size_t now = 0, peak = 0;
};
HostUse host_use();
void reset_host_peak();

}  // namespace sinter
