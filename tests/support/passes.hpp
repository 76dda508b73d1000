// Runs code without some graph passes, and says whether the device has the passes that put channels in blocks.
#pragma once
#include <vector>

#include "with_options.hpp"

namespace sinter::testing {

inline bool convolves_in_blocks() {
#if defined(__x86_64__)
  return options().device == "cpu" && __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

/// Computes the recording without any pass.
template <class Record> std::vector<Tensor> as_recorded(Record record) {
  const auto scope = without_passes("all");
  std::vector<Tensor> results = record();
  eval(results);
  return results;
}

}  // namespace sinter::testing
