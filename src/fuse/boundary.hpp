// Split reasons. Each says why a kernel ends at a fusion boundary. Every step of a plan has one Boundary, whose text contains the figures that decided it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace sinter::fuse {

enum class SplitReason : std::uint8_t {
  output_wanted,         // the value was requested
  reduction_dependency,  // a reduced value is needed at points that its own kernel does not have
  parallelism,           // a reduction with few results is split in two stages
  row_too_long,          // a row does not fit in the cache that would stage it (CPU)
  recompute_cost,        // computing again costs more than a round trip to memory
  registers,             // too many values live at once
  shared_memory,         // a row does not fit in a block's shared memory (CUDA)
  parameters,            // too many kernel parameters
  kernel_size,           // too many ops for one kernel
  index_expression,      // computing the index of an element through these views costs more than a copy
  gathered,              // its elements are gathered at computed positions
  library_call,          // a library call reads or writes this value in memory
  contiguous_copy,       // the user asked for a contiguous copy
  measured_spill,        // the compiler reported spills
  fuse_off,              // fusion is switched off
  // The reasons why two kernels did not become one:
  other_points,  // they run over different points
  order,         // a step between them depends on one, and the other depends on that step
  slower,        // one kernel would take longer than both
  not_tried,     // planning tries only some pairs
};
std::string_view name(SplitReason reason);
/// Returns one sentence that says how the user can remove the boundary.
std::string_view remedy(SplitReason reason);

struct Boundary {
  SplitReason reason = SplitReason::output_wanted;
  std::string detail;  // "128 ops reach the limit of 128"
};
inline std::string to_string(const Boundary& boundary) {
  std::string text(name(boundary.reason));
  return boundary.detail.empty() ? text : text + ": " + boundary.detail;
}

/// Two kernels whose merge was tried and refused. Each is identified by a node that it computes.
struct Refusal {
  int a = -1, b = -1;
  Boundary why;
};

}  // namespace sinter::fuse
