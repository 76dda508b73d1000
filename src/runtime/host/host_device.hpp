// The host as a device: pooled memory, kernels as loaded machine code or interpreted, launched over threads.
#pragma once
#include <memory>

#include "runtime/executor.hpp"

namespace sinter::runtime {

/// `threads` 0: every core.
DevicePtr open_host(int threads);

}  // namespace sinter::runtime
