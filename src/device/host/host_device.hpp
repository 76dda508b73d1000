// The host as a device: pooled memory, kernels as loaded machine code or interpreted, launched over threads.
#pragma once
#include <memory>

#include "device/executor.hpp"

namespace sinter::device {

/// `threads` 0: every core.
DevicePtr open_host(int threads);

/// Existing host memory as a buffer, without a copy. Not counted as memory of the device.
BufferPtr wrap_host(std::shared_ptr<void> memory, std::size_t bytes);

/// The opposite: a host buffer's memory, which lives as long as the pointer does.
std::shared_ptr<void> host_memory(const BufferPtr& buffer);

}  // namespace sinter::device
