#include "fuse/limits.hpp"

#include <fmt/format.h>

#include "sinter/errors.hpp"

namespace sinter::fuse {

Limits cpu_limits() {
  Limits limits;
  // Nothing here depends on the number of threads or on the machine: a reduction's result may not depend on how many threads
  // there are, and a plan printed on one machine is the plan of another.
  limits.units = 64;
  limits.bandwidth = 12e9;
  limits.throughput = 32e9;
  limits.launch_seconds = 3e-6;
  limits.library_calls = true;
  return limits;
}

namespace {

struct Row {
  int sm, units, shared;
  double bandwidth, throughput;
};
// SMs, shared memory a block may opt in to (CUDA C++ Programming Guide, table of technical specifications), memory bandwidth and
// float32 rate of the architecture's common data-centre or desktop part.
constexpr Row kRows[] = {
    {75, 40, 64 << 10, 320e9, 8e12},       // T4
    {80, 108, 163 << 10, 1555e9, 19e12},   // A100
    {86, 84, 99 << 10, 936e9, 35e12},      // RTX 3090
    {89, 128, 99 << 10, 1008e9, 82e12},    // RTX 4090
    {90, 132, 227 << 10, 3350e9, 67e12},   // H100 SXM
    {100, 148, 227 << 10, 8000e9, 75e12},  // B200
    {120, 170, 99 << 10, 1792e9, 105e12},  // RTX 5090
};

}  // namespace

int nearest_known_sm(int sm) {
  int best = 0;
  for (const auto& row : kRows)
    if (row.sm <= sm) best = row.sm;
  if (!best) throw ValueError(fmt::format("sm_{} is older than the oldest architecture sinter generates for, sm_75", sm));
  return best;
}

Limits cuda_limits(int sm) {
  for (const auto& row : kRows) {
    if (row.sm != sm) continue;
    Limits limits;
    limits.target = fmt::format("sm_{}", sm);
    limits.sm = sm;
    // 32,764 bytes from CUDA 12.1 on; the older limit is kept since the driver is not known here.
    limits.parameter_bytes = 4096;
    limits.row_bytes = row.shared - kPartsBytes;
    limits.cluster = sm >= 90 ? kLargestCluster : 1;
    limits.units = row.units;
    limits.bandwidth = row.bandwidth;
    limits.throughput = row.throughput / 4;  // a generated op is rarely a fused multiply-add at full rate
    limits.launch_seconds = 4e-6;
    return limits;
  }
  throw ValueError(fmt::format("no limits are known for sm_{}; known are sm_75, 80, 86, 89, 90, 100 and 120", sm));
}

Limits limits_of(const std::string& target) {
  if (target == "cpu") return cpu_limits();
  if (target.rfind("sm_", 0) == 0 && target.size() > 3 && target.find_first_not_of("0123456789", 3) == std::string::npos && target.size() < 8)
    return cuda_limits(std::stoi(target.substr(3)));
  throw ValueError(fmt::format("unknown target '{}'; known are cpu, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120", target));
}

}  // namespace sinter::fuse
