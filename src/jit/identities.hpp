// sinter's version and a hash of sources, made by the build (cmake/identities.cmake). A key in the cache holds the identity of what made the
// entry: passes, calling convention and geometry do not show in a kernel's text, and are part of its key all the same.
#pragma once

namespace sinter::jit {

/// Of the sources that CUDA kernels are generated and compiled by.
const char* cuda_generator();
/// Of those of the CPU's kernels.
const char* cpu_generator();
/// Of the sources that decide what a plan is and how a file holds it.
const char* planner();

}  // namespace sinter::jit
