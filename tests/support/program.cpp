#include "program.hpp"

#include <cstdio>
#include <cstdlib>

#include "cases.hpp"

namespace sinter::testing {
namespace {

/// Returns 0 or kSkipped.
int skip_without_gpu() {
  if (!std::getenv("SINTER_TEST_GPU")) return 0;
  try {
    configure(options());
    return 0;
  } catch (const DeviceError& error) {
    std::printf("SKIPPED: needs a GPU: %s\n", error.what());
    return kSkipped;
  }
}

}  // namespace

bool on_gpu() { return options().device != "cpu"; }
bool on_cuda() { return options().device.starts_with("cuda"); }

Tensor random_tensor(const Shape& shape, float low, float high) { return from_span(floats(static_cast<std::size_t>(element_count(shape)), low, high), shape); }

std::int64_t launches(const std::vector<Tensor>& tensors) {
  const auto before = counters().kernels_launched;
  eval(tensors);
  return static_cast<std::int64_t>(counters().kernels_launched - before);
}
std::int64_t launches(const Tensor& tensor) { return launches(std::vector<Tensor>{tensor}); }

int run_tests(int argc, char** argv) {
  setenv("SINTER_WAIT", "on", 0);  // tests count kernels, so by default they wait for each compilation
  if (const int skipped = skip_without_gpu()) return skipped;
  const bool on_device = on_gpu();
  const int failed = run_cases(argc, argv);
  if (const auto fallbacks = counters().fallbacks; !failed && on_device && fallbacks > 0 && !may_fall_back) {
    std::printf("FAILED: %llu kernels were not compiled for the device but interpreted on the host\n", static_cast<unsigned long long>(fallbacks));
    return 1;
  }
  return failed;
}

}  // namespace sinter::testing
