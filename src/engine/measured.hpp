// The rates that this machine reaches, measured once for each device when somebody asks: the limits that profiles and timelines compare with.
#pragma once
#include "runtime/executor.hpp"

namespace sinter::engine {

/// Bytes read and written per second by copies between two large arrays, on so many of the host's threads, or by a GPU; 0 where there is no memory to measure
/// with.
double measured_bandwidth(runtime::Device& device, int threads);

}  // namespace sinter::engine
