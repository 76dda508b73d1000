// Measuring how kernels run best. Not part of sinter.hpp.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// What tune() found for one kernel.
struct TunedKernel {
  std::string name;    // as it is chosen to run
  std::string chosen;  // the schedule it is chosen to run by
  std::string best;    // the fastest schedule; `chosen` where none is measurably faster
  double ratio = 1;    // of the best one's time to the chosen one's
  int tried = 0;       // other schedules
  bool kept = false;   // the best one is in the disk cache: from now on, also in later processes, kernels of this structure, at sizes of
                       // this magnitude, on this device, run so
};
/// Times the ways in which each kernel of these tensors can run on the present device, over the tensors' own contents, and keeps what is
/// faster than the way it is chosen to run. Results do not change by it on a CPU; on CUDA they may by the order in which sums are combined.
/// `progress` is told the part that is done, and the kernel's name. Throws ValueError for what is evaluated already and where there is no
/// disk cache.
std::vector<TunedKernel> tune(const std::vector<Tensor>& tensors, const std::function<void(double done, std::string_view kernel)>& progress = {});

}  // namespace sinter
