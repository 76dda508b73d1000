#include "fuse/boundary.hpp"

namespace sinter::fuse {

std::string_view name(SplitReason reason) {
  switch (reason) {
    case SplitReason::output_wanted: return "output wanted";
    case SplitReason::reduction_dependency: return "reduction dependency";
    case SplitReason::parallelism: return "parallelism";
    case SplitReason::row_too_long: return "row too long";
    case SplitReason::recompute_cost: return "recompute cost";
    case SplitReason::registers: return "registers";
    case SplitReason::shared_memory: return "shared memory";
    case SplitReason::parameters: return "parameters";
    case SplitReason::kernel_size: return "kernel size";
    case SplitReason::index_expression: return "index expression";
    case SplitReason::gathered: return "gathered";
    case SplitReason::library_call: return "library call";
    case SplitReason::contiguous_copy: return "contiguous copy";
    case SplitReason::measured_spill: return "measured spill";
    case SplitReason::fuse_off: return "fusion off";
    case SplitReason::other_points: return "different points";
    case SplitReason::order: return "order";
    case SplitReason::slower: return "slower as one";
    case SplitReason::not_tried: return "not tried";
  }
  return "?";
}

std::string_view remedy(SplitReason reason) {
  switch (reason) {
    case SplitReason::output_wanted:
      return "The value is stored because the program asked for it; a value that the program neither evaluates nor holds can stay inside a kernel.";
    case SplitReason::reduction_dependency:
      return "The reduced value is needed at points that its kernel does not have; reduce along the axes that the later operations keep, or keep the reduced "
             "axis (keepdims) in the same order.";
    case SplitReason::parallelism:
      return "The reduction has too few results to keep the device busy in one kernel; if it has more results at once (a batch), one kernel computes them.";
    case SplitReason::row_too_long: return "A shorter row, or a narrower dtype, fits in the cache that stages it.";
    case SplitReason::recompute_cost:
      return "The value costs more to compute again than to store; with one reader, or a cheaper formula, it is computed where it is read.";
    case SplitReason::registers: return "Fewer values that are live at once, or a narrower dtype, need fewer registers.";
    case SplitReason::shared_memory: return "A shorter row, or a narrower dtype, fits in the shared memory of a block or of a cluster.";
    case SplitReason::parameters: return "Fewer inputs, or inputs that are stacked into one tensor, need fewer parameters.";
    case SplitReason::kernel_size: return "A formula of fewer operations fits in one kernel; the bound keeps compile times short.";
    case SplitReason::index_expression:
      return "Fewer reshapes between the reads, or reshapes that split axes evenly, make the position of an element cheap to compute.";
    case SplitReason::gathered:
      return "The elements that a gather selects are read from memory; apply the operations after the gather, or gather from a smaller table.";
    case SplitReason::library_call:
      return "A library reads its operands from memory and writes its result to memory; only elementwise operations on the result can run as its epilogue.";
    case SplitReason::contiguous_copy: return "Without contiguous() or materialize(), the kernel that uses the value computes it, or reads through the view.";
    case SplitReason::measured_spill: return "The compiler reported spilled registers for one kernel; a narrower dtype or fewer live values would not spill.";
    case SplitReason::fuse_off: return "SINTER_FUSE=on, or Options::fuse, turns fusion on.";
    case SplitReason::other_points:
      return "Two kernels become one if each point of one is a point of the other: they run over the same axes, or one reduces the rows of the other.";
    case SplitReason::order: return "The two could be one kernel without the step between them, or if the second one did not use the result of that step.";
    case SplitReason::slower:
      return "The cost model estimates that one kernel would take longer; at sizes at which memory traffic outweighs the repeated work, this changes.";
    case SplitReason::not_tried: return "Planning tries a bounded number of pairs; fewer steps that read the same value leave fewer pairs.";
  }
  return "";
}

}  // namespace sinter::fuse
