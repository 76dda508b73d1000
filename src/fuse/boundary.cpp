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
  }
  return "?";
}

std::string_view remedy(SplitReason reason) {
  switch (reason) {
    case SplitReason::output_wanted:
      return "The value is stored because it was asked for; a program that neither evaluates nor holds it lets it stay inside a kernel.";
    case SplitReason::reduction_dependency:
      return "The reduced value is needed at points that its kernel does not have; reduce along the axes that the later operations keep, or keep the reduced "
             "axis (keepdims) in the same order.";
    case SplitReason::parallelism:
      return "The reduction has too few results to keep the device busy in one kernel; more results at once (a batch) need no second stage.";
    case SplitReason::row_too_long: return "A shorter row, or a narrower dtype, fits in the cache that stages it.";
    case SplitReason::recompute_cost:
      return "The value costs more to compute again than to store; with one reader, or a cheaper formula, it is computed where it is read.";
    case SplitReason::registers: return "Fewer values that are live at once, or a narrower dtype, need fewer registers.";
    case SplitReason::shared_memory: return "A shorter row, or a narrower dtype, fits in the shared memory of a block or of a cluster.";
    case SplitReason::parameters: return "Fewer inputs, or inputs that are stacked into one tensor, need fewer parameters.";
    case SplitReason::kernel_size: return "A formula of fewer operations fits in one kernel; the bound keeps compile times short.";
    case SplitReason::index_expression:
      return "Fewer reshapes between the reads, or reshapes that split axes evenly, make the place of an element cheap to find.";
    case SplitReason::gathered: return "Elements that are taken at computed places are read from memory; gather before computing, or from a smaller table.";
    case SplitReason::library_call:
      return "A library takes and gives its operands in memory; only an epilogue over its result, element by element, runs with it.";
    case SplitReason::contiguous_copy: return "Without contiguous() or materialize() the value is computed, or the view read, in the kernel that uses it.";
    case SplitReason::measured_spill: return "The compiler reported spilled registers for one kernel; a narrower dtype or fewer live values would not spill.";
    case SplitReason::fuse_off: return "SINTER_FUSE=on, or Options::fuse, fuses.";
    case SplitReason::other_points: return "Two kernels become one where each point of one is one point of the other: the same axes, or a reduction's rows.";
    case SplitReason::order: return "Without the step between the two, or with its value not used by the second, they could be one kernel.";
    case SplitReason::slower: return "By the cost model one kernel would take longer; sizes at which memory traffic outweighs the repeated work change that.";
  }
  return "";
}

}  // namespace sinter::fuse
