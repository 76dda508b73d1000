// Identities: sinter's version and a hash of sources, which the build computes (cmake/identities.cmake). A cache key holds the identity of the sources that
// made the entry, because passes, calling convention and geometry do not show in a kernel's text.
#pragma once

namespace sinter::jit {

/// Covers the sources that generate and compile CUDA kernels.
const char* cuda_generator();
/// Covers the sources that generate OpenCL kernels.
const char* opencl_generator();
/// Covers the sources that generate and compile the CPU's kernels.
const char* cpu_generator();
/// Covers the sources that decide the contents of a plan and its format in a file.
const char* planner();

}  // namespace sinter::jit
