// Limits: what a device can take, as a plain value. Every decision for a device can be made, printed and tested on a
// machine that has none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sinter::fuse {

struct Limits {
  std::string target = "cpu";          // "cpu" or "sm_90"
  int sm = 0;                          // 0: a CPU
  int max_ops = 128;                   // elementwise ops in one kernel: bounds compile time
  int registers = 255;                 // live values a thread may hold before it spills (CUDA), 32-bit registers
  int parameter_bytes = 1 << 20;       // kernel parameters
  std::int64_t row_bytes = 512 << 10;  // bytes of a row kept between the stages of a row kernel (CPU: of L2; GPU: a block's shared memory)
  int cluster = 1;                     // CUDA: blocks that may keep a row together, each a part of it in its shared memory; 1: the device has no clusters
  int units = 1;                       // pieces of work that keep the device busy (CUDA: its SMs)
  double bandwidth = 20e9;             // bytes per second, memory
  double throughput = 40e9;            // cheap operations per second, the whole device
  double launch_seconds = 2e-6;        // cost of one kernel
  bool library_calls = false;          // the device has libraries for the library ops of the table
  bool products = false;               // without those: it has one for products of matrices of floats
  bool product_epilogues = true;       // that adds a row to a product, and rounds it to 16 bits
  bool fuse = true;                    // false: one kernel per op
  bool is_cuda() const { return sm != 0; }
};

/// Static shared memory of a block, at most.
inline constexpr std::size_t kStaticShared = 48 << 10;
/// Of a block's shared memory, for the parts that its warps combine.
inline constexpr int kPartsBytes = 4096;

/// Blocks of a cluster that every device with clusters can run at once (CUDA C++ Programming Guide: larger ones are not portable).
inline constexpr int kLargestCluster = 8;

/// The limits of a processor; the same on every machine, so that results and plans are too.
Limits cpu_limits();
/// The limits of a CUDA architecture: 75, 80, 86, 89, 90, 100, 120. Throws ValueError for another.
Limits cuda_limits(int sm);
/// The newest architecture in the table that is not newer than this one; throws ValueError before sm_75.
int nearest_known_sm(int sm);
/// "cpu" or "sm_90"; throws ValueError naming the known targets.
Limits limits_of(const std::string& target);

}  // namespace sinter::fuse
