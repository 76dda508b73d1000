// The model of a device, as a plain value: its capacities, and the figures that decide how fast a kernel is on it. Every decision for a device can be made,
// printed and tested on a machine without that device. No decision asks for the kind of device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::fuse {

/// The generator of the kernels.
enum class Backend : std::uint8_t { cpu, cuda, opencl };
std::string_view name(Backend backend);

/// The maximum static shared memory of a block of a CUDA device.
inline constexpr std::size_t kStaticShared = 48 << 10;

struct Limits {
  std::string target = "cpu";  // "cpu", "aarch64", "sm_90", "opencl" or an OpenCL device with its driver
  Backend backend = Backend::cpu;
  int sm = 0;                             // CUDA: the architecture
  int max_ops = 128;                      // maximum number of elementwise ops of a kernel; it bounds compile time
  int registers = 0;                      // 32-bit registers of a thread, above which values spill; 0: spilling is cheap
  int parameter_bytes = 1 << 20;          // bytes of kernel parameters
  std::int64_t row_bytes = 512 << 10;     // bytes of a row that can be staged between passes (CPU: in L2; GPU: in a block's shared memory)
  std::int64_t cached_bytes = 512 << 10;  // CPU: bytes of rows that the second cache still has when the next pass reads them
  bool row_bytes_are_hard = false;        // the limit is hard; otherwise memory takes the rest
  bool columns_in_registers = false;      // columns are staged only in registers of the threads that compute them
  int cluster = 1;                        // CUDA: maximum blocks that share a row, each holding a part in its shared memory; 1: the device has no clusters
  int units = 1;                          // pieces of work that keep the device busy (CUDA: the multiprocessors)
  double bandwidth = 20e9;                // bytes of memory per second
  double throughput = 40e9;               // cheap operations per second of the whole device
  double launch_seconds = 2e-6;           // cost of one kernel
  bool library_calls = false;             // the device has libraries for the table's library ops
  bool products = false;                  // it has a library at least for products of float matrices
  bool sorts_by_digits = false;           // it sorts, and inverts indices, by kernels of its own in linear work
  bool product_epilogues = true;          // that library adds a row to a product, and rounds it to 16 bits
  bool fuse = true;                       // false: one kernel for each op
  bool channel_blocks = false;            // convolutions are faster with channels in blocks (ops/blocked.hpp), because vectors have 32 bytes
  bool fold_channels = false;             // numbers for each channel become part of a convolution's weights
  bool block_bytes = false;               // convolutions of bytes are faster in blocks too
  bool scale_bytes = false;               // convolutions of bytes can scale their sums
  bool lay_out_bytes = false;             // products of bytes read a right matrix that was laid out for them
  bool unroll_recurrence = false;         // no library computes all steps of a recurrent layer in one call
  bool overlap = true;                    // a kernel computes the part that needs no elements of other ranks while an exchange is under way
  bool byte_panels = false;               // the matrix is laid out in panels, because one instruction multiplies four numbers; otherwise along the depth

  // The way in which kernels run.
  double reread = 1;                 // number of cheap operations that take as long as reading an element of a row again in a later pass
  std::int64_t cache_bytes = 0;      // a value of at most this many bytes is still in a cache when the next kernel reads it; 0: do not rely on this
  int short_row = 7;                 // rows up to this length leave most lanes along them idle
  bool one_order = true;             // the order of a sum depends on its type and shape alone; otherwise also on its kernel and on the number of units
  bool hoists = true;                // a loop computes invariant work once; otherwise a thread computes it again for its point
  bool tiles_in_registers = true;    // strided accesses along both axes of a square tile are transposed in registers
  bool joins_short_kernels = false;  // a launch is so expensive that short kernels without common inputs are joined

  // The blocks of a GPU.
  int threads = 1024;                        // maximum number of threads of a block
  std::size_t shared_bytes = kStaticShared;  // maximum shared memory of a block beside the rows that it stages
  bool warps = true;                         // threads of a warp exchange values without memory; otherwise whole blocks do so through shared memory
  bool float64 = true;                       // the device computes in float64
  bool rounds_quotients = true;              // its quotients and roots of float32 are rounded correctly
};

/// Returns one line for each field.
std::string to_string(const Limits& limits);

/// Part of a block's shared memory for the values that its warps combine.
inline constexpr int kPartsBytes = 4096;

/// The maximum number of blocks of a cluster that every device with clusters can run (CUDA C++ Programming Guide: larger ones are not portable).
inline constexpr int kLargestCluster = 8;

/// Returns the limits of a processor. They are the same on every machine, and so are results and plans.
Limits cpu_limits();
/// Returns the limits of a CUDA architecture: 75, 80, 86, 89, 90, 100, 120. Throws ValueError for another one.
Limits cuda_limits(int sm);
/// Returns limits that every OpenCL device of reasonable size meets. For a device of this machine, runtime/opencl has its own limits.
Limits opencl_limits();
/// Returns the newest architecture of the table that is not newer than this one. Throws ValueError before sm_75.
int nearest_known_sm(int sm);
/// Returns the limits of "cpu", "sm_90" or "opencl", or of the plainest processor of "x86-64" or "aarch64". Throws ValueError that names the known targets.
Limits limits_of(const std::string& target);

}  // namespace sinter::fuse
