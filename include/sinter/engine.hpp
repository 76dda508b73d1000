// Evaluating, looking at what was fused, counters, and settings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Computes the tensors now, together: what they share is computed once. Returns when the work is queued (CUDA) or done
/// (CPU). Throws the errors of sinter/errors.hpp.
void eval(const std::vector<Tensor>& tensors, Location where = Location::current());
/// eval(a), eval(a, b, ...): the first argument remembers the caller's line.
void eval(std::initializer_list<Tensor> tensors, Location where = Location::current());
template <class... Tensors>
  requires(std::is_convertible_v<const Tensors&, Tensor> && ...)
void eval(const Arg& first, const Tensors&... rest) {
  eval(std::vector<Tensor>{first.is_tensor() ? first.tensor() : Tensor(), rest...}, first.where());
}

enum class Format : std::uint8_t { text, json };

/// Each step that computes (or computed) the tensor: its ops, inputs and outputs, bytes moved against the unfused count, why
/// it ends where it does, registers, shared memory and spills, where its binary came from and how long that took.
/// A tensor that is not evaluated yet is planned and compiled, not run. With a target ("cpu", "sm_90") it is planned and
/// compiled for that target, with no GPU needed, whether evaluated or not is then an error of the caller: ValueError if evaluated.
std::string explain(const Tensor& tensor, Format format = Format::text, std::string_view target = {});
std::string explain(const std::vector<Tensor>& tensors, Format format = Format::text, std::string_view target = {});
template <class... Tensors>
  requires(std::is_base_of_v<Tensor, Tensors> && ...)
std::string explain(const Tensor& first, const Tensor& second, const Tensors&... rest) {
  return explain(std::vector<Tensor>{first, second, rest...});
}

/// Writes the exact strings that were (or would be) compiled into `directory`, created if missing: NAME.cu for CUDA;
/// NAME.nest and NAME.ll for the CPU, NAME.s too with `assembly`. Returns the paths written.
std::vector<std::string> dump_kernels(const Tensor& tensor, std::string_view directory, std::string_view target = {}, bool assembly = false);
std::vector<std::string> dump_kernels(const std::vector<Tensor>& tensors, std::string_view directory, std::string_view target = {}, bool assembly = false);

/// What this process did so far; differences between two readings are what a test asserts on.
struct Counters {
  std::uint64_t kernels_launched = 0;
  std::uint64_t library_calls = 0;
  std::uint64_t host_calls = 0;      // of these, what the host computed for a device that has no such library
  std::uint64_t epilogues = 0;       // of the kernels, those that ran on the pieces of a library call's result as they came
  std::uint64_t replays = 0;         // launches on a GPU that were worked out once and repeated, one kernel or several each
  std::uint64_t graph_launches = 0;  // of these, those of a CUDA graph: of three kernels or more, unless the driver has no graphs
  std::uint64_t kernels_compiled = 0;
  std::uint64_t kernels_from_disk = 0;
  std::uint64_t kernels_from_memory = 0;
  std::uint64_t plans_made = 0;  // scheduled and generated
  std::uint64_t plans_from_disk = 0;
  std::uint64_t plans_reused = 0;    // found by structure and guards: neither scheduled nor generated
  std::uint64_t guards_checked = 0;  // plans of the right structure that were asked whether they hold for the sizes at hand
  std::uint64_t sources_generated = 0;
  std::uint64_t fallbacks = 0;  // kernels interpreted because they could not be compiled
  std::uint64_t bytes_now = 0;  // memory held by tensors, recorded ones that wait included: on devices, and on the host
  std::uint64_t bytes_peak = 0;
};
Counters counters();
/// Sets bytes_peak to bytes_now.
void reset_peak();

/// Waits until every device has done what was asked of it, and until nothing is compiled in the background any more. Throws
/// DeviceError for what went wrong on a device meanwhile.
void synchronize();
/// Gives memory back to the system that is kept for later tensors.
void trim();
/// Stops the evaluations that are running, on all threads, and if none is running the next one: each throws Interrupted before its next
/// step, or between two parts of a step. The tensors stay recorded and can be evaluated again. Safe in a signal handler.
void interrupt() noexcept;

/// Settings, each the equal of an environment variable; the defaults are read from the environment once.
struct Options {
  std::string device = "cpu";     // SINTER_DEVICE: cpu, cuda, cuda:1
  std::string backend = "llvm";   // SINTER_BACKEND: llvm, interpreter (device cpu)
  bool fuse = true;               // SINTER_FUSE: on, off (one kernel per op)
  bool fast_math = false;         // SINTER_FAST_MATH: approximate math; part of the cache key
  int threads = 0;                // SINTER_THREADS: 0 is every core
  bool wait = false;              // SINTER_WAIT: on waits for every compile; off interprets meanwhile where the bits are the same
  std::string schedule;           // SINTER_SCHEDULE: "vector=2,threads=128": how kernels run, where that is possible; see docs/schedules.md
  bool tuned = true;              // SINTER_TUNED: off takes no schedule that `sinter tune` found to be faster here
  bool keep_plans = true;         // SINTER_KEEP_PLANS: off makes every plan in this process, and keeps none in the disk cache
  std::string memory;             // SINTER_MEMORY: the most that tensors may hold, on the host and on devices together, as 4G; empty: no limit
  std::string log = "warn";       // SINTER_LOG: spdlog level
  std::string dump;               // SINTER_DUMP: folder that receives every kernel string as it is generated
  std::string cache_dir;          // SINTER_CACHE_DIR; empty: $XDG_CACHE_HOME/sinter or ~/.cache/sinter
  std::string cache_size = "1G";  // SINTER_CACHE_SIZE: 512M, 2G, bytes; 0 turns the disk cache off
};
Options options();
/// Replaces the settings from now on; kernels already loaded stay. Throws ValueError for a value out of range and DeviceError for
/// a device that is not there.
void configure(const Options& options);

/// The library's version, "0.1.0".
std::string_view version();

}  // namespace sinter
