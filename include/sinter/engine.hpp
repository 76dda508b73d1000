// Evaluation, inspection of the fused plan, counters, and settings.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/tensor.hpp"

namespace sinter {

/// Computes the tensors now, together: shared parts are computed once. Returns when the work is queued (CUDA) or done (CPU). Throws the errors of
/// sinter/errors.hpp.
void eval(const std::vector<Tensor>& tensors, Location where = Location::current());
/// Does the same with tensors as arguments: eval(a, b, ...).
void eval(std::initializer_list<Tensor> tensors, Location where = Location::current());
template <class... Tensors>
  requires(std::is_convertible_v<const Tensors&, Tensor> && ...)
void eval(const Arg& first, const Tensors&... rest) {
  eval(std::vector<Tensor>{first.is_tensor() ? first.tensor() : Tensor(), rest...}, first.where());
}

/// Gives the tensor a name for explain(), pictures, profiles and timelines: `set_name(x, "weights")`. The name changes no plan and no cache key. Handles of one
/// recorded operation share their name: the last call counts.
void set_name(const Tensor& tensor, std::string_view name);

/// The formats of explain(): text for people; JSON (docs/explain.md describes it); a page for a browser, which needs no network; a drawing; Graphviz.
enum class Format : std::uint8_t { text, json, html, svg, dot };

struct ExplainOptions {
  Format format = Format::text;
  std::string target = {};                                       ///< "cpu", "aarch64", "sm_90"; empty: the current device
  bool guards = false;                                           ///< text: every condition on the sizes, too
  std::vector<std::pair<std::string, std::int64_t>> sizes = {};  ///< names for sizes in the text: {{"batch", 64}} names 64 "batch"
};

/// Describes each step that computes (or computed) the tensor: its ops, inputs and outputs, the bytes that it moves and that unfused kernels would move, the
/// reason of its fusion boundary, registers, shared memory and spills, the origin of its binary and the time that compiling took. A tensor that is not
/// evaluated yet is planned and compiled, not run. With a target ("cpu", "sm_90") the tensor is planned and compiled for that target, which needs no GPU; an
/// evaluated tensor then throws ValueError.
std::string explain(const Tensor& tensor, Format format = Format::text, std::string_view target = {});
std::string explain(const std::vector<Tensor>& tensors, Format format = Format::text, std::string_view target = {});
std::string explain(const std::vector<Tensor>& tensors, const ExplainOptions& options);
template <class... Tensors>
  requires(std::is_base_of_v<Tensor, Tensors> && ...)
std::string explain(const Tensor& first, const Tensor& second, const Tensors&... rest) {
  return explain(std::vector<Tensor>{first, second, rest...});
}

/// Explains why no single kernel computes both a and b, if they are evaluated together: the rule with its figures, a merge that was tried and refused, and the
/// change that would join them. Neither may be evaluated yet. `wanted` lists the tensors that are evaluated together, by default a and b.
std::string explain_boundary(const Tensor& a, const Tensor& b, const std::vector<Tensor>& wanted = {}, const ExplainOptions& options = {});

/// Writes the exact sources that were (or would be) compiled into `directory`, and creates the directory if it is missing. Comments above each source name the
/// user's lines, the parameters and the planned sizes. The files are NAME.loops and NAME.cu for CUDA; NAME.loops and NAME.cl for OpenCL; NAME.nest and NAME.ll
/// for the CPU; NAME.s with `assembly`. Returns the paths.
std::vector<std::string> dump_kernels(const Tensor& tensor, std::string_view directory, std::string_view target = {}, bool assembly = false);
std::vector<std::string> dump_kernels(const std::vector<Tensor>& tensors, std::string_view directory, std::string_view target = {}, bool assembly = false);

/// Totals of this process; tests compare two readings.
struct Counters {
  std::uint64_t kernels_launched = 0;
  std::uint64_t library_calls = 0;
  std::uint64_t host_calls = 0;      ///< library calls that the host computed for a device without such a library
  std::uint64_t epilogues = 0;       ///< kernels that ran on the pieces of a library call's result as they were produced
  std::uint64_t replays = 0;         ///< repeated launches on a GPU: each runs one or several kernels that were prepared once
  std::uint64_t graph_launches = 0;  ///< replays through a CUDA graph: three kernels or more, unless the driver has no graphs
  std::uint64_t kernels_compiled = 0;
  std::uint64_t kernels_from_disk = 0;
  std::uint64_t kernels_from_memory = 0;
  std::uint64_t plans_made = 0;  ///< scheduled and generated
  std::uint64_t plans_from_disk = 0;
  std::uint64_t plans_reused = 0;    ///< found in memory by structure and guards: nothing was scheduled or generated
  std::uint64_t guards_checked = 0;  ///< plans of the right structure whose guards were tested against the present sizes
  std::uint64_t steps_planned = 0;   ///< kernels and library calls of the plans that were made or are being made
  std::uint64_t steps_made = 0;      ///< those of steps_planned that are ready to run, or being compiled in the background
  std::uint64_t sources_generated = 0;
  std::uint64_t fallbacks = 0;  ///< kernels interpreted because they could not be compiled
  std::uint64_t bytes_now = 0;  ///< memory of tensors, including captured contents of recorded ones, on devices and on the host
  std::uint64_t bytes_peak = 0;
};
Counters counters();  ///< the totals at this moment
/// Sets bytes_peak to bytes_now.
void reset_peak();

/// Waits until all devices have finished their work, and no background compile is running. Throws DeviceError if an error occurred on a device.
void synchronize();
/// Gives the memory that is reserved for later tensors back to the system.
void trim();
/// Stops the running evaluations on all threads, or the next one if none is running: each throws Interrupted before its next step, or between two parts of a
/// step. The tensors stay recorded and can be evaluated again. A signal handler may call it.
void interrupt() noexcept;

/// Settings, each equivalent to an environment variable; the defaults are read from the environment once.
struct Options {
  std::string device = "cpu";     ///< SINTER_DEVICE: cpu, cuda, cuda:1, opencl, opencl:1
  std::string backend = "llvm";   ///< SINTER_BACKEND: llvm, interpreter (device cpu)
  bool fuse = true;               ///< SINTER_FUSE: on, off (one kernel per op)
  bool fast_math = false;         ///< SINTER_FAST_MATH: approximate math; part of the cache key
  int threads = 0;                ///< SINTER_THREADS: 0 is every core
  bool wait = false;              ///< SINTER_WAIT: on waits for every compile; off: the interpreter computes until then, if it gives the same bits
  std::string schedule;           ///< SINTER_SCHEDULE: schedule overrides such as "vector=2,threads=128", applied where possible; see docs/schedules.md
  bool tuned = true;              ///< SINTER_TUNED: off ignores the schedules that `sinter tune` stored
  std::string without;            ///< SINTER_WITHOUT: passes to leave out, such as "block_channels,lay_out_bytes"; docs/architecture.md lists them
  bool keep_plans = true;         ///< SINTER_KEEP_PLANS: off neither reads plans from the disk cache nor writes them
  std::string memory;             ///< SINTER_MEMORY: the limit for tensors on the host and on devices together, as 4G; empty: no limit
  std::string log = "warn";       ///< SINTER_LOG: spdlog level
  std::string dump;               ///< SINTER_DUMP: folder that receives every kernel's source when it is generated
  std::string cache_dir;          ///< SINTER_CACHE_DIR; empty: $XDG_CACHE_HOME/sinter or ~/.cache/sinter
  std::string cache_size = "1G";  ///< SINTER_CACHE_SIZE: 512M, 2G, bytes; 0 turns the disk cache off
};
Options options();  ///< the settings now
/// Replaces the settings from now on; kernels that are loaded stay loaded. Throws ValueError for a value out of range and DeviceError for a missing device.
void configure(const Options& options);

/// Returns the library's version, "0.2.0".
std::string_view version();

}  // namespace sinter
