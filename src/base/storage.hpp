// The contents of a data leaf or of an evaluated node, as recording sees them: opaque except for host memory.
#pragma once
#include <cstddef>
#include <memory>

#include "base/spin_lock.hpp"

namespace sinter {

struct Storage {
  std::size_t bytes = 0;
  std::shared_ptr<void> host;      // contiguous row-major elements, aligned at least for their type; null when only a device has them
  std::shared_ptr<void> device;    // owned by the engine: a runtime::Buffer and its device
  bool own = false;                // sinter may write the memory if nothing else refers to it, because it is neither a file nor another library's array
  std::shared_ptr<void> laid_out;  // owned by fuse/laid_out.hpp: copies of the elements in other layouts; null after the elements were written
  SpinLock lock;                   // guards `host`, `device` and `laid_out` once other threads know them; never held while waiting for a device
};
using StoragePtr = std::shared_ptr<Storage>;

/// The bytes from allocate_host() that are still in use.
struct HostUse {
  std::size_t now = 0, peak = 0;
};
HostUse host_use();
void reset_host_peak();

}  // namespace sinter
