// An OpenCL device: shared virtual memory, programs and launches on one queue in order, through an ICD loader opened at run time.
#pragma once
#include <string>

#include "runtime/executor.hpp"

namespace sinter::runtime::opencl {

/// Opens a device. Throws DeviceError if there is no loader, no device or no such ordinal, or if the device cannot be used (with the reason).
DevicePtr open(int ordinal);

}  // namespace sinter::runtime::opencl
