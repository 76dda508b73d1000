// The main() of test programs that run on every executor. With SINTER_TEST_GPU=1 a program needs a real GPU; without one, ctest shows it as
// skipped.
#pragma once
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <sinter/sinter.hpp>
#include <vector>

#include "draws.hpp"
#include "with_options.hpp"

namespace sn = sinter;
using sn::DType, sn::Shape, sn::Slice, sn::Tensor;

namespace sinter::testing {

inline constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE

/// Returns 0 or kSkipped.
inline int skip_without_gpu() {
  if (!std::getenv("SINTER_TEST_GPU")) return 0;
  try {
    configure(options());
    return 0;
  } catch (const DeviceError& error) {
    std::printf("SKIPPED: needs a GPU: %s\n", error.what());
    return kSkipped;
  }
}

/// An emulated GPU is one too, and so is an OpenCL device.
inline bool on_gpu() { return options().device != "cpu"; }
inline bool on_cuda() { return options().device.starts_with("cuda"); }

inline Tensor random_tensor(const Shape& shape, float low = -1, float high = 1) { return from_span(floats(element_count(shape), low, high), shape); }

/// A test sets this when it removes the compiler.
inline bool may_fall_back = false;

/// Returns the number of kernels that computing the tensors launches.
inline std::int64_t launches(const std::vector<Tensor>& tensors) {
  const auto before = counters().kernels_launched;
  eval(tensors);
  return static_cast<std::int64_t>(counters().kernels_launched - before);
}
inline std::int64_t launches(const Tensor& tensor) { return launches(std::vector<Tensor>{tensor}); }

/// Tests count kernels, so by default they wait for each compilation.
inline int run_tests(int argc, char** argv) {
  setenv("SINTER_WAIT", "on", 0);
  if (const int skipped = skip_without_gpu()) return skipped;
  const bool on_device = on_gpu();
  doctest::Context context(argc, argv);
  if (const int sample = test_sample()) {
    context.setOption("order-by", "rand");
    context.setOption("rand-seed", static_cast<int>(test_seed() >> 1));
    context.setOption("last", sample);
  }
  const int failed = context.run();
  if (const auto fallbacks = counters().fallbacks; !failed && on_device && fallbacks > 0 && !may_fall_back) {
    std::printf("FAILED: %llu kernels were not compiled for the device but interpreted on the host\n", static_cast<unsigned long long>(fallbacks));
    return 1;
  }
  return failed;
}

}  // namespace sinter::testing
