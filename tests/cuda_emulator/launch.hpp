// Running a kernel: blocks one after another, the threads of a block as fibers that change places at barriers and
// shuffles, in an order that differs from one stretch to the next, so that a missing barrier shows.
#pragma once
#include <string>

#include "hooks.hpp"
#include "host_module.hpp"
#include "memory.hpp"

namespace cuda_emulator {

struct LaunchShape {
  Index3 grid, block;
  std::size_t dynamic_shared = 0;
};

enum class Outcome { done, illegal_address, failed };

/// The hooks that modules are loaded with: there is one device, and one launch at a time.
Hooks* hooks();

/// Runs it to the end. What goes wrong is told in `message`:
///   illegal_address  an access outside the device's memory, or outside the block's shared memory
///   failed           a barrier or shuffle that not all threads reach; threads that use the same shared memory with no
///                    barrier between
Outcome run_launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory, std::string* message);

}  // namespace cuda_emulator
