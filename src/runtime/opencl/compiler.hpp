// The compiler inside a device's driver.
#pragma once
#include "jit/compiler.hpp"

namespace sinter::runtime::opencl {

/// Returns the compilers of all devices as one, which compiles a source for the device that its target names, and for the first one where the target is
/// "opencl". Null when there is no device.
jit::CompilerPtr find_compiler();

}  // namespace sinter::runtime::opencl
