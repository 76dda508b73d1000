// Graph passes left out, and whether the device has those that put channels in blocks.
#pragma once
#include <vector>

#include "sinter/engine.hpp"

namespace sinter::testing {

inline bool convolves_in_blocks() { return options().device == "cpu" && __builtin_cpu_supports("avx2"); }

/// While one lives, no pass changes a recording.
class WithoutPasses {
 public:
  WithoutPasses() {
    Options without = before_;
    without.without = "all";
    configure(without);
  }
  ~WithoutPasses() { configure(before_); }
  WithoutPasses(const WithoutPasses&) = delete;
  WithoutPasses& operator=(const WithoutPasses&) = delete;

 private:
  const Options before_ = options();
};

/// Computes the recording without any pass.
template <class Record> std::vector<Tensor> as_recorded(Record record) {
  const WithoutPasses scope;
  std::vector<Tensor> results = record();
  eval(results);
  return results;
}

}  // namespace sinter::testing
