// Runs a kernel: blocks (or clusters) run one after another in any order. The threads of a block are fibers that change at barriers and shuffles, in an order
// that changes at each of them, so that a missing barrier shows. Every access is checked against the allocations and recorded in shadow memory
// (shadow_memory.hpp).
//   SINTER_EMULATOR_SEED  the seed of the orders, which is reported with each fault; by default a new one for each process
#pragma once
#include <cstdint>
#include <string>

#include "hooks.hpp"
#include "host_module.hpp"
#include "memory.hpp"

namespace cuda_emulator {

struct LaunchShape {
  Index3 grid, block;
  std::size_t dynamic_shared = 0;
  unsigned cluster = 1;  // neighbouring blocks along x that run at once
};

enum class Outcome { done, illegal_address, misaligned_address, failed };

/// Describes a block: "block (1, 0, 0)".
std::string to_string(const char* what, const Index3& i);
/// Returns SINTER_EMULATOR_SEED, or a new seed for each process.
std::uint64_t seed();

/// Returns the hooks with which modules are loaded: there is one device, and one launch at a time.
Hooks* hooks();

/// Runs the kernel to its end. `message` describes an error:
///   illegal_address     an access outside the device's memory, the block's shared memory or an array of the kernel
///   misaligned_address  an access at an address that is no multiple of its type's alignment
///   failed              a barrier or shuffle that not all threads reach; memory that two threads use, one of them writing,
///                       with no barrier between, or in two blocks that no fence and atomic order; memory that is read and
///                       that nobody wrote; the shared memory of a block of the cluster that has not begun, or has ended
Outcome run_launch(const HostModule& module, const LaunchShape& shape, void** parameters, Memory& memory, std::string* message);

}  // namespace cuda_emulator
