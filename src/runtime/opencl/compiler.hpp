// The compiler inside a device's driver.
#pragma once
#include "jit/compiler.hpp"

namespace sinter::runtime::opencl {

/// Returns one compiler for all devices. It compiles a source for the device that the source's target names, or for the first device if the target is "opencl".
/// Returns null if there is no device.
jit::CompilerPtr find_compiler();

}  // namespace sinter::runtime::opencl
