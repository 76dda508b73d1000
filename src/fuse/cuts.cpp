#include "fuse/cuts.hpp"

namespace sinter::fuse {

std::string_view name(CutReason reason) {
  switch (reason) {
    case CutReason::output_wanted: return "output wanted";
    case CutReason::reduction_dependency: return "reduction dependency";
    case CutReason::parallelism: return "parallelism";
    case CutReason::row_too_long: return "row too long";
    case CutReason::recompute_cost: return "recompute cost";
    case CutReason::registers: return "registers";
    case CutReason::shared_memory: return "shared memory";
    case CutReason::parameters: return "parameters";
    case CutReason::kernel_size: return "kernel size";
    case CutReason::index_expression: return "index expression";
    case CutReason::gathered: return "gathered";
    case CutReason::library_call: return "library call";
    case CutReason::contiguous_copy: return "contiguous copy";
    case CutReason::measured_spill: return "measured spill";
    case CutReason::fuse_off: return "fusion off";
  }
  return "?";
}

}  // namespace sinter::fuse
