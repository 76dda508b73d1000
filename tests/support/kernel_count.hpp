// Plans recorded tensors to count their kernels. Nothing is generated or compiled.
#pragma once
#include <vector>

#include "fuse/schedule.hpp"
#include "sinter/tensor.hpp"
#include "trace/structural_key.hpp"

namespace sinter::testing {

inline fuse::Plan plan_of(const std::vector<Tensor>& tensors, const fuse::Limits& limits) {
  std::vector<trace::RecordedPtr> roots;
  for (const auto& tensor : tensors) roots.push_back(tensor.node());
  return fuse::schedule(fuse::prepare(trace::linearize(roots).graph, limits), limits);
}

inline double bytes_moved(const fuse::Plan& plan) {
  double bytes = 0;
  for (const auto& step : plan.steps) bytes += step.moved.now();
  return bytes;
}

}  // namespace sinter::testing
