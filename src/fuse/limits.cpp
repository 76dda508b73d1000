#include "fuse/limits.hpp"

#include <fmt/format.h>

#include "sinter/errors.hpp"

namespace sinter::fuse {

std::string_view name(Backend backend) { return backend == Backend::cpu ? "cpu" : backend == Backend::cuda ? "cuda" : "opencl"; }

Limits cpu_limits() {
  Limits limits;
  // These limits do not depend on the number of threads or on the machine, because results must not depend on the number of threads, and a plan must be the
  // same on all machines.
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
// The number of multiprocessors and the shared memory that a block may request (CUDA C++ Programming Guide, table of technical specifications), and the memory
// bandwidth and float32 rate of a common data-centre or desktop GPU of the architecture.
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
    limits.backend = Backend::cuda;
    limits.sm = sm;
    limits.registers = 255;
    // From CUDA 12.1 on the limit is 32,764 bytes. The older limit is used, because the driver is not known here.
    limits.parameter_bytes = 4096;
    limits.row_bytes = row.shared - kPartsBytes;
    limits.row_bytes_are_hard = true;
    limits.columns_in_registers = true;
    limits.sorts_by_digits = true;
    limits.unroll_recurrence = true;
    limits.cluster = sm >= 90 ? kLargestCluster : 1;
    limits.units = row.units;
    limits.bandwidth = row.bandwidth;
    limits.throughput = row.throughput / 4;  // a generated op is seldom a fused multiply-add at full rate
    limits.launch_seconds = 4e-6;
    limits.reread = 6;              // read from L2 or from memory
    limits.cache_bytes = 16 << 20;  // a part of L2
    limits.one_order = false;
    limits.hoists = false;
    limits.tiles_in_registers = false;
    limits.joins_short_kernels = true;
    return limits;
  }
  throw ValueError(fmt::format("no limits are known for sm_{}; the known architectures are sm_75, 80, 86, 89, 90, 100 and 120", sm));
}

Limits opencl_limits() {
  Limits limits = cuda_limits(75);
  limits.target = "opencl";
  limits.backend = Backend::opencl;
  limits.sm = 0;
  limits.threads = 256;
  // sorts_by_digits stays true, although no OpenCL kernel computes these calls (runtime::Kind::call_sources). The host computes them instead, which takes less
  // time than comparing all pairs on the device.
  limits.warps = false;
  limits.parameter_bytes = 1024;  // the minimum that the standard requires
  limits.shared_bytes = 24 << 10;
  limits.row_bytes = 24 << 10;
  limits.units = 32;
  return limits;
}

std::string to_string(const Limits& limits) {
  std::string text;
  const auto line = [&](std::string_view field, const auto& value, std::string_view unit = "") {
    text += fmt::format("{:<20} {}{}{}\n", field, value, unit.empty() ? "" : " ", unit);
  };
  line("target", limits.target);
  line("backend", name(limits.backend));
  line("sm", limits.sm);
  line("max_ops", limits.max_ops);
  line("registers", limits.registers);
  line("parameter_bytes", limits.parameter_bytes);
  line("row_bytes", limits.row_bytes);
  line("row_bytes_are_hard", limits.row_bytes_are_hard);
  line("cached_bytes", limits.cached_bytes);
  line("columns_in_registers", limits.columns_in_registers);
  line("cluster", limits.cluster, limits.cluster == 1 ? "block" : "blocks");
  line("threads", limits.threads);
  line("shared_bytes", limits.shared_bytes);
  line("warps", limits.warps);
  line("float64", limits.float64);
  line("rounds_quotients", limits.rounds_quotients);
  line("units", limits.units);
  line("bandwidth", limits.bandwidth / 1e9, "GB/s");
  line("throughput", limits.throughput / 1e9, "10^9 operations/s");
  line("launch_seconds", limits.launch_seconds * 1e6, "us");
  line("library_calls", limits.library_calls);
  line("products", limits.products);
  line("product_epilogues", limits.product_epilogues);
  line("sorts_by_digits", limits.sorts_by_digits);
  line("fuse", limits.fuse);
  line("channel_blocks", limits.channel_blocks);
  line("fold_channels", limits.fold_channels);
  line("block_bytes", limits.block_bytes);
  line("scale_bytes", limits.scale_bytes);
  line("lay_out_bytes", limits.lay_out_bytes);
  line("byte_panels", limits.byte_panels);
  line("unroll_recurrence", limits.unroll_recurrence);
  line("overlap", limits.overlap);
  line("reread", limits.reread, limits.reread == 1 ? "operation" : "operations");
  line("cache_bytes", limits.cache_bytes);
  line("short_row", limits.short_row, "points");
  line("one_order", limits.one_order);
  line("hoists", limits.hoists);
  line("tiles_in_registers", limits.tiles_in_registers);
  line("joins_short_kernels", limits.joins_short_kernels);
  return text;
}

Limits limits_of(const std::string& target) {
  if (target == "cpu") return cpu_limits();
  if (target == "opencl") return opencl_limits();
  if (target == "x86-64" || target == "aarch64") {
    Limits limits = cpu_limits();
    limits.target = target;
    return limits;
  }
  if (target.rfind("sm_", 0) == 0 && target.size() > 3 && target.find_first_not_of("0123456789", 3) == std::string::npos && target.size() < 8)
    return cuda_limits(std::stoi(target.substr(3)));
  throw ValueError(fmt::format("unknown target '{}'; the targets are cpu, x86-64, aarch64, opencl, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120", target));
}

}  // namespace sinter::fuse
