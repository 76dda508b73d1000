// The model of a device, as a plain value: what it can take, and what decides how fast a kernel is on it. Every decision for a device can be
// made, printed and tested on a machine that has none, and none asks what kind of device it is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace sinter::fuse {

/// Who generates kernels.
enum class Backend : std::uint8_t { cpu, cuda };

struct Limits {
  std::string target = "cpu";  // "cpu" or "sm_90"
  Backend backend = Backend::cpu;
  int sm = 0;                          // CUDA: the architecture
  int max_ops = 128;                   // elementwise ops in one kernel: bounds compile time
  int registers = 0;                   // 32-bit registers of a thread, more of which spill; 0: spilling is cheap
  int parameter_bytes = 1 << 20;       // kernel parameters
  std::int64_t row_bytes = 512 << 10;  // bytes of a row staged between the passes over it (CPU: of L2; GPU: a block's shared memory)
  bool row_bytes_are_hard = false;     // there is no more of them; else memory lies behind
  bool columns_in_registers = false;   // columns are staged in the registers of the threads that walk them, and nowhere else
  int cluster = 1;                     // CUDA: blocks that may keep a row together, each a part of it in its shared memory; 1: the device has no clusters
  int units = 1;                       // pieces of work that keep the device busy (CUDA: its SMs)
  double bandwidth = 20e9;             // bytes per second, memory
  double throughput = 40e9;            // cheap operations per second, the whole device
  double launch_seconds = 2e-6;        // cost of one kernel
  bool library_calls = false;          // the device has libraries for the library ops of the table
  bool products = false;               // without those: it has one for products of matrices of floats
  bool product_epilogues = true;       // that adds a row to a product, and rounds it to 16 bits
  bool fuse = true;                    // false: one kernel per op
  bool channel_blocks = false;         // it convolves faster with channels in blocks (ops/blocked.hpp): it has vectors of 32 bytes
  bool fold_channels = false;          // so that numbers for each channel become part of a convolution's weights
  bool block_bytes = false;            // likewise convolutions of bytes
  bool scale_bytes = false;            // whose sums it scales on the way
  bool lay_out_bytes = false;          // products of bytes read the right matrix as it is laid out for them
  bool byte_panels = false;            // that is in panels: it multiplies four numbers an instruction; else along the depth

  // How kernels run.
  double reread = 1;                 // cheap operations that take as long as reading an element of a row again in a later pass
  std::int64_t cache_bytes = 0;      // written by one kernel, these are found in a cache by the next; 0: not counted on
  int short_row = 31;                // rows up to here leave most lanes along them idle
  bool one_order = true;             // the order of a sum depends on its type and shape alone; else on its kernel and the number of units too
  bool hoists = true;                // a loop computes once what it does not change; else each thread computes all of its point
  bool squares_in_registers = true;  // strided accesses along both axes of a square are turned in registers
  bool joins_short_kernels = false;  // a launch is dear enough to join short kernels that read nothing alike
};

/// One field a line.
std::string to_string(const Limits& limits);

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
