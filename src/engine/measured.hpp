// The memory bandwidth of this machine, measured once for each device at the first request. Profiles and timelines compare kernels with it.
#pragma once
#include "runtime/executor.hpp"

namespace sinter::engine {

/// Returns the bytes read and written per second by copies between two large arrays, on `threads` threads of the host or on a GPU; 0 if there is no memory for
/// the arrays.
double measured_bandwidth(runtime::Device& device, int threads);
/// Returns the additions and multiplications per second in a product of large matrices of this type by the device's library, or 0 if there is no library.
double measured_arithmetic(runtime::Device& device, DType dtype);

}  // namespace sinter::engine
