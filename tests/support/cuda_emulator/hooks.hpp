// The interface between a kernel that was compiled for the host and the emulator that runs it. Both include this file. It includes no other, so that kernels
// compile quickly.
#pragma once

namespace cuda_emulator {

struct Index3 {
  unsigned x, y, z;
};

struct Hooks {
  Index3 thread, block, block_size, grid_size;  // of the running thread
  void (*barrier)(unsigned line);
  void (*warp_barrier)(unsigned mask);
  /// Every lane of the mask gives a value and gets the value of the lane that it names.
  unsigned long long (*shuffle)(unsigned mask, unsigned long long value, int source_lane);
  /// Is called before each access of memory, if the kernel was compiled with checks.
  void (*access)(const void* address, unsigned long bytes, bool write);
  /// Is called before an atomic reads and writes its word.
  void (*atomic)(const void* address, unsigned long bytes);
  void (*fence)();
  /// These functions report an access that breaks the alignment of its type, and an element outside of an array of known size. They do not return.
  void (*misaligned)(const void* address, unsigned long alignment, const char* type, bool write, unsigned line);
  void (*out_of_bounds)(const char* type, long long index, unsigned line);
  void (*cluster_arrive)();
  void (*cluster_wait)();
  /// Returns where a block of the cluster has its counterpart of this block's address.
  const void* (*of_block)(const void* own, unsigned rank);
};

}  // namespace cuda_emulator
