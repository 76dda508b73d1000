// What a kernel compiled for the host and the emulator that runs it know of each other. Included by both, so it
// includes nothing itself: a kernel's compilation must stay short.
#pragma once

namespace cuda_emulator {

struct Index3 {
  unsigned x, y, z;
};

struct Hooks {
  Index3 thread, block, block_size, grid_size;  // of the thread that runs now
  void (*barrier)(unsigned line);
  void (*warp_barrier)(unsigned mask);
  /// Every lane of the mask gives a value; each gets the value of the lane it asks for.
  unsigned long long (*shuffle)(unsigned mask, unsigned long long value, int source_lane);
  /// Before each access of memory, where the kernel was compiled with checks.
  void (*access)(const void* address, unsigned long bytes, bool write);
  /// Before an atomic's one reading and writing of its word.
  void (*atomic)(const void* address, unsigned long bytes);
  void (*fence)();
  /// An access that breaks the alignment of its type; an element that an array of known size has not. Neither returns.
  void (*misaligned)(const void* address, unsigned long alignment, const char* type, bool write, unsigned line);
  void (*out_of_bounds)(const char* type, long long index, unsigned line);
  void (*cluster_arrive)();
  void (*cluster_wait)();
  /// Where a block of the cluster has what this one has at the address.
  const void* (*of_block)(const void* own, unsigned rank);
};

}  // namespace cuda_emulator
