// Tuning: measures which schedule runs each kernel fastest. sinter.hpp does not include this header.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// The result of tune() for one kernel.
struct TunedKernel {
  std::string name;     ///< the kernel's name under the default schedule
  std::string chosen;   ///< the default schedule
  std::string best;     ///< the fastest schedule; equals `chosen` if no other is measurably faster
  double ratio = 1;     ///< the best schedule's time divided by the chosen schedule's time
  int tried = 0;        ///< number of other schedules tried
  bool stored = false;  ///< true if the best schedule is now in the disk cache
};
/// Times the schedules of each kernel of these tensors on the present device, with the tensors' own contents. If a schedule is faster than the default one, it
/// is stored in the disk cache. Kernels of the same structure, at sizes of the same magnitude, then use it on this device, in later processes too. On a CPU
/// this changes no result; on CUDA it may, because sums are combined in another order. `progress` receives the part that is done, from 0 to 1, and the kernel's
/// name. Throws ValueError for tensors that are evaluated already, and if there is no disk cache.
std::vector<TunedKernel> tune(const std::vector<Tensor>& tensors, const std::function<void(double done, std::string_view kernel)>& progress = {});

}  // namespace sinter
