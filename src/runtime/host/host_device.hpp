// The host as a device: memory from a pool, and kernels (loaded machine code, or interpreted) launched over threads.
#pragma once
#include <memory>

#include "runtime/executor.hpp"

namespace sinter::runtime {

/// Opens the host. `threads` 0 means every core.
DevicePtr open_host(int threads);

}  // namespace sinter::runtime
